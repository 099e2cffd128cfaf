/** The targets of an MCP backend as the relay takes them. */
import { Effect, Redacted, Result, type Scope } from "effect"
import type { ConfigPath, ConfigProblem } from "../../src/policy/policy.ts"
import {
  type Caller,
  type Documents,
  type Files,
  type McpEndpoint,
  McpStdio,
  type McpStdioCommand,
  type Reference,
  SubCalls,
  type UpstreamOptions
} from "../../src/policy/terminal.ts"
import type { McpTarget } from "../../src/protocols/mcp/config.ts"
import { compileDescription } from "./description.ts"
import type { McpBackend } from "./schema.ts"

type TargetConfig = (typeof McpBackend)["Type"]["targets"][number]
type Problems = ReadonlyArray<ConfigProblem>

/** A target, and who calls it, unless it is a child of this process. */
export interface CompiledTarget {
  readonly target: McpTarget
  readonly caller: Caller | undefined
}

export const targetOf = (
  config: TargetConfig,
  at: ConfigPath,
  connections: UpstreamOptions
): Effect.Effect<CompiledTarget, Problems, Documents | Files | McpStdio | SubCalls | Scope.Scope> =>
  config.stdio === undefined
    ? compileRemote(config, at, connections)
    : Effect.mapError(child(config.name, config.stdio, at), (one) => [one])

const child = (name: string, stdio: NonNullable<TargetConfig["stdio"]>, at: ConfigPath) =>
  Effect.flatMap(
    McpStdio,
    ({ refusal }): Effect.Effect<CompiledTarget, ConfigProblem> =>
      refusal === undefined
        ? Effect.succeed({ target: { name, kind: "stdio", command: commandOf(stdio) }, caller: undefined })
        : Effect.fail({ path: [...at, "stdio"], message: refusal })
  )

/** A server behind HTTP is called like any backend: at the end of a reference, with the policies beside it. */
const compileRemote = (
  { name, policies, mcp, sse, openapi }: TargetConfig,
  at: ConfigPath,
  connections: UpstreamOptions
) =>
  Effect.gen(function* () {
    const kind = openapi !== undefined ? "openapi" : mcp !== undefined ? "mcp" : "sse"
    const endpoint = openapi?.endpoint ?? mcp ?? sse!
    const { resolve } = yield* SubCalls
    // What is said of connections at the backend holds where the target says nothing. Streams last for as long as somebody listens.
    const use = { policiesAt: [...at, "policies"], connections: { ...connections, maxConnections: Infinity } }
    const resolved = yield* Effect.result(resolve(referenceTo(endpoint, policies), [...at, kind], use))
    const described = yield* Effect.result(
      openapi === undefined ? undescribed : compileDescription(openapi.schema, [...at, "openapi"])
    )
    const problems = [
      ...(Result.isFailure(resolved) ? resolved.failure : []),
      ...(Result.isFailure(described) ? described.failure : [])
    ]
    if (Result.isFailure(resolved) || Result.isFailure(described)) return yield* Effect.fail(problems)
    const caller = resolved.success
    const address = caller.target
    const dialogue = { protocol: kind === "sse" ? kind : "streamable", path: endpoint.path } as const
    const target: McpTarget =
      described.success === undefined
        ? { name, kind: "http", address, dialogue }
        : { name, kind: "openapi", address, ...described.success }
    return { target, caller }
  })

const undescribed: Effect.Effect<undefined, Problems> = Effect.succeed(undefined)

const referenceTo = (endpoint: McpEndpoint, policies: TargetConfig["policies"]): Reference =>
  "backend" in endpoint ? { backend: endpoint.backend, policies } : { host: endpoint.address, policies }

const commandOf = ({ cmd, args, env, inheritEnv, clearEnv }: NonNullable<TargetConfig["stdio"]>): McpStdioCommand => ({
  cmd,
  args: args.map(Redacted.value),
  env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, Redacted.value(value)])),
  inheritEnv,
  clearEnv
})
