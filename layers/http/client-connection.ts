/**
 * What a listener knows of a connection of a client, whichever version of HTTP it speaks, and what all connections of a listener
 * share.
 */
import type { Socket } from "node:net"
import { type Effect, Exit, type Fiber } from "effect"
import type { Answer } from "../../src/http/message.ts"
import type { Paths } from "../../src/http/path.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import type { Peer } from "../../src/pipeline/view.ts"
import { type Container, contained } from "../../src/services/contained.ts"
import type { Probes } from "../../src/services/upstreams.ts"
import type { Secured } from "../tls/secured.ts"
import type { Bounds, TurnedAway } from "./overload.ts"

export interface ClientConnection extends Container {
  readonly socket: Socket
  readonly peer: Peer
  /** What is known by its TLS handshake. */
  readonly secured: Secured | undefined
  /** What was decided of it once more. Meanwhile it is served; `failure` says why it ends in what is recorded. */
  readonly readmitted: (decision: Effect.Effect<boolean>, failure: string) => void
  /** Its client is told, as soon as it can be, that it should ask elsewhere for more. */
  readonly retire: () => void
  /** It ends with the last request that is under way, or now. */
  readonly finish: () => void
  /** Cuts those requests that are under way and match; `failure` says why in what is recorded. Returns how many. */
  readonly cutRequests: (matches: (each: Pick<Exchange, "settings">) => boolean, failure: string) => number
  /** Ends it with whatever is under way; `failure` says why in what is recorded. */
  readonly end: (failure: string) => void
  /** Closes it at once. */
  readonly cut: () => void
  /** Closes it when it has been idle, or open, for too long, or when its client keeps others waiting. */
  readonly sweep: (now: number, limits: Limits) => void
}

/** One that nobody has said anything on, or that has left HTTP. */
export interface BegunConnection extends ClientConnection {
  /** When it was made, on the monotonic clock. */
  readonly opened: number
}

/** Another listener of the process, for a connection that comes out of a tunnel. */
export interface TunnelEnd {
  /** Takes the socket over, of which nothing was read that is not put back. `carrier` is told whose it is from then on. */
  readonly enter: (socket: Socket, peer: Peer, carrier: Carrier) => void
}

/** What keeps the outer side of a tunnel. */
export interface Carrier {
  /** This is what it carries now. */
  readonly carries: (inner: ClientConnection) => void
}

/** Where the time comes from. */
export interface Clocks {
  /** Milliseconds since 1970. */
  readonly wall: () => number
  /** Milliseconds with fractions, from a clock that never goes back. */
  readonly monotonic: () => number
}

/** How much a client may ask of one connection, and how it is understood. */
export interface Limits {
  /** Whether paths get their normal form before anybody sees them. Default: they do. */
  readonly paths: Paths
  /** What happens with CONNECT; `tunnels alone`: nothing else is served. Default: it is refused. */
  readonly connects: "deny" | "route" | "tunnel" | "tunnels alone"
  /** The most header lines of a request. Default 100. */
  readonly maxHeaders: number
  /**
   * Milliseconds that a connection may wait for a request, and that a body may stand still on account of the client.
   * Default 10 minutes.
   */
  readonly idleTimeout: number
  /** Milliseconds for which a client may take nothing of an answer that waits for it. Default 1 minute. */
  readonly stallTimeout: number
  /** Milliseconds that the head of a request may take from its first byte on. Default 1 minute. */
  readonly headTimeout: number
  /** Milliseconds after which a connection is closed as soon as no request is under way. Default: never. */
  readonly maxConnectionDuration: number | undefined
  /** TCP probes of a connection that is silent. Default: none. */
  readonly probes: Probes | "none"
  readonly http2: Http2Limits
}

/** The same of sessions of HTTP/2. Bytes; those that are left out grow as they are used. */
export interface Http2Limits {
  /** How much of a body a client may send before somebody takes it. */
  readonly window: number | undefined
  /** The same of all bodies of a connection. */
  readonly connectionWindow: number | undefined
  /** The largest frame. Default 16 KiB. */
  readonly frameSize: number | undefined
  /** Bytes of the fields of a request. Default: those of a head of HTTP/1.1. */
  readonly maxHeaderSize: number | undefined
  /** Milliseconds between pings; `undefined`: there are none. */
  readonly pingInterval: number | undefined
  /** Milliseconds that a ping may stay unanswered. */
  readonly pingTimeout: number
}

/** What all connections of a listener share. */
export interface Serving {
  readonly handle: (exchange: Exchange) => Effect.Effect<Answer>
  /** Whether the connection of a client may stay; `undefined` where nothing decides about it. */
  readonly admit: (peer: Peer) => Effect.Effect<boolean> | undefined
  readonly run: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
  readonly clocks: Clocks
  readonly limits: () => Limits
  /** The most bytes of a request's head. */
  readonly maxHeadBytes: number
  readonly defect: (cause: unknown) => void
  /** Told of a session of HTTP/2 that was ended for what its client did, and why. */
  readonly http2Ended: (source: string, cause: string) => void
  /** The client of a connection speaks HTTP/2: whoever takes it over is in its place from here on. */
  readonly speakHttp2: (connection: BegunConnection) => void
  /** Where a tunnel to a port ends; `undefined`: there is no such place. */
  readonly tunnelEnd: (port: number) => TunnelEnd | undefined
  /** A connection has become a tunnel: whatever is in it goes to its end. */
  readonly tunnel: (connection: BegunConnection, end: TunnelEnd, peer: Peer) => void
  /** Asked before anything begins. */
  readonly overload: Bounds
  readonly turnedAway: (what: "request" | "connection", cause: TurnedAway) => void
  /** Whether only this machine reaches the listener. */
  readonly loopback: boolean
  draining: boolean
  /** Nobody waits for another request on a connection that is idle. */
  ending: boolean
}

/** What was decided of a connection holds when it is known. */
export const endUnlessAdmitted = (
  connection: Pick<ClientConnection, "end" | "contain"> & Pick<Serving, "run">,
  decision: Effect.Effect<boolean>,
  failure: string
): void => {
  const decided = contained(connection, (exit: Exit.Exit<boolean>) => {
    if (Exit.isFailure(exit) || !exit.value) connection.end(failure)
  })
  if (Exit.isExit(decision)) decided(decision as Exit.Exit<boolean>)
  else connection.run(decision).addObserver(decided)
}
