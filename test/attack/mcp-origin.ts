/** An MCP server that answers for every tool whose name begins with `real`, and shows who has a session with it. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { Effect, type Scope } from "effect"
import { httpBackend, portOf } from "../http/edge.ts"

const answerTo = ({ id, method, params }: { id?: unknown; method?: string; params?: { name?: unknown } }): object => {
  const answer = { jsonrpc: "2.0", id }
  if (method === "initialize")
    return {
      ...answer,
      result: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "origin", version: "1" }
      }
    }
  if (method === "tools/list")
    return { ...answer, result: { tools: [{ name: "real", inputSchema: { type: "object" } }] } }
  if (method === "tools/call" && String(params?.name).startsWith("real"))
    return { ...answer, result: { content: [{ type: "text", text: "done" }] } }
  return { ...answer, error: { code: -32602, message: `Unknown tool: ${String(params?.name)}` } }
}

const answered = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  if (request.method !== "POST") return void response.writeHead(405).end()
  const message = JSON.parse(await text(request)) as { id?: unknown; method?: string }
  if (message.id === undefined) return void response.writeHead(202).end()
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answerTo(message)))
}

/** Its port. */
export const mcpOrigin: Effect.Effect<number, unknown, Scope.Scope> = Effect.map(
  httpBackend((request, response) => {
    answered(request, response).catch(() => response.destroy())
  }),
  (server) => portOf(server.address())
)

/** The first message of every session. */
export const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "attacker", version: "1" } }
}

/** Headers that every message needs. */
export const mcpHeaders = { "content-type": "application/json", accept: "application/json, text/event-stream" }
