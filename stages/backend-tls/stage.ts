/** backendTLS: whom connections to a backend trust, and what they show of themselves. */
import { Effect, Redacted, Result } from "effect"
import { connectionPolicy, Files, type FollowedTls, Log, type UpstreamTls } from "../../src/policy/connection.ts"
import { BackendTls, type ConfigPath, type ConfigProblem, formatPath, unavailable } from "../../src/policy/policy.ts"
import { fileFields, type Material, type Places, readMaterial } from "./material.ts"

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
      const paths = fileFields.flatMap((field) => config[field] ?? [])
      if (paths.length === 0) return { tls: fixed }
      const { log } = yield* Log
      return { tls: followed(fixed, places, paths, material.success, files, log, at) }
    })
})

/** What of it says whom to trust and is not there is refused. */
const lacking = ({ alpn = [], spiffe }: Config): Array<ConfigProblem> => [
  ...alpn.flatMap((protocol, index) => (protocol === "h2" ? [unavailable(["alpn", index], "HTTP/2")] : [])),
  ...(spiffe === undefined ? [] : [unavailable(["spiffe"], "spiffe")])
]

/** What does not come from files. */
const fixedOf = ({ hostname, insecure, insecureHost, alpn, subjectAltNames, keyExchangeGroups }: Config) =>
  ({
    hostname,
    verify: insecure ? "nothing" : insecureHost ? "chain" : "everything",
    names: subjectAltNames,
    alpn,
    groups: keyExchangeGroups
  }) satisfies UpstreamTls

/**
 * Certificates may be replaced while they are in use: new connections are opened with the new ones. Those that cannot be used are
 * told once, and the ones before them stay.
 */
const followed = (
  fixed: UpstreamTls,
  places: Places,
  paths: ReadonlyArray<string>,
  first: Material,
  files: Files["Service"],
  log: Log["Service"]["log"],
  at: ConfigPath
): FollowedTls => {
  let material = first
  let sound: UpstreamTls = { ...fixed, ...material }
  let told: string | undefined
  const fields = { policy: formatPath(at) }
  const { cert, key } = places
  const renewed = Effect.map(readMaterial(files, places), (read) => {
    if (Result.isFailure(read)) {
      const message = read.failure.map((fault) => fault.message).join("; ")
      if (message !== told) log("warn", "proxy", `certificates cannot be used: ${message}; those before stay`, fields)
      told = message
      return
    }
    told = undefined
    if (isSame(read.success, material)) return
    material = read.success
    sound = { ...fixed, ...material }
    log("info", "proxy", "certificates were replaced; new connections use them", fields)
  })
  return {
    client: cert === undefined || key === undefined ? undefined : { certificate: cert, key },
    follow: (changed) =>
      Effect.suspend(() => {
        let used = sound
        const look = Effect.map(renewed, () => {
          if (used === sound) return
          used = sound
          changed(sound)
        })
        return Effect.as(files.follow(paths, look), used)
      })
  }
}

const isSame = (one: Material, other: Material): boolean =>
  one.root === other.root &&
  one.client?.certificate === other.client?.certificate &&
  (one.client && Redacted.value(one.client.key)) === (other.client && Redacted.value(other.client.key))
