/** A gateway with a model and an MCP server, both of them one hostile backend, and whoever asks the two. */
import { Effect } from "effect"
import { send } from "../client.ts"
import { attacked, wellRoute } from "./gateway.ts"

/** What the MCP server says, as long as it is honest, to whatever comes before the call of its tool. */
export const resultOf = (method: string | undefined): object =>
  method === "initialize"
    ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } }
    : { tools: [{ name: "work", inputSchema: { type: "object" } }] }

/** What both are asked with. */
export const json = { "content-type": "application/json", accept: "application/json, text/event-stream" }

/** The model is at `/v1` of the backend at this port, the MCP server at `/mcp`. */
export const modelAndTool = Effect.fnUntraced(function* (port: number) {
  const { gateway, ask, well } = yield* attacked(`
gateways: { default: { port: 8080 } }
routes: [${wellRoute}]
llm:
  gateways: default
  models: [{ name: "*", provider: openai, params: { baseUrl: "http://127.0.0.1:${port}/v1", apiKey: k } }]
mcp: { port: 8081, targets: [{ name: t, mcp: { host: "http://127.0.0.1:${port}/mcp" } }] }
`)
  const post = (id: number, method: string, params: object, session: object = {}) =>
    send(gateway.port(8081)!, {
      method: "POST",
      path: "/mcp",
      headers: { ...json, ...session },
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params })
    })
  const { headers } = yield* Effect.promise(() =>
    post(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } })
  )
  const session = { "mcp-session-id": String(headers["mcp-session-id"]) }
  return {
    /** Asks the model. */
    ask,
    /** Calls the tool as request 7; `undefined` when the connection is cut. */
    callTool: () => post(7, "tools/call", { name: "work", arguments: {} }, session).catch(() => undefined),
    well
  }
})
