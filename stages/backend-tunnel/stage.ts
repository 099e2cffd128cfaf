/** backendTunnel: leads connections to a backend through an HTTP proxy. */
import { Effect, Redacted } from "effect"
import { connectionPolicy, Proxies } from "../../src/policy/connection.ts"
import {
  type BackendAuth,
  type ConfigPath,
  type ConfigProblem,
  compileBackendCredential,
  formatPath,
  unavailable
} from "../../src/policy/policy.ts"
import { BackendTunnel } from "./schema.ts"

export const backendTunnel = connectionPolicy({
  name: "backendTunnel",
  schema: BackendTunnel,
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: ({ proxy, mode, policies }, at) => {
    const below = (problems: ReadonlyArray<ConfigProblem>) => problems.map((problem) => placed(problem, at))
    return Effect.gen(function* () {
      const { resolve } = yield* Proxies
      const found = yield* resolve({ ...proxy, policies }, at)
      const { tunnel, version, requestTimeout, bodyIdleTimeout, tls, connectTimeout, probes } = found.connections
      const problems: Array<ConfigProblem> = []
      if (tunnel !== undefined) problems.push({ path: at, message: "a proxy is not reached through another one" })
      if (version === "2") problems.push({ path: at, message: "a proxy is spoken to in HTTP/1.1" })
      if (requestTimeout !== undefined)
        problems.push({ path: at, message: "a proxy is asked for connections: connectTimeout bounds how long" })
      if (bodyIdleTimeout !== undefined)
        problems.push({ path: at, message: "nothing of a body is kept at a proxy: idleTimeout is for the backend" })
      let authorization: Redacted.Redacted<string> | undefined
      for (const { name, config, path } of found.policies) {
        if (name !== "backendAuth") {
          problems.push(unavailable(path, `${name} of a proxy`))
          continue
        }
        // The language has decoded it.
        const credential = yield* credentialOf(config as (typeof BackendAuth)["Type"]).pipe(
          Effect.mapError((some) => some.map((problem) => ({ ...problem, path: [...path, ...problem.path] })))
        )
        authorization = Redacted.make(credential)
      }
      if (problems.length > 0) return yield* Effect.fail(problems)
      return { tunnel: { proxy: found.address, mode, authorization, tls, connectTimeout, probes } }
    }).pipe(Effect.mapError(below))
  }
})

/** A problem below the policy, or at the name of the proxy where it is about what stands elsewhere. */
const placed = (problem: ConfigProblem, at: ConfigPath): ConfigProblem =>
  at.every((key, index) => problem.path[index] === key)
    ? { ...problem, path: problem.path.slice(at.length) }
    : { path: ["proxy", "backend"], message: `as a proxy: ${formatPath(problem.path)}: ${problem.message}` }

/** Where a credential for a proxy may be said to stand: it is always sent as `proxy-authorization`. */
const headers = new Set(["authorization", "proxy-authorization"])

/** The credential for a proxy. Problems carry paths below its policy. */
const credentialOf = (auth: (typeof BackendAuth)["Type"]) =>
  Effect.flatMap(compileBackendCredential(auth), ({ passesToken, inQuery, shown }) => {
    const [name, value, ...more] = shown(undefined)?.lines ?? []
    return passesToken || inQuery || value === undefined || more.length > 0 || !headers.has(name!)
      ? Effect.fail([{ path: [], message: "a proxy is shown one key, in authorization" }])
      : Effect.succeed(value)
  })
