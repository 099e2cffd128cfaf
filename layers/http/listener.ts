/**
 * Port of entry: an HTTP/1.1 server that hands every request to the engine, and knows how to stop without cutting anyone off.
 * With TLS it is handed sockets whose handshakes are over.
 */
import { createServer, type Server, type Socket } from "node:net"
import { Effect, type Scope } from "effect"
import type { Answer } from "../../src/http/message.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import type { ProxyProtocolOptions } from "../../src/pipeline/listener-policy.ts"
import type { Relay } from "../../src/pipeline/relay.ts"
import type { Peer, PeerTls } from "../../src/pipeline/view.ts"
import { type Container, contained, containing, ignore } from "../../src/services/contained.ts"
import type { PortTls } from "../../src/services/listener-tls.ts"
import { isLocal } from "../admin-address.ts"
import { Session } from "../http2/server/session.ts"
import { peerOf } from "../peer.ts"
import { plainAddress } from "../plain-address.ts"
import type { Origin } from "../tcp/proxy-header.ts"
import { ProxyHeaders } from "../tcp/proxy-headers.ts"
import { RelayedConnection } from "../tcp/relayed-connection.ts"
import { type HandshakeFailed, Handshakes } from "../tls/handshakes.ts"
import type { Secured } from "../tls/secured.ts"
import { type Address, BindFailed, bind, clearSocketFile, show } from "./address.ts"
import type {
  BegunConnection,
  Carrier,
  ClientConnection,
  Clocks,
  Limits,
  Serving,
  TunnelEnd
} from "./client-connection.ts"
import { Connection, overloaded } from "./connection.ts"
import { standardProbes } from "./connection-settings.ts"
import { type Bounds, defaultOverloadLimits, Overload, type TurnedAway } from "./overload.ts"
import { refuse } from "./refusal.ts"
import { TunnelledConnection } from "./tunnelled-connection.ts"

export { type Address, BindFailed } from "./address.ts"
export type { Clocks, Limits, TunnelEnd } from "./client-connection.ts"

/** 100 header lines (seed), 10 minutes of idleness, a minute for a head and for who takes nothing of an answer, no bound on the age of a connection. */
export const defaultLimits: Limits = {
  paths: "normalised",
  connects: "deny",
  maxHeaders: 100,
  idleTimeout: 600_000,
  stallTimeout: 60_000,
  headTimeout: 60_000,
  maxConnectionDuration: undefined,
  probes: standardProbes,
  http2: {
    window: undefined,
    connectionWindow: undefined,
    frameSize: undefined,
    maxHeaderSize: undefined,
    pingInterval: undefined,
    pingTimeout: 20_000
  }
}

export interface ListenOptions {
  /** `undefined`: it listens nowhere, and connections come out of tunnels alone. */
  readonly address: Address | undefined
  /** The configuration that names the address: what to change when it cannot be bound. */
  readonly setting: string
  /** The engine. A ready `Exit` is written at once, without a fiber. */
  readonly handle: (exchange: Exchange) => Effect.Effect<Answer>
  /** Whether the connection of a client may stay; `undefined` where nothing decides about it. Default: nothing does. */
  readonly admit?: ((peer: Peer) => Effect.Effect<boolean> | undefined) | undefined
  /** Takes a connection that bears no requests. `undefined`: it bears requests. Default: all of them do. */
  readonly relayed?: ((peer: Peer) => Relay | undefined) | undefined
  readonly clocks: Clocks
  /** Asked for each request and each sweep, so that a reload may change them. */
  readonly limits: () => Limits
  /** The most bytes of a request's head. Default 64 KiB. */
  readonly maxHeadBytes?: number | undefined
  /** Told what went wrong in the proxy itself while it answered. */
  readonly defect: (cause: unknown) => void
  /** Clients speak TLS: asked what of it for each connection. Absent: they do not. */
  readonly tls?: (() => PortTls | undefined) | undefined
  /** Told of a connection that was closed because its handshake, or the header of a balancer, failed, with the address of the client. Default: nobody is. */
  readonly handshakeFailed?: HandshakeFailed | undefined
  /** The header of a balancer that tells whose connection it is: asked for each connection. Default: none is awaited. */
  readonly proxyProtocol?: (() => ProxyProtocolOptions | undefined) | undefined
  /** What bounds the whole process. Default: bounds of its own, by default generous. */
  readonly overload?: Bounds | undefined
  /** Told of what was turned away because there is too much. Default: nobody is. */
  readonly turnedAway?: ((what: "request" | "connection", cause: TurnedAway) => void) | undefined
  /** Told of a session of HTTP/2 that was ended for what its client did, and why. Default: nobody is. */
  readonly http2Ended?: ((source: string, cause: string) => void) | undefined
  /** Where tunnels to a port end. Default: nowhere. */
  readonly tunnelEnd?: ((port: number) => TunnelEnd | undefined) | undefined
  /** How the scope's end drains, if nobody did before. */
  readonly drain: DrainOptions
}

