/**
 * One client connection: takes its requests one after the other, frames each, and hands it to the engine. Requests that
 * a client pipelines wait their turn, because only safe ones could be served side by side (RFC 9112 9.3.2).
 */
import { type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Effect, Fiber } from "effect"
import type { Body } from "../../src/http/body.ts"
import { type Framed, frameRequest, type Malformed } from "../../src/http/framing.ts"
import type { Answer, Scheme } from "../../src/http/message.ts"
import { Exchange, type Inform } from "../../src/pipeline/exchange.ts"
import type { Peer } from "../../src/pipeline/view.ts"
import type { Probes } from "../../src/services/upstreams.ts"
import { isLoopback } from "../admin-address.ts"
import { closeGently, parserRefusal, refuse } from "./refusal.ts"
import { RequestBody } from "./request-body.ts"
import { type Host, Turn } from "./turn.ts"

/** Where the time comes from. */
export interface Clocks {
  /** Milliseconds since 1970. */
  readonly wall: () => number
  /** Milliseconds with fractions, from a clock that never goes back. */
  readonly monotonic: () => number
}

/** How much a client may ask of one connection. */
export interface Limits {
  /** The most header lines of a request. Default 100. */
  readonly maxHeaders: number
  /**
   * Milliseconds that a connection may wait for a request, and that a body may stand still on account of the client.
   * Default 10 minutes.
   */
  readonly idleTimeout: number
  /** Milliseconds that the head of a request may take from its first byte on. Default 1 minute. */
  readonly headTimeout: number
  /** Milliseconds after which a connection is closed as soon as no request is under way. Default: never. */
  readonly maxConnectionDuration: number | undefined
  /** TCP probes of a connection that is silent. Default: none. */
  readonly probes: Probes | "none"
}

/** What all connections of a listener share. */
export interface Serving {
  readonly handle: (exchange: Exchange) => Effect.Effect<Answer>
  readonly run: (effect: Effect.Effect<Answer>) => Fiber.Fiber<Answer>
  readonly clocks: Clocks
  readonly limits: () => Limits
  readonly defect: (cause: unknown) => void
  /** Whether only this machine reaches the listener. */
  readonly loopback: boolean
  draining: boolean
}

export class Connection implements Host {
  readonly socket: Socket
  readonly peer: Peer
  readonly scheme: Scheme
  /** For whichever request is being answered. A closure for each of them would not die young, and cost collections. */
  readonly #inform: Inform
  readonly #serving: Serving
  readonly #opened: number
  #turn: Turn | undefined = undefined
  /** The last response: node has let go of the socket only when it has told that this one is through. */
  #last: ServerResponse | undefined = undefined
  /** A request was framed, and its turn has not begun: its body may be there in a moment. */
  #beginning = false
  readonly #waiting: Array<readonly [request: IncomingMessage, response: ServerResponse, expecting: boolean]> = []
  /** When it last became idle; `undefined` while a request is under way. */
  #idleSince: number | undefined
  /** What had been received by then. */
  #idleFrom = 0
  /** When the sweep first saw that a head had begun. */
  #headSince: number | undefined = undefined
  /** What had passed in both directions at the last sweep that found somebody waiting for the client, and since when no more did. */
  #moved: number | undefined = undefined
  #stillSince = 0
  #served = 0
  #closing = false
  /** What the parser choked on while an earlier request was still being answered. */
  #broken: string | undefined = undefined

  constructor(serving: Serving, socket: Socket, scheme: Scheme) {
    this.#serving = serving
    this.socket = socket
    this.scheme = scheme
    this.peer = peerOf(socket, serving.loopback)
    this.#inform = (status, headers) => this.#turn?.inform(status, headers)
    this.#opened = this.#idleSince = serving.clocks.monotonic()
  }

  get run(): Serving["run"] {
    return this.#serving.run
  }

  get defect(): Serving["defect"] {
    return this.#serving.defect
  }

  get closing(): boolean {
    return this.#closing || this.#serving.draining || this.#broken !== undefined
  }

  get idle(): boolean {
    return this.#idleSince !== undefined
  }

  /** Whether it has answered at least once. */
  get used(): boolean {
    return this.#served > 0
  }

