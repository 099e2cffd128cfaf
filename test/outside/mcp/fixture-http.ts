/** The fixture as a streamable HTTP server with sessions and resumable streams, and as a legacy HTTP+SSE server. */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js"
import { type EventStore, StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import { makeFixture } from "./fixture-features.ts"

class Events implements EventStore {
  readonly #events: Array<{ readonly stream: string; readonly message: JSONRPCMessage }> = []
  async storeEvent(stream: string, message: JSONRPCMessage) {
    this.#events.push({ stream, message })
    return `event-${this.#events.length}`
  }
  async replayEventsAfter(
    last: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> }
  ) {
    const index = Number(last.slice("event-".length))
    const stream = this.#events[index - 1]?.stream ?? ""
    // Priming events carry no message.
    for (const [i, event] of this.#events.entries())
      if (i >= index && event.stream === stream && "jsonrpc" in event.message)
        await send(`event-${i + 1}`, event.message)
    return stream
  }
}

export interface FixtureServer {
  readonly port: number
  /** Sessions that were ended with DELETE. */
  readonly ended: ReadonlyArray<string>
  /** Headers of every request. */
  readonly seen: ReadonlyArray<IncomingMessage["headers"]>
  readonly close: () => Promise<void>
}

const local = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

const isRebinding = ({ headers }: IncomingMessage) =>
  !local.test(headers.host ?? "") ||
  (headers.origin !== undefined && !local.test(headers.origin.replace("http://", "")))

export const startFixture = async (): Promise<FixtureServer> => {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const streams = new Map<string, SSEServerTransport>()
  const ended: Array<string> = []
  const seen: Array<IncomingMessage["headers"]> = []

  const streamable = async (request: IncomingMessage, response: ServerResponse) => {
    const id = request.headers["mcp-session-id"]
    if (typeof id === "string") {
      const known = sessions.get(id)
      if (known === undefined) return void response.writeHead(404).end("no such session")
      return known.handleRequest(request, response)
    }
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: new Events(),
      retryInterval: 200,
      onsessioninitialized: (id) => {
        sessions.set(id, transport)
      },
      onsessionclosed: (id) => {
        sessions.delete(id)
        ended.push(id)
      }
    })
    await makeFixture().connect(transport as never)
    return transport.handleRequest(request, response)
  }

  const legacy = async (request: IncomingMessage, response: ServerResponse, url: URL) => {
    if (request.method === "GET") {
      const transport = new SSEServerTransport("/messages", response)
      streams.set(transport.sessionId, transport)
      response.on("close", () => streams.delete(transport.sessionId))
      return makeFixture().connect(transport as never)
    }
    const transport = streams.get(url.searchParams.get("sessionId") ?? "")
    if (transport === undefined) return void response.writeHead(404).end()
    return transport.handlePostMessage(request, response)
  }

  const server = createServer(async (request, response) => {
    seen.push(request.headers)
    if (isRebinding(request)) return void response.writeHead(403).end()
    const url = new URL(request.url ?? "/", "http://localhost")
    await (url.pathname === "/mcp" ? streamable(request, response) : legacy(request, response, url))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    ended,
    seen,
    close: async () => {
      for (const transport of sessions.values()) await transport.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
