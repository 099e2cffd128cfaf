/** The targets of an MCP backend as the relay takes them. */
import { Effect, Redacted, Result, type Scope } from "effect"
import { parse } from "yaml"
import { type ConfigPath, type ConfigProblem, unavailable } from "../../src/policy/policy.ts"
import {
  Files,
  type McpEndpoint,
  type McpHttpAddress,
  McpStdio,
  type McpStdioCommand
} from "../../src/policy/terminal.ts"
import type { McpTarget } from "../../src/protocols/mcp/config.ts"
import { interfaceOf } from "../../src/protocols/mcp/openapi.ts"
import type { McpBackend } from "./schema.ts"

type TargetConfig = (typeof McpBackend)["Type"]["targets"][number]
type Compiled = Effect.Effect<McpTarget, ConfigProblem, Files | McpStdio | Scope.Scope>

/** What exists so far: child processes, and servers at an address without policies of their own. */
export const targetOf = (config: TargetConfig, at: ConfigPath): Compiled => {
  const { name, stdio, mcp, sse, openapi } = config
  if (stdio !== undefined)
    return Effect.flatMap(McpStdio, ({ refusal }) =>
      refusal === undefined
        ? Effect.succeed({ name, kind: "stdio", command: commandOf(stdio) })
        : Effect.fail({ path: [...at, "stdio"], message: refusal })
    )
  if (config.policies !== undefined) return Effect.fail(unavailable([...at, "policies"], "policies of a target", "are"))
  const kind = openapi !== undefined ? "openapi" : mcp !== undefined ? "mcp" : "sse"
  const endpoint = openapi?.endpoint ?? mcp ?? sse!
  const address = addressOf(endpoint)
  if (address === undefined || "backend" in endpoint)
    return Effect.fail(unavailable([...at, kind], "a target that names a backend"))
  if (openapi !== undefined)
    return Effect.map(apiOf(openapi.schema, [...at, "openapi"]), (api) => ({ name, kind: "openapi", address, api }))
  const protocol = kind === "mcp" ? "streamable" : "sse"
  return Effect.succeed({ name, kind: "http", endpoint: { ...address, protocol, path: endpoint.path } })
}

const commandOf = ({ cmd, args, env, inheritEnv, clearEnv }: NonNullable<TargetConfig["stdio"]>): McpStdioCommand => ({
  cmd,
  args: args.map(Redacted.value),
  env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, Redacted.value(value)])),
  inheritEnv,
  clearEnv
})

const addressOf = (endpoint: McpEndpoint): McpHttpAddress | undefined => {
  if ("backend" in endpoint || endpoint.address.kind === "unix") return undefined
  const { host, port, tls } = endpoint.address
  return { scheme: tls ? "https" : "http", host, port }
}

/** Reads the document that describes the interface. */
const apiOf = (schema: NonNullable<TargetConfig["openapi"]>["schema"], at: ConfigPath) =>
  Effect.gen(function* () {
    const path = [...at, "schema"]
    const problem = (message: string): ConfigProblem => ({ path, message })
    if (schema === undefined) return yield* Effect.fail({ path: at, message: "expected a schema" })
    if (typeof schema === "object" && schema.file === undefined)
      return yield* Effect.fail(unavailable(path, "an OpenAPI document at an address"))
    const { read } = yield* Files
    const text =
      typeof schema === "string"
        ? schema
        : yield* Effect.mapError(read(schema.file!), ({ message }) => problem(message))
    const document = yield* Effect.try({
      try: (): unknown => parse(text, { prettyErrors: false }),
      catch: () => problem("the OpenAPI document is neither JSON nor YAML")
    })
    const api = interfaceOf(document)
    if (Result.isSuccess(api)) return api.success
    return yield* Effect.fail(problem(`the OpenAPI document cannot be used: ${api.failure}`))
  })