  /** A request whose head is complete. */
  request(request: IncomingMessage, response: ServerResponse, expecting: boolean): void {
    if (this.#idleSince === undefined) {
      // The rest of a long pipeline stays in the socket; node goes on reading after each message until we say so later.
      if (this.#waiting.push([request, response, expecting]) === 1) setImmediate(() => this.#holdBack())
      return
    }
    this.#accept(request, response, expecting)
  }

  #holdBack(): void {
    if (this.#waiting.length > 0) this.socket.pause()
  }

  #accept(request: IncomingMessage, response: ServerResponse, expecting: boolean): void {
    // It was refused already, for its slowness.
    if (!this.socket.writable) return
    this.#idleSince = this.#headSince = undefined
    this.#last = response
    const framed = this.#frame(request)
    if (framed._tag === "Malformed") {
      this.#refuse(request, response, framed)
      return
    }
    if (framed.body === undefined) {
      this.#begin(request, response, framed, undefined, undefined)
      return
    }
    if (expecting) {
      const upload = new RequestBody(request, response)
      this.#begin(request, response, framed, upload, upload)
      return
    }
    // A body that came in the same packet as its head has been parsed by then, and need not be a stream.
    this.#beginning = true
    setImmediate(() => {
      this.#beginning = false
      if (this.socket.destroyed) return
      if (this.#broken !== undefined && !request.complete) {
        this.#refuseBroken()
        return
      }
      const [body, upload] = received(request)
      this.#begin(request, response, framed, body, upload)
    })
  }

  #frame(request: IncomingMessage): Framed | Malformed {
    if (request.rawHeaders.length > 2 * this.#serving.limits().maxHeaders)
      return { _tag: "Malformed", status: 431, message: "too many request headers" }
    const version = request.httpVersion
    if (version !== "1.1" && version !== "1.0")
      return { _tag: "Malformed", status: 505, message: "unsupported HTTP version" }
    return frameRequest(request.method!, request.url!, version, request.rawHeaders, this.scheme)
  }

