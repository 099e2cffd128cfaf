/** mcp: serves MCP servers as one. */
import { Effect } from "effect"
import { failedReadings, slots } from "../../src/policy/policy.ts"
import { terminal } from "../../src/policy/terminal.ts"
import { reads } from "./exchange.ts"
import { McpBackend } from "./schema.ts"

/** Of two members with one name the rules would read the one and the server the other. */
const readings = failedReadings(
  "mcpAuthorization",
  [
    "a JSON-RPC message with two members of one name",
    { status: 400, message: "mcp: fail to deserialize request body: not a JSON object" }
  ],
  ["parameters of an MCP request with two members of one name", { status: 200, message: "invalid params for method" }]
)

export const backendMcp = terminal({
  name: "mcp",
  schema: McpBackend,
  reads,
  writes: [slots.mcpCall],
  outcomes: ["next", "fail"],
  maturity: { status: "stable", untrusted: "client+backend" },
  failsClosed: readings,
  keepsSessions: true,
  compile: (config, at, name, connections, credentials) =>
    Effect.gen(function* () {
      const { compileServers } = yield* Effect.promise(() => import("./servers.ts"))
      return yield* compileServers(config, at, name, connections, credentials)
    })
})
