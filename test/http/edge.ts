/** A proxy in the test's own process: the real listener, the real upstream, and between them an engine of a few lines. */

import { createServer, type RequestListener } from "node:http"
import { createServer as createTcpServer, type Socket } from "node:net"
import { Context, Effect, Layer, type Scope } from "effect"
import * as Dns from "../../layers/dns/layer.ts"
import { type Bound, defaultLimits, type Limits, type ListenOptions, listen } from "../../layers/http/listener.ts"
import { defaultOverloadLimits, Overload } from "../../layers/http/overload.ts"
import * as UpstreamLayer from "../../layers/http/upstream.ts"
import * as Metrics from "../../layers/metrics/prometheus.ts"
import type { Address } from "../../spec/target.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import type { Outcome } from "../../src/pipeline/view.ts"
import { ignore } from "../../src/services/contained.ts"
import {
  callTimeout,
  type Upstream,
  type UpstreamOptions,
  type UpstreamRequest,
  Upstreams
} from "../../src/services/upstreams.ts"

/** An answer with a line of text. */
export const text = (status: number, body: string, headers: ReadonlyArray<string> = []): Answer => ({
  status,
  headers: new HeaderList(["content-type", "text/plain", ...headers]),
  body
})

/** Sends the request on as it came, and answers with what comes back; a failure is told in plain text. */
export const forward =
  (upstream: Upstream, milliseconds?: number) =>
  (x: Exchange): Effect.Effect<Answer> => {
    const timeout = milliseconds === undefined ? undefined : callTimeout(milliseconds)
    return upstream
      .send({
        method: x.request.method,
        pathAndQuery: x.request.pathAndQuery,
        authority: x.request.authority,
        headers: x.request.headers,
        body: x.requestBody,
        timeout,
        upgrade: x.upgrade,
        informer: x.informer
      })
      .pipe(Effect.catch((failure) => Effect.succeed(text(failure.status, failure.message))))
  }

export interface Edge {
  readonly bound: Bound
  readonly port: number
  /** How each exchange ended, in order. */
  readonly outcomes: Array<Omit<Outcome, "bytes">>
  /** The failures of the proxy itself. */
  readonly defects: Array<unknown>
}

/** Listens on a port that the system chooses. */
export const edge = (
  handle: (exchange: Exchange) => Effect.Effect<Answer>,
  options: Partial<Omit<ListenOptions, "limits">> & { readonly limits?: Partial<Limits> } = {}
): Effect.Effect<Edge, never, Scope.Scope> =>
  Effect.gen(function* () {
    const outcomes: Array<Omit<Outcome, "bytes">> = []
    const defects: Array<unknown> = []
    const limits = { ...defaultLimits, ...options.limits }
    const bound = yield* Effect.orDie(
      listen({
        address: { _tag: "Tcp", host: "127.0.0.1", port: 0 },
        setting: "the test",
        clocks: { wall: Date.now, monotonic: () => performance.now() },
        defect: (cause) => defects.push(cause),
        drain: { minimum: 0, deadline: 0 },
        // The clients are in the same process, and there are as many as it can do.
        overload: new Overload({ ...defaultOverloadLimits, maxDelay: 0 }, () => performance.now(), ignore),
        ...options,
        handle: (exchange) => {
          exchange.onFinish(({ status, failure }) => outcomes.push({ status, failure }))
          return handle(exchange)
        },
        limits: () => limits
      })
    )
    return { bound, port: bound.port ?? 0, outcomes, defects }
  })

/** What whoever makes connections needs: names, from where `dns` says. */
export const connectionPorts = (dns: Dns.DnsOptions = {}) => Layer.provideMerge(Dns.layer(dns), Metrics.layer())

/** Connections as the gateway makes them. */
export const upstreams = (dns: Dns.DnsOptions = {}) => Layer.provide(UpstreamLayer.layer, connectionPorts(dns))

/** Opens a backend. */
export const upstreamTo = (target: number | Address, options: UpstreamOptions = {}, dns: Dns.DnsOptions = {}) =>
  Effect.flatMap(Layer.build(upstreams(dns)), (context) =>
    Context.get(context, Upstreams).open(
      typeof target === "number" ? { kind: "tcp", host: "127.0.0.1", port: target, tls: false } : target,
      options
    )
  )

/** A proxy that forwards everything to one backend. */
export const proxyTo = (
  target: number | Address,
  options: { readonly upstream?: UpstreamOptions; readonly timeout?: number } & Parameters<typeof edge>[1] = {}
) =>
  Effect.flatMap(upstreamTo(target, options.upstream), (upstream) => edge(forward(upstream, options.timeout), options))

/** A backend on node:http; yields its port. */
export const httpBackend = (listener: RequestListener) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer({ keepAliveTimeout: 60_000 }, listener)
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            server.close(() => resolve())
            server.closeAllConnections()
          })
      )
  )

/** A backend that speaks raw bytes; yields its port and counts its connections. */
export const tcpBackend = (connected: (socket: Socket, index: number) => void) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const sockets: Array<Socket> = []
        const server = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
          socket.on("error", () => {})
          sockets.push(socket)
          connected(socket, sockets.length - 1)
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return { server, sockets }
      }),
      ({ server, sockets }) =>
        Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              server.close(() => resolve())
              for (const socket of sockets) socket.destroy()
            })
        )
    ),
    ({ server, sockets }) => ({ port: portOf(server.address()), sockets })
  )

export const portOf = (address: unknown): number =>
  typeof address === "object" && address !== null && "port" in address ? Number(address.port) : 0

/** A request to an upstream: GET, unless something else is said. */
export const upstreamRequest = (changes: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  method: "GET",
  pathAndQuery: "/",
  authority: "a",
  headers: new HeaderList(),
  body: undefined,
  timeout: undefined,
  upgrade: undefined,
  informer: undefined,
  ...changes
})
