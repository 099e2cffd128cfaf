/** A relay behind a plain node:http server: all that a test needs to speak with it over the network. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Exit, Fiber, Layer, ManagedRuntime, Scope } from "effect"
import { type StdioOptions, layer as stdioLayer } from "../../../layers/stdio/layer.ts"
import { processClock } from "../../../src/protocols/mcp/clock.ts"
import { type McpBackendConfig, mcpBackendConfig } from "../../../src/protocols/mcp/config.ts"
import type { McpAuthorize, McpFacts, McpObserver, McpRelay, McpResponse } from "../../../src/protocols/mcp/contract.ts"
import type { McpHttpServer } from "../../../src/protocols/mcp/http/contract.ts"
import { makeServers } from "../../../src/protocols/mcp/http/server.ts"
import { makeMcpRelay } from "../../../src/protocols/mcp/relay.ts"
import { makeSessionIds, randomSessionKey } from "../../../src/protocols/mcp/session-id.ts"
import { nobody } from "../../../src/services/contained.ts"
import { Upstreams } from "../../../src/services/upstreams.ts"
import { upstreams } from "../../http/edge.ts"
import { callerTo } from "../../mcp-caller.ts"

export interface RelayServerOptions {
  readonly authorize?: McpAuthorize
  readonly observer?: McpObserver
  readonly principal?: (request: IncomingMessage) => string
  readonly key?: Uint8Array
  readonly stdio?: Partial<StdioOptions>
  /** Every response, in the order in which they left. */
  readonly onFacts?: (facts: McpFacts) => void
}

export interface RelayServer {
  readonly url: URL
  readonly relay: McpRelay
  readonly warnings: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

const bodyOf = async (request: IncomingMessage): Promise<Uint8Array> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const write = (response: McpResponse, outgoing: ServerResponse, onEnd: () => void) => {
  const headers: Record<string, Array<string>> = {}
  for (let i = 0; i < response.headers.length; i += 2) {
    const name = response.headers[i]!
    headers[name] = [...(headers[name] ?? []), response.headers[i + 1]!]
  }
  outgoing.writeHead(response.status, headers)
  const { body } = response
  if (typeof body === "string" || body instanceof Uint8Array) {
    outgoing.end(body)
    onEnd()
    return
  }
  outgoing.flushHeaders()
  outgoing.on("drain", () => body.resume())
  outgoing.on("close", () => body.cancel())
  body.start({
    write: (text) => outgoing.write(text),
    end: () => {
      outgoing.end()
      onEnd()
    }
  })
}

/** The targets behind HTTP. */
const openServers = (targets: McpBackendConfig["targets"]) =>
  Effect.gen(function* () {
    const { open } = yield* Upstreams
    const serverOf = yield* makeServers()
    const servers = new Map<string, McpHttpServer>()
    for (const target of targets) {
      if (target.kind === "stdio") continue
      const { hostname, port, origin } = new URL(`http://${target.address}`)
      const upstream = yield* open({ kind: "tcp", host: hostname, port: Number(port), tls: false }, {})
      servers.set(target.name, serverOf(callerTo(upstream, origin)))
    }
    return servers
  })

export const startRelay = async (
  config: Pick<McpBackendConfig, "targets"> & Partial<McpBackendConfig>,
  options: RelayServerOptions = {}
): Promise<RelayServer> => {
  const warnings: Array<string> = []
  const runtime = ManagedRuntime.make(Layer.merge(upstreams(), stdioLayer({ graceMillis: 500, ...options.stdio })))
  const scope = Scope.makeUnsafe()
  const relay = await runtime.runPromise(
    Effect.flatMap(openServers(config.targets), (servers) =>
      makeMcpRelay(mcpBackendConfig({ backend: "test", ...config }), {
        sessionIds: makeSessionIds(options.key ?? randomSessionKey()),
        owner: "only",
        product: { name: "headgate", title: "Headgate", version: "0.1.0" },
        clock: processClock(nobody),
        servers,
        warn: ({ target, message }) => warnings.push(`${target}: ${message}`)
      })
    ).pipe(Scope.provide(scope))
  )
  const server = createServer(async (request, outgoing) => {
    const fiber = Effect.runFork(
      relay.handle({
        method: request.method ?? "",
        path: request.url,
        authority: request.headers.host ?? "",
        headers: request.rawHeaders,
        body: await bodyOf(request),
        principal: options.principal?.(request) ?? "",
        address: request.socket.remoteAddress ?? "",
        listener: "test",
        authorize: options.authorize,
        observer: options.observer
      })
    )
    outgoing.on("close", () => fiber.interruptUnsafe())
    const exit = await Effect.runPromise(Fiber.await(fiber))
    if (Exit.isSuccess(exit)) write(exit.value, outgoing, () => options.onFacts?.(exit.value.facts))
    else outgoing.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    relay,
    warnings,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await runtime.dispose()
    }
  }
}
