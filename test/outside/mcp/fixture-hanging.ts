/**
 * A server with a tool that never answers, and tells when its call is cancelled: over streamable HTTP, and as a child
 * process, which tells it on standard error.
 */
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js"

const makeServer = (told: (what: string) => void): Server => {
  const server = new Server({ name: "hanging-fixture", version: "1.0.0" }, { capabilities: { tools: {} } })
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal, requestId }) => {
    if (params.name !== "hang") return { content: [{ type: "text", text: "here I am" }] }
    signal.addEventListener("abort", () => told(`${JSON.stringify(requestId)} cancelled: ${signal.reason}`))
    return new Promise<never>(() => {})
  })
  return server
}

export interface HangingServer {
  readonly port: number
  /** Cancelled calls, and streams of answers that were closed before their end. */
  readonly told: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

export const startHanging = async (): Promise<HangingServer> => {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const told: Array<string> = []
  const server = createServer(async (request, response) => {
    response.on("close", () => {
      if (request.method === "POST" && !response.writableFinished) told.push("closed")
    })
    const known = sessions.get(String(request.headers["mcp-session-id"]))
    if (known !== undefined) return known.handleRequest(request, response)
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        sessions.set(id, transport)
      }
    })
    await makeServer((what) => told.push(what)).connect(transport as never)
    return transport.handleRequest(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    told,
    close: async () => {
      for (const transport of sessions.values()) await transport.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

if (import.meta.main) await makeServer((what) => console.error(what)).connect(new StdioServerTransport() as never)
