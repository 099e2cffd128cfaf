/** backendTLS: whom connections to a backend trust, and what they show of themselves. */
import { Effect, Redacted, Result } from "effect"
import { connectionPolicy, Files } from "../../src/policy/connection.ts"
import { BackendTls, type ConfigProblem, unavailable } from "../../src/policy/policy.ts"

/** What is applied; the rest is refused, because it says whom to trust. */
const applied = new Set(["root", "hostname", "cert", "key", "insecure", "insecureHost"])

const pemBlocks = {
  root: /-----BEGIN (?:TRUSTED )?CERTIFICATE-----/,
  cert: /-----BEGIN (?:TRUSTED )?CERTIFICATE-----/,
  key: /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/
}
const blocksNamed = { root: "certificate", cert: "certificate", key: "private key" } as const

export const backendTLS = connectionPolicy({
  name: "backendTLS",
  schema: BackendTls,
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (config) =>
    Effect.gen(function* () {
      const unknown = Object.entries(config).flatMap(([key, value]) =>
        value === undefined || applied.has(key) ? [] : [unavailable([key], key)]
      )
      if (unknown.length > 0) return yield* Effect.fail(unknown)
      const { read } = yield* Files
      const problems: Array<ConfigProblem> = []
      const textOf = function* (name: keyof typeof pemBlocks) {
        const file = config[name]
        if (file === undefined) return undefined
        const found = yield* Effect.result(read(file))
        const problem = Result.isFailure(found)
          ? found.failure.message
          : pemBlocks[name].test(found.success)
            ? undefined
            : `${file} holds no ${blocksNamed[name]} in PEM form`
        if (problem !== undefined) problems.push({ path: [name], message: problem })
        return Result.getOrUndefined(found)
      }
      const root = yield* textOf("root")
      const certificate = yield* textOf("cert")
      const key = yield* textOf("key")
      if (problems.length > 0) return yield* Effect.fail(problems)
      return {
        tls: {
          root,
          hostname: config.hostname,
          client: certificate === undefined || key === undefined ? undefined : { certificate, key: Redacted.make(key) },
          verify: config.insecure ? "nothing" : config.insecureHost ? "chain" : "everything"
        }
      }
    })
})