/** How a listener stops. Milliseconds, both from the start of the drain. */
export interface DrainOptions {
  /** Until then it still accepts connections, for those who have not heard yet. */
  readonly minimum: number
  /** Then what is still under way is cut. */
  readonly deadline: number
}

export interface Bound extends TunnelEnd {
  /** The addresses as bound, with the port that the system chose. */
  readonly addresses: ReadonlyArray<string>
  /** The port as bound; `undefined` for a unix socket. */
  readonly port: number | undefined
  /** How many client connections are open. */
  readonly connections: () => number
  /**
   * Stops gracefully: answers say `connection: close`, idle connections are closed, after `minimum` nothing is accepted
   * any more, and at `deadline` whatever is left is cut. Ends when no connection is open. Later calls join the first.
   */
  readonly drain: (options: DrainOptions) => Effect.Effect<void>
  /** Leaves a drain that is under way no more than so many milliseconds. */
  readonly hasten: (deadline: number) => void
  /** Stops accepting, at once and for good; its connections live on. */
  readonly close: Effect.Effect<void>
  /** Ends every connection now; a drain that is under way ends with it. */
  readonly cut: () => void
  /** Cuts those requests, and connections that are passed on, that are under way and match; `failure` says why in what is recorded. Returns how many. */
  readonly cutRequests: (matches: (each: Pick<Exchange, "settings">) => boolean, failure: string) => number
  /** Ends those connections with TLS that the port would not let in any more. Returns how many. */
  readonly readmit: (failure: string) => number
  /** Asks of every connection anew whether it may stay, and ends those that may not. */
  readonly decideAnew: (failure: string) => void
}

/** Listens until its scope ends; then it drains. */
export const listen = (options: ListenOptions): Effect.Effect<Bound, BindFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const listener = new Listener(
      {
        handle: options.handle,
        admit: options.admit ?? everybody,
        run: Effect.runForkWith(context),
        clocks: options.clocks,
        limits: options.limits,
        maxHeadBytes: options.maxHeadBytes ?? 65_536,
        defect: options.defect,
        http2Ended: options.http2Ended ?? ignore,
        overload: options.overload ?? new Overload(defaultOverloadLimits, options.clocks.monotonic, options.defect),
        turnedAway: options.turnedAway ?? ignore,
        tunnelEnd: options.tunnelEnd ?? nowhere,
        loopback: options.address !== undefined && options.address._tag !== "Unix" && isLocal(options.address),
        draining: false,
        ending: false
      },
      options.relayed,
      options.tls,
      options.handshakeFailed ?? ignore,
      options.proxyProtocol ?? noHeader
    )
    const bound = yield* Effect.acquireRelease(open(listener, options), (bound) => bound.drain(options.drain))
    return bound
  })

const everybody = () => undefined
const noHeader = () => undefined
const nowhere = () => undefined

const open = (listener: Listener, { address, setting }: ListenOptions): Effect.Effect<Bound, BindFailed> =>
  Effect.gen(function* () {
    const refused = ({ code }: { readonly code: string }) =>
      new BindFailed({ address: address === undefined ? "" : show(address), setting, code })
    let port: number | undefined
    switch (address?._tag) {
      case undefined:
        break
      case "Unix":
        if (address.path === "") return yield* Effect.fail(refused({ code: "EINVAL" }))
        yield* Effect.mapError(clearSocketFile(address.path), refused)
        yield* Effect.mapError(bind(listener.server(), { path: address.path }), refused)
        break
      case "Tcp": {
        const tcp = listener.server()
        yield* Effect.mapError(bind(tcp, { host: address.host, port: address.port }), refused)
        port = portOf(tcp)
        break
      }
      case "Localhost": {
        const four = listener.server()
        yield* Effect.mapError(bind(four, { host: "127.0.0.1", port: address.port }), refused)
        port = portOf(four)
        yield* bind(listener.server(), { host: "::1", port }).pipe(
          Effect.catch((failure) =>
            // A machine without IPv6 has one loopback; that is no failure.
            failure.code === "EADDRNOTAVAIL" || failure.code === "EAFNOSUPPORT"
              ? Effect.void
              : Effect.andThen(listener.close(), Effect.fail(refused(failure)))
          )
        )
      }
    }
    listener.opened()
    return {
      addresses: address === undefined ? [] : listener.addresses(address),
      port,
      enter: (socket, peer, carrier) => listener.enter(socket, peer, carrier),
      connections: () => listener.connections.size,
      drain: (options) => listener.drain(options),
      close: listener.close(),
      hasten: (deadline) => listener.hasten(deadline),
      cut: () => listener.cut(),
      cutRequests: (matches, failure) => listener.cutRequests(matches, failure),
      readmit: (failure) => listener.readmit(failure),
      decideAnew: (failure) => listener.decideAnew(failure)
    } satisfies Bound
  })

