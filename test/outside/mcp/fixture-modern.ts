/** A server of both protocol generations, with the official SDK 2.x: the handshake of old, and revision 2026-07-28. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import {
  acceptedContent,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer
} from "@modelcontextprotocol/server"

export interface ModernFixture {
  readonly port: number
  /** Methods and their `Mcp-Name` headers, as they came. */
  readonly seen: ReadonlyArray<string>
  readonly toolsChanged: () => void
  readonly resourceUpdated: (uri: string) => void
  readonly close: () => Promise<void>
}

const question = {
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"]
} as const

const makeServer = (): McpServer => {
  const server = new McpServer(
    { name: "modern-fixture", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } } }
  )
  server.registerTool(
    "echo",
    {
      inputSchema: fromJsonSchema<{ message: string }>({ type: "object", properties: { message: { type: "string" } } })
    },
    ({ message }) => ({
      content: [{ type: "text", text: `Echo: ${message}` }]
    })
  )
  server.registerTool("greet", { inputSchema: fromJsonSchema<object>({ type: "object" }) }, (_, context) => {
    const answer = acceptedContent<{ name: string }>(context.mcpReq.inputResponses, "who")
    if (answer === undefined)
      return inputRequired({
        inputRequests: { who: inputRequired.elicit({ message: "Who are you?", requestedSchema: question as never }) }
      })
    return { content: [{ type: "text" as const, text: `Hello ${answer.name}` }] }
  })
  server.registerResource("note", "test://note", {}, (uri) => ({ contents: [{ uri: uri.href, text: "a note" }] }))
  return server
}

export const startModernFixture = async (): Promise<ModernFixture> => {
  const handler = createMcpHandler(makeServer)
  const seen: Array<string> = []
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    seen.push(`${request.headers["mcp-method"]} ${request.headers["mcp-name"] ?? ""}`.trim())
    const gone = new AbortController()
    response.on("close", () => gone.abort())
    const answer = await handler.fetch(
      new Request(`http://localhost${request.url}`, {
        method: request.method ?? "GET",
        headers: request.headers as Record<string, string>,
        ...(request.method === "POST" ? { body: Buffer.concat(chunks) } : {}),
        signal: gone.signal
      })
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    for await (const chunk of answer.body ?? []) response.write(chunk)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    toolsChanged: () => handler.notify.toolsChanged(),
    resourceUpdated: (uri) => handler.notify.resourceUpdated(uri),
    close: async () => {
      await handler.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
