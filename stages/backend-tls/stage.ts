/** backendTLS: whom connections to a backend trust, and what they show of themselves. */
import { Effect, Result } from "effect"
import {
  connectionPolicy,
  Files,
  type FollowedTls,
  fileFields,
  followed,
  Log,
  type Material,
  type Places,
  readMaterial,
  type UpstreamTls
} from "../../src/policy/connection.ts"
import { BackendTls, type ConfigProblem, formatPath, unavailable } from "../../src/policy/policy.ts"

type Config = (typeof BackendTls)["Type"]

export const backendTLS = connectionPolicy({
  name: "backendTLS",
  schema: BackendTls,
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (config, at) =>
    Effect.gen(function* () {
      const problems: Array<ConfigProblem> = lacking(config)
      const places = Object.fromEntries(fileFields.map((field) => [field, config[field]])) satisfies Places
      const files = yield* Files
      const material = yield* readMaterial(files, places)
      if (Result.isFailure(material))
        problems.push(...material.failure.map(({ field, message }) => ({ path: [field], message })))
      if (problems.length > 0 || Result.isFailure(material)) return yield* Effect.fail(problems)
      const fixed = fixedOf(config)
      if (fileFields.every((field) => config[field] === undefined)) return { tls: fixed }
      const { log } = yield* Log
      const { follow } = followed(places, material.success, files, log, { policy: formatPath(at) })
      const holding = ({ root, shown }: Material): UpstreamTls => ({ ...fixed, root, client: shown })
      const { cert, key } = config
      const tls: FollowedTls = {
        client: cert === undefined || key === undefined ? undefined : { certificate: cert, key },
        follow: (changed) =>
          Effect.map(
            follow((material) => changed(holding(material))),
            holding
          )
      }
      return { tls }
    })
})

/** What of it says whom to trust and is not there is refused. */
const lacking = ({ spiffe }: Config): Array<ConfigProblem> =>
  spiffe === undefined ? [] : [unavailable(["spiffe"], "spiffe")]

/** What does not come from files. */
const fixedOf = ({ hostname, insecure, insecureHost, alpn, subjectAltNames, keyExchangeGroups }: Config) =>
  ({
    hostname,
    verify: insecure ? "nothing" : insecureHost ? "chain" : "everything",
    names: subjectAltNames,
    alpn,
    groups: keyExchangeGroups
  }) satisfies UpstreamTls