const portOf = (server: Server): number | undefined => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : undefined
}

/** Connections of one listener that are told that they are too many, at a time. */
const mostLeaving = 64

const sweep = containing((connection: ClientConnection, now: number, limits: Limits) => connection.sweep(now, limits))

/** The servers of one address, and the connections that came through them. */
class Listener implements Container {
  readonly connections = new Set<ClientConnection>()
  readonly #servers: Array<Server> = []
  readonly #serving: Serving
  readonly #relayed: ListenOptions["relayed"]
  readonly #tls: (() => PortTls | undefined) | undefined
  readonly #handshakeFailed: HandshakeFailed
  readonly #proxyProtocol: () => ProxyProtocolOptions | undefined
  /** Connections that begin with a header, of each server. */
  readonly #headers: Array<ProxyHeaders> = []
  /** Clients that balancers have told of. */
  readonly #origins = new WeakMap<Socket, Origin>()
  /** Connections that came out of tunnels: who is at the other end, and what keeps the outer side. */
  readonly #entered = new WeakMap<Socket, { readonly peer: Peer; readonly carrier: Carrier }>()
  /** Begins such a connection. */
  #beginEntered: ((socket: Socket) => void) | undefined = undefined
  /** Connections whose handshakes are under way, of each server with TLS. */
  readonly #handshakes: Array<Handshakes> = []
  #sweeper: NodeJS.Timeout | undefined = undefined
  #accepting = true
  /** Connections that were turned away, and are being told. */
  #leaving = 0
  /** Those who wait for the last connection to close. */
  readonly #emptied: Array<() => void> = []
  #drain: Promise<void> | undefined = undefined