  #begin(
    request: IncomingMessage,
    response: ServerResponse,
    framed: Framed,
    body: Body,
    upload: RequestBody | undefined
  ): void {
    const turn = new Turn(this, request, response, this.#exchange(framed, body), upload, undefined)
    this.#turn = turn
    turn.begin(this.#serving.handle)
  }

  #exchange(framed: Framed, body: Body): Exchange {
    const { clocks } = this.#serving
    const exchange = new Exchange(framed.head, body, this.peer, clocks.wall(), clocks.monotonic())
    exchange.inform = this.#inform
    return exchange
  }

  /** Says why, in the order of the responses, and closes. */
  #refuse(request: IncomingMessage, response: ServerResponse, { status, message }: Malformed): void {
    this.#closing = true
    this.socket.destroySoon = () => closeGently(this.socket)
    response.writeHead(status, [
      "content-type",
      "text/plain",
      "content-length",
      String(message.length),
      "connection",
      "close"
    ])
    response.end(message)
    request.resume()
  }

  /** The client asks to change the protocol: the socket is ours from here on, parser and all. */
  upgrade(request: IncomingMessage, socket: Socket, head: Uint8Array): void {
    socket.on("error", ignore)
    // Nobody pipelines an upgrade; the response before it could not be told from the new protocol.
    if (this.#turn !== undefined || this.#waiting.length > 0 || !socket.writable) {
      socket.destroy()
      return
    }
    const last = this.#last
    if (last !== undefined && (last.socket !== null || last.writableLength > 0)) {
      last.once("close", () => closeGently(socket))
      return
    }
    this.#idleSince = this.#headSince = undefined
    this.#closing = true
    const framed = this.#frame(request)
    if (framed._tag === "Malformed") {
      refuse(socket, framed.status, framed.message, this.#serving.clocks.wall())
      return
    }
    const response = new ServerResponse(request)
    response.assignSocket(socket)
    // Node does this for responses that it made itself.
    socket.on("drain", () => response.emit("drain"))
    response.on("finish", () => {
      response.detachSocket(socket)
      closeGently(socket)
    })
    const exchange = this.#exchange(framed, undefined)
    exchange.upgrade = framed.upgrade
    this.#turn = new Turn(this, request, response, exchange, undefined, { socket, head })
    this.#turn.begin(this.#serving.handle)
  }

  /** CONNECT makes a tunnel, which a gateway does not offer. */
  connect(request: IncomingMessage, socket: Socket): void {
    socket.on("error", ignore)
    if (this.#idleSince === undefined) {
      socket.destroy()
      return
    }
    const framed = this.#frame(request)
    const { status, message } = framed._tag === "Malformed" ? framed : { status: 405, message: "method not allowed" }
    refuse(socket, status, message, this.#serving.clocks.wall())
  }

  /** The parser does not understand what the client sends. */
  broken(code: string | undefined): void {
    const turn = this.#turn
    if (this.#broken !== undefined || this.socket.destroyed) return
    this.#broken = code ?? "unknown"
    if (turn === undefined && !this.#beginning && this.#waiting.length === 0) {
      if (code === "ECONNRESET" || code === "EPIPE" || this.#closing) this.socket.destroy()
      else this.#refuseBroken()
    } else if (turn !== undefined && !turn.request.complete) {
      // Its own body: what was read of it must not pass for the whole.
      if (turn.response.headersSent) this.socket.destroy()
      else turn.abort(code === "HPE_INVALID_EOF_STATE" ? "the client went away" : "malformed request body")
    }
    // Else the request that is being answered is whole: it gets its answer first.
  }

  #refuseBroken(): void {
    this.#closing = true
    refuse(this.socket, ...parserRefusal(this.#broken), this.#serving.clocks.wall())
  }

  over(turn: Turn): void {
    if (this.#turn !== turn) return
    this.#turn = undefined
    this.#served++
    if (this.#broken !== undefined) {
      setImmediate(() => this.#refuseBroken())
      return
    }
    if (turn.uploading) this.#dropRest(turn.request)
    if (this.#waiting.length > 0) setImmediate(() => this.#next())
    else {
      this.#idleSince = this.#serving.clocks.monotonic()
      this.#idleFrom = this.socket.bytesRead
    }
  }

  #next(): void {
    const next = this.#waiting.shift()
    // The last response may have said that it was the last.
    if (next === undefined || !this.socket.writable) return
    if (this.#waiting.length === 0) this.socket.resume()
    this.#accept(...next)
  }

  /** Reads what is left of a body that nobody wanted, within bounds: the response may be unread on the other side. */
  #dropRest(request: IncomingMessage): void {
    const socket = this.socket
    if (socket.destroyed) return
    let dropped = 0
    const timer = setTimeout(() => socket.destroy(), droppingTime).unref()
    const stop = () => {
      clearTimeout(timer)
      // What comes from here on belongs to the next request.
      this.#idleFrom = socket.bytesRead
      this.#headSince = undefined
    }
    request.on("data", (chunk: Uint8Array) => {
      dropped += chunk.length
      if (dropped > droppedAtMost) socket.destroy()
    })
    request.on("end", stop).on("close", stop).on("error", ignore)
    // If this was the last response, the connection outlives it until the client has had time to read it.
    socket.destroySoon = () => closeGently(socket)
    request.resume()
  }

  /** Cuts the request that is under way, and the connection with it, if it matches. */
  cutRequest(matches: (exchange: Exchange) => boolean, failure: string): boolean {
    const turn = this.#turn
    if (turn === undefined || !matches(turn.exchange)) return false
    turn.cut(failure)
    return true
  }

  /** The socket is closed. */
  closed(): void {
    this.#waiting.length = 0
    this.#turn?.abort("the client went away")
  }

  /** Closes it when it has been idle, or open, for too long, or when its client keeps others waiting. */
  sweep(now: number, limits: Limits): void {
    const { maxConnectionDuration, idleTimeout, headTimeout } = limits
    if (maxConnectionDuration !== undefined && now - this.#opened >= maxConnectionDuration) {
      this.#closing = true
      if (this.idle) this.socket.destroy()
    }
    if (this.#idleSince === undefined) this.#sweepTurn(now, idleTimeout)
    else if (this.socket.bytesRead > this.#idleFrom) {
      this.#headSince ??= now
      if (now - this.#headSince >= headTimeout && !this.#closing) this.#refuseSlow()
    } else if (now - this.#idleSince >= idleTimeout) this.socket.destroy()
  }

  #refuseSlow(): void {
    this.#closing = true
    refuse(this.socket, 408, "request timeout", this.#serving.clocks.wall())
  }

  /** Bodies that move, however slowly, are not cut: a limit of the whole request is a matter of policy. */
  #sweepTurn(now: number, idleTimeout: number): void {
    const { bytesRead, bytesWritten, writableLength } = this.socket
    const turn = this.#turn
    if (turn === undefined || !(turn.awaitsClient || writableLength > 0)) {
      this.#moved = undefined
      return
    }
    const moved = bytesRead + bytesWritten - writableLength
    if (moved !== this.#moved) {
      this.#moved = moved
      this.#stillSince = now
    } else if (now - this.#stillSince >= idleTimeout) turn.stall()
  }
}

/** An upload that goes on after its answer: for how many milliseconds, and how much of it. */
const droppingTime = 1000
const droppedAtMost = 1024 * 1024

const ignore = () => {}

/** The body of a request: bytes when all of it has come, else a source. */
const received = (request: IncomingMessage): [Body, RequestBody | undefined] => {
  if (request.complete && request.rawTrailers.length === 0) {
    const chunks: Array<Uint8Array> = []
    for (let chunk: unknown = request.read(); chunk instanceof Uint8Array; chunk = request.read()) chunks.push(chunk)
    return [chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), undefined]
  }
  const upload = new RequestBody(request, undefined)
  return [upload, upload]
}

const peerOf = (socket: Socket, only: boolean): Peer => {
  const address = socket.remoteAddress ?? ""
  // A dual-stack socket shows IPv4 clients in IPv6 clothes.
  const plain = address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address
  const port = socket.remotePort ?? 0
  const { localAddress, localPort = 0 } = socket
  const loopback = localAddress !== undefined && isLoopback(localAddress) ? { port: localPort, only } : undefined
  return { address: plain, port, rawAddress: plain, rawPort: port, loopback }
}
