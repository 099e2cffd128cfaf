/**
 * A connection of a client that speaks HTTP/2. The runtime reads and writes its frames, on the socket that was handed over; here
 * each stream becomes a request like any other, and the session ends when its time is up or its client does what none needs.
 */

import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2"
import type { Socket } from "node:net"
import type { Effect } from "effect"
import type { Malformed } from "../../../src/http/framing.ts"
import type { Scheme } from "../../../src/http/message.ts"
import { Exchange } from "../../../src/pipeline/exchange.ts"
import type { Peer } from "../../../src/pipeline/view.ts"
import { type Container, contained, ignore } from "../../../src/services/contained.ts"
import {
  type BegunConnection,
  type ClientConnection,
  endUnlessAdmitted,
  type Limits,
  type Serving
} from "../../http/client-connection.ts"
import { dateAt } from "../../http/response-head.ts"
import type { Secured } from "../../tls/secured.ts"
import { code } from "../codes.ts"
import { Allowance } from "./allowance.ts"
import { causeOf } from "./causes.ts"
import { optionsOf } from "./options.ts"
import { frameFields } from "./request-fields.ts"
import { type StreamHost, StreamRequest } from "./stream-request.ts"
import { Windows } from "./windows.ts"

/** How long a client may take to close a connection that is over, in milliseconds. */
const lingering = 1000

/** Bytes of what means nothing that a client may send beside what means something. */
const meaningless = 262_144

/** Milliseconds after which a session is weighed when a body of it is not taken: what comes of it then piles up in the runtime. */
const soon = 200

/** Streams that the runtime may end by itself. */
const untold = 500

export class Session implements ClientConnection, StreamHost, Container {
  readonly socket: Socket
  readonly peer: Peer
  readonly secured: Secured | undefined
  readonly opened: number
  readonly windows: Windows
  readonly #scheme: Scheme
  readonly #serving: Serving
  readonly #session: ServerHttp2Session
  readonly #requests = new Set<StreamRequest>()
  readonly #pings: Allowance
  readonly #settings: Allowance
  readonly #resets: Allowance
  readonly #malformed: Allowance
  readonly #pinger: NodeJS.Timeout | undefined
  #weighing: NodeJS.Timeout | undefined = undefined
  /** When it last became idle; `undefined` while a request is under way. */
  #idleSince: number | undefined
  /** When it ends although its client has not closed it. */
  #lingering: NodeJS.Timeout | undefined = undefined
  #ended = false
  /** Requests that have begun, and bytes of the bodies of those that are over. */
  #begun = 0
  #moved = 0
  /** Streams that the runtime has told of, and how much had come when it was weighed last. */
  #seen = 0
  #weighed = 0

