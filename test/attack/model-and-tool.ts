/** A gateway with a model and an MCP target, both of them one hostile backend, and whoever asks the two. */
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

/** An interface of one operation. */
const openapi = JSON.stringify({
  openapi: "3.0.0",
  info: { title: "t", version: "1" },
  paths: { "/work": { get: { operationId: "work" } } }
})

/** The model is at `/v1` of the backend at this port; the tool is that of the MCP server at `/mcp`, or the operation `/work`. */
export const modelAndTool = Effect.fnUntraced(function* (port: number, kind: "mcp" | "openapi" = "mcp") {
  const target =
    kind === "mcp"
      ? { name: "t", mcp: { host: `http://127.0.0.1:${port}/mcp` } }
      : { name: "t", openapi: { host: `127.0.0.1:${port}`, schema: openapi } }
  const { gateway, ask, well } = yield* attacked(`
gateways: { default: { port: 8080 } }
routes: [${wellRoute}]
llm:
  gateways: default
  models: [{ name: "*", provider: openai, params: { baseUrl: "http://127.0.0.1:${port}/v1", apiKey: k } }]
mcp: { port: 8081, targets: [${JSON.stringify(target)}] }
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
