/** The targets of an MCP backend as the relay takes them. */
import { Redacted } from "effect"
import type { McpEndpoint } from "../../spec/standalone/mcp.ts"
import { type ConfigPath, type ConfigProblem, unavailable } from "../../src/pipeline/stage.ts"
import type { McpTarget } from "../../src/protocols/mcp/config.ts"
import type { McpStdioCommand } from "../../src/services/mcp-stdio.ts"
import type { McpBackend } from "./schema.ts"

type TargetConfig = (typeof McpBackend)["Type"]["targets"][number]

/** What exists so far: child processes, and servers at an address without policies of their own. */
export const targetOf = (config: TargetConfig, at: ConfigPath): McpTarget | ConfigProblem => {
  const { name, stdio, mcp, sse } = config
  if (stdio !== undefined) return { name, kind: "stdio", command: commandOf(stdio) }
  const endpoint = mcp ?? sse
  if (endpoint === undefined) return unavailable([...at, "openapi"], "an openapi target")
  if (config.policies !== undefined) return unavailable([...at, "policies"], "policies of a target", "are")
  return (
    remote(name, endpoint, mcp === undefined ? "sse" : "streamable") ??
    unavailable([...at, mcp === undefined ? "sse" : "mcp"], "a target that names a backend")
  )
}

const commandOf = ({ cmd, args, env, clearEnv }: NonNullable<TargetConfig["stdio"]>): McpStdioCommand => ({
  cmd,
  args: args.map(Redacted.value),
  env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, Redacted.value(value)])),
  clearEnv
})

const remote = (name: string, endpoint: McpEndpoint, protocol: "streamable" | "sse"): McpTarget | undefined => {
  if ("backend" in endpoint || endpoint.address.kind === "unix") return undefined
  const { host, port, tls } = endpoint.address
  return { name, kind: "http", endpoint: { protocol, scheme: tls ? "https" : "http", host, port, path: endpoint.path } }
}