  /** @param connection of which nothing was read but how its client begins. */
  constructor(serving: Serving, { socket, peer, secured, opened }: BegunConnection) {
    this.#serving = serving
    this.socket = socket
    this.peer = peer
    this.secured = secured
    this.opened = opened
    this.#scheme = secured === undefined ? "http" : "https"
    const limits = serving.limits()
    const now = serving.clocks.monotonic()
    this.#idleSince = now
    // As many as a client of gRPC needs that measures its connection, and far fewer than a flood has.
    this.#pings = new Allowance(500, 50, now)
    this.#settings = new Allowance(100, 5, now)
    this.#resets = new Allowance(300, 50, now)
    this.#malformed = new Allowance(100, 10, now)
    const session = performServerHandshake(socket, optionsOf(limits, serving.maxHeadBytes))
    this.#session = session
    endingLater(session, this)
    this.windows = new Windows(session, limits.http2, this)
    session
      .on(
        "stream",
        contained(this, (stream: ServerHttp2Stream, _: unknown, __: unknown, raw: ReadonlyArray<string>) =>
          this.#accept(stream, raw)
        )
      )
      .on(
        "ping",
        contained(this, () => this.#allow(this.#pings, "pings"))
      )
      .on(
        "remoteSettings",
        contained(this, () => this.#allow(this.#settings, "settings"))
      )
      .on(
        "error",
        contained(this, (error: NodeJS.ErrnoException) => this.#failed(error))
      )
    // The end of what a client sends is the end of the client. It is seen when the runtime has what was read before.
    const gone = contained(this, () => this.cut())
    socket.on("end", gone)
    const flow = contained(this, () => socket.resume())
    process.nextTick(flow)
    this.#pinger = this.#keepAlive(limits)
    if (serving.ending) this.finish()
  }

  get run(): Serving["run"] {
    return this.#serving.run
  }

  get defect(): Serving["defect"] {
    return this.#serving.defect
  }

  get wall(): Serving["clocks"]["wall"] {
    return this.#serving.clocks.wall
  }

  contain(cause: unknown): void {
    this.cut()
    this.#serving.defect(cause)
  }

  // What the session tells.

  #accept(stream: ServerHttp2Stream, raw: ReadonlyArray<string>): void {
    this.#seen++
    // Before anything else: the runtime throws what nobody listens for, also of a stream that is destroyed by now.
    stream.on("error", ignore)
    // Its client has given it up already.
    if (stream.destroyed || stream.closed) {
      this.reset()
      return
    }
    this.#begun++
    const limits = this.#serving.limits()
    const framed = frameFields(raw, this.#scheme, limits)
    if (framed._tag === "Malformed") {
      this.#refuse(stream, framed)
      return
    }
    const { head, length, expecting, tunnel } = framed
    const { overload, turnedAway } = this.#serving
    if (!overload.admits()) {
      turnedAway("request", "LoopDelay")
      this.#turnAway(stream)
      return
    }
    const bodiless = stream.endAfterHeaders || tunnel !== undefined
    if (!bodiless && !this.windows.open()) {
      this.#turnAway(stream)
      return
    }
    this.#idleSince = undefined
    const { clocks, handle } = this.#serving
    const exchange = new Exchange(head, undefined, this.peer, clocks.wall(), clocks.monotonic())
    if (this.secured !== undefined) this.secured.identify(exchange)
    if (this.peer.tunnel !== undefined) exchange.fact("tunnel", this.peer.tunnel.to)
    const request = new StreamRequest(this, stream, exchange, expecting && length !== 0, tunnel)
    exchange.informer = request
    exchange.upgrade = tunnel?.protocol
    this.#requests.add(request)
    // Whoever still comes here is served, and told that there is no more.
    if (this.#serving.draining) this.finish()
    if (bodiless) request.begin(handle)
    else request.receive(handle)
  }

  /** Nothing was done of it: it may be sent again (RFC 9113 8.7). */
  #turnAway(stream: ServerHttp2Stream): void {
    stream.close(code.refused)
  }

  reset(): void {
    this.#allow(this.#resets, "resets")
  }

  over(request: StreamRequest): void {
    this.#moved += request.moved
    // More of it may be on its way, and is told of by nobody.
    if (request.cutShort) this.#moved += this.windows.largest
    this.#requests.delete(request)
    if (this.#requests.size > 0) return
    this.#idleSince = this.#serving.clocks.monotonic()
    if (this.#session.closed) this.#linger()
  }

  /** What is no request gets a line of text, as in HTTP/1.1; the session goes on. */
  #refuse(stream: ServerHttp2Stream, { status, message, allow }: Malformed): void {
    const headers = {
      ":status": status,
      "content-type": "text/plain",
      "content-length": String(Buffer.byteLength(message)),
      date: dateAt(this.wall()),
      ...(allow === undefined ? {} : { allow })
    }
    this.#allow(this.#malformed, "malformed requests")
    if (stream.destroyed) return
    stream.respond(headers)
    stream.end(message)
    const through = contained(this, () => stream.close(code.none))
    if (!stream.endAfterHeaders) stream.once("finish", through)
  }

  #allow(allowance: Allowance, cause: string): void {
    if (!allowance.take(this.#serving.clocks.monotonic())) this.#stop(cause)
  }

  #stop(cause: string): void {
    if (this.#ended) return
    this.#blame(cause)
    this.#session.destroy(new Error(cause), code.calm)
    this.#linger()
  }

  /** The runtime has ended the session. */
  #failed(error: NodeJS.ErrnoException): void {
    const cause = causeOf(error)
    if (cause !== undefined) this.#blame(cause)
    this.#linger()
  }

  #blame(cause: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#serving.http2Ended(`${this.peer.address}:${this.peer.port}`, cause)
  }

  // What the listener asks for.

  readmitted(decision: Effect.Effect<boolean>, failure: string): void {
    endUnlessAdmitted(this, decision, failure)
  }

  retire(): void {
    this.finish()
  }

  /** What its client asks for from here on goes elsewhere, and it knows what of it was not begun. */
  finish(): void {
    const session = this.#session
    if (session.closed || session.destroyed) return
    session.close()
    if (this.#requests.size === 0) this.#linger()
  }

  #linger(): void {
    this.#lingering ??= setTimeout(destroy, lingering, this.socket).unref()
  }

  cutRequests(matches: (exchange: Pick<Exchange, "settings">) => boolean, failure: string): number {
    let count = 0
    for (const request of this.#requests) {
      if (!matches(request.exchange)) continue
      request.cut(failure)
      count++
    }
    return count
  }

  end(failure: string): void {
    for (const request of this.#requests) request.abort(failure)
    this.cut()
  }

  cut(): void {
    this.socket.destroy()
  }

  closed(): void {
    clearTimeout(this.#lingering)
    clearInterval(this.#pinger)
    clearTimeout(this.#weighing)
    // Its streams are told by the runtime, in a turn of their own.
    this.#session.destroy()
  }

  sweep(now: number, { maxConnectionDuration, idleTimeout, stallTimeout }: Limits): void {
    this.#weigh()
    if (maxConnectionDuration !== undefined && now - this.opened >= maxConnectionDuration) this.finish()
    if (this.#idleSince !== undefined && now - this.#idleSince >= idleTimeout) this.finish()
    for (const request of this.#requests) request.sweep(now, idleTimeout, stallTimeout)
  }

  /**
   * Frames that mean nothing (priorities, windows that open by a byte, kinds that nobody knows) are told of by nobody, and cost
   * no memory. What has come beyond requests, their bodies, and what is said of answers is of them.
   */
  #weigh(): void {
    let moved = this.#moved
    for (const request of this.#requests) moved += request.moved
    const { bytesRead, bytesWritten } = this.socket
    if (bytesRead === this.#weighed || this.#session.destroyed) return
    this.#weighed = bytesRead
    // Streams that the runtime has ended for the size of their fields were never told of.
    const { lastProcStreamID = 0 } = this.#session.state
    if ((lastProcStreamID + 1) / 2 > this.#seen + untold) this.#stop("header fields")
    const meant = 2 * moved + this.#begun * this.#serving.maxHeadBytes + bytesWritten
    if (bytesRead > meant + meaningless) this.#stop("meaningless frames")
  }

  /** In crumbs, a body that piles up takes many times its size: that is not left to the next sweep. */
  paused(): void {
    if (this.#weighing !== undefined || this.#session.destroyed) return
    const weigh = contained(this, () => {
      this.#weighing = undefined
      this.#weigh()
      for (const { stream } of this.#requests) if (stream.isPaused()) return this.paused()
    })
    this.#weighing = setTimeout(weigh, soon).unref()
  }

  /** Pings, where they are wanted: a client that is gone without a word is noticed. */
  #keepAlive({ http2: { pingInterval, pingTimeout } }: Limits): NodeJS.Timeout | undefined {
    if (pingInterval === undefined) return undefined
    let late: NodeJS.Timeout | undefined
    const answered = contained(this, () => {
      clearTimeout(late)
      late = undefined
    })
    const tooLate = contained(this, () => this.end("the client does not answer pings"))
    const ping = contained(this, () => {
      const session = this.#session
      if (late !== undefined || session.destroyed || session.closed) return
      late = setTimeout(tooLate, pingTimeout).unref()
      session.ping(answered)
    })
    return setInterval(ping, pingInterval).unref()
  }
}

/**
 * A client can end its session by a GOAWAY with the code `CANCEL`. The runtime then resets all streams within the frame, where it
 * puts such resets off; what it goes on to read of a stream that awaits trailers and is destroyed by then ends the whole process
 * (node 26.10, `Http2Stream::OnTrailers`). In a turn of its own it resets them at once.
 */
const endingLater = (session: ServerHttp2Session, container: Container): void => {
  const destroy = session.destroy.bind(session)
  session.destroy = (...given) => {
    const end = contained(container, () => destroy(...given))
    setImmediate(end)
  }
}

const destroy = (socket: Socket): void => {
  socket.destroy()
}