  constructor(
    serving: Omit<Serving, "speakHttp2" | "tunnel">,
    relayed: ListenOptions["relayed"],
    tls: (() => PortTls | undefined) | undefined,
    handshakeFailed: HandshakeFailed,
    proxyProtocol: () => ProxyProtocolOptions | undefined
  ) {
    this.#serving = {
      ...serving,
      speakHttp2: (connection) => this.#speakHttp2(connection),
      tunnel: (connection, end, peer) => this.#tunnel(connection, end, peer)
    }
    this.#relayed = relayed
    this.#tls = tls
    this.#handshakeFailed = handshakeFailed
    this.#proxyProtocol = proxyProtocol
  }

  /** A callback threw that belongs to no connection: there is nothing to close. */
  contain(cause: unknown): void {
    this.#serving.defect(cause)
  }

  /** A server that is not bound yet. */
  server(): Server {
    const begin = this.#beginning()
    const headers = this.#awaiting(begin)
    const connected = contained(this, (socket: Socket) => {
      const { overload, turnedAway } = this.#serving
      const cause = overload.enter(socket)
      if (cause === undefined) this.#begin(socket, headers, begin)
      else {
        turnedAway("connection", cause)
        this.#turnAway(socket)
      }
    })
    // Tunnels may end in one direction alone.
    const server = createServer({ noDelay: true, allowHalfOpen: true }, connected)
    this.#servers.push(server)
    return server
  }

  #beginning(): (socket: Socket) => void {
    return this.#tls === undefined
      ? (socket: Socket) => this.#connected(socket, undefined, undefined)
      : this.#handshaking(this.#tls)
  }

  /** Takes a connection out of a tunnel. Who its client is was told to the outer listener. */
  enter(socket: Socket, peer: Peer, carrier: Carrier): void {
    if (!this.#accepting) {
      socket.destroy()
      return
    }
    this.#entered.set(socket, { peer, carrier })
    this.#beginEntered ??= this.#beginning()
    this.#beginEntered(socket)
  }

  #awaiting(begin: (socket: Socket) => void): ProxyHeaders {
    const headers = new ProxyHeaders({
      known: (socket, origin) => {
        if (origin !== undefined) this.#origins.set(socket, origin)
        if (this.#accepting) begin(socket)
        else socket.destroy()
      },
      failed: (socket, detail) => this.#handshakeFailed(this.#sourceOf(socket), detail, "header"),
      defect: this.#serving.defect
    })
    this.#headers.push(headers)
    return headers
  }

  #begin(socket: Socket, headers: ProxyHeaders, begin: (socket: Socket) => void): void {
    const wanted = this.#proxyProtocol()
    if (wanted === undefined) begin(socket)
    else headers.accept(socket, wanted)
  }

  /** The client, for logs. */
  #sourceOf(socket: Socket): string {
    const { remoteAddress = "", remotePort = 0 } = socket
    const entered = this.#entered.get(socket)
    if (entered !== undefined) return `${entered.peer.address}:${entered.peer.port}`
    const { address, port } = this.#origins.get(socket) ?? { address: plainAddress(remoteAddress), port: remotePort }
    return `${address}:${port}`
  }

  /** One connection too many. Whoever can be told so is, but nobody waits for many of them to hear it. */
  #turnAway(socket: Socket): void {
    socket.on("error", ignore)
    if (this.#tls !== undefined || this.#relayed !== undefined || this.#leaving >= mostLeaving) {
      socket.destroy()
      return
    }
    this.#leaving++
    const left = contained(this, () => {
      this.#leaving--
    })
    socket.once("close", left)
    refuse(socket, overloaded, this.#serving.clocks.wall())
  }

  /** Ends TLS before HTTP begins. */
  #handshaking(port: () => PortTls | undefined): (socket: Socket) => void {
    const handshakes = new Handshakes({
      port,
      now: this.#serving.clocks.wall,
      secured: (socket, facts) => {
        if (this.#accepting) this.#connected(socket, facts, facts)
        else socket.destroy()
      },
      passed: (socket, facts) => this.#connected(socket, undefined, facts),
      overload: this.#serving.overload,
      turnedAway: (cause) => this.#serving.turnedAway("connection", cause),
      sourceOf: (socket) => this.#sourceOf(socket),
      failed: this.#handshakeFailed,
      defect: this.#serving.defect
    })
    this.#handshakes.push(handshakes)
    return (socket) => handshakes.accept(socket)
  }

  /** @param secured with TLS that ended here. @param seen what is known by a handshake, whoever is at the other end of it. */
  #connected(socket: Socket, secured: Secured | undefined, seen: PeerTls | undefined): void {
    const { probes } = this.#serving.limits()
    if (probes !== "none") socket.setKeepAlive(true, probes.time, probes.interval, probes.retries)
    const transport = secured?.transport ?? socket
    const entered = this.#entered.get(transport)
    const peer =
      entered === undefined
        ? peerOf(socket, this.#serving.loopback, seen, this.#origins.get(transport))
        : { ...entered.peer, tls: seen }
    const relay = this.#relayed?.(peer)
    if (relay !== undefined) this.#relay(socket, peer, secured, relay)
    else if (seen === secured) this.#serve(socket, peer, secured)
    // Nobody passes it on any more, and TLS is not ended here.
    else socket.destroy()
  }

  #serve(socket: Socket, peer: Peer, secured: Secured | undefined): void {
    const connection = new Connection(this.#serving, socket, peer, secured)
    this.#closing(connection)
    connection.begin()
  }

  #speakHttp2(begun: BegunConnection): void {
    this.#closing(new Session(this.#serving, begun))
    this.connections.delete(begun)
  }

  /** Its connection closes with the one that is in it. */
  #tunnel(begun: BegunConnection, end: TunnelEnd, peer: Peer): void {
    const outer = new TunnelledConnection(this.#serving, begun)
    this.#carried(outer)
    this.connections.add(outer)
    this.connections.delete(begun)
    const closed = contained(this, () => this.#over(outer))
    outer.socket.on("close", closed)
    const enter = contained(outer, () => {
      if (outer.socket.destroyed) return
      end.enter(outer.socket, peer, outer)
      // Its client has said all already, which nobody is told a second time.
      if (outer.socket.readableEnded) outer.finish()
    })
    // A turn later the socket is one again that nobody is reading from.
    setImmediate(enter)
  }

  /** Says whose connection it is that came out of a tunnel. */
  #carried(connection: ClientConnection): void {
    this.#entered.get(connection.secured?.transport ?? connection.socket)?.carrier.carries(connection)
  }

  /** Keeps a connection until its socket is closed. */
  #closing(connection: Connection | Session): void {
    this.connections.add(connection)
    this.#carried(connection)
    const closed = contained(this, () => {
      try {
        connection.closed()
      } finally {
        this.#over(connection)
      }
    })
    connection.socket.on("close", closed)
  }

  #relay(socket: Socket, peer: Peer, secured: Secured | undefined, relay: Relay): void {
    const over = () => this.#over(connection)
    const connection: RelayedConnection = new RelayedConnection(this.#serving, socket, peer, secured, relay, over)
    this.connections.add(connection)
    this.#carried(connection)
    connection.begin()
  }

  #over(connection: ClientConnection): void {
    this.connections.delete(connection)
    if (this.connections.size === 0 && !this.#accepting) for (const emptied of this.#emptied.splice(0)) emptied()
  }

  addresses(configured: Address): ReadonlyArray<string> {
    if (configured._tag === "Unix") return [show(configured)]
    return this.#servers.flatMap((server) => {
      const address = server.address()
      return typeof address === "object" && address !== null
        ? [show({ _tag: "Tcp", host: address.address, port: address.port })]
        : []
    })
  }

  /** All servers are bound. */
  opened(): void {
    // An accept that fails, for want of file descriptors say, is no reason to end.
    const failed = contained(this, this.#serving.defect)
    for (const server of this.#servers) server.on("error", failed)
    this.#sweep()
  }

  /** Looks for connections that are over their time, now and then. */
  #sweep(): void {
    const limits = this.#serving.limits()
    const { idleTimeout, headTimeout, stallTimeout, maxConnectionDuration = Number.POSITIVE_INFINITY } = limits
    const shortest = Math.min(idleTimeout, headTimeout, stallTimeout, maxConnectionDuration)
    const look = contained(this, () => {
      // First: the next look must come, whatever this one meets.
      this.#sweep()
      const now = this.#serving.clocks.monotonic()
      for (const connection of this.connections) sweep(connection, now, limits)
    })
    this.#sweeper = setTimeout(look, Math.max(10, Math.min(shortest / 8, 10_000))).unref()
  }

  /** Stops accepting. */
  close(): Effect.Effect<void> {
    return Effect.sync(() => {
      this.#accepting = false
      clearTimeout(this.#sweeper)
      // Its connections live on.
      for (const server of this.#servers) server.close()
      // They have asked for nothing yet.
      for (const headers of this.#headers) headers.cut()
      for (const handshakes of this.#handshakes) handshakes.cut()
    })
  }

  drain(options: DrainOptions): Effect.Effect<void> {
    return Effect.promise(() => {
      this.#drain ??= this.#draining(options)
      return this.#drain
    })
  }

  hasten(deadline: number): void {
    const cut = contained(this, () => this.cut())
    setTimeout(cut, deadline).unref()
  }

  async #draining({ minimum, deadline }: DrainOptions): Promise<void> {
    this.#serving.draining = true
    for (const connection of this.connections) connection.retire()
    // A balancer that has not noticed yet uses the connections that it keeps: none is closed under a request.
    if (minimum > 0) await this.#within(minimum, false)
    await Effect.runPromise(this.close())
    this.#serving.ending = true
    for (const connection of this.connections) connection.finish()
    if (this.connections.size > 0) await this.#within(Math.max(0, deadline - minimum), true)
    this.cut()
  }

  /** Waits for a time, or, if so wanted, until no connection is left. */
  #within(milliseconds: number, untilEmpty: boolean): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds, undefined)
      const done = () => {
        clearTimeout(timer)
        resolve()
      }
      if (untilEmpty) this.#emptied.push(done)
    })
  }

  cutRequests(matches: (each: Pick<Exchange, "settings">) => boolean, failure: string): number {
    let count = 0
    for (const connection of this.connections) count += connection.cutRequests(matches, failure)
    return count
  }

  readmit(failure: string): number {
    const port = this.#tls?.()
    const now = this.#serving.clocks.wall()
    let count = 0
    for (const connection of this.connections) {
      const { secured } = connection
      if (secured === undefined) continue
      const tls = port?.forServerName(secured.serverName)
      if (tls !== undefined && tls !== "passed through" && secured.isAdmittedBy(tls, now)) continue
      connection.end(failure)
      count++
    }
    return count
  }

  decideAnew(failure: string): void {
    for (const connection of this.connections) {
      const admitted = this.#serving.admit(connection.peer)
      if (admitted !== undefined) connection.readmitted(admitted, failure)
    }
  }

  cut(): void {
    for (const connection of this.connections) connection.cut()
  }
}
