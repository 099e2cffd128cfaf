/**
 * One client connection: takes its requests one after the other, frames each, and hands it to the engine. Requests that
 * a client pipelines wait their turn, because only safe ones could be served side by side (RFC 9112 9.3.2).
 */
import { type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { type Effect, Exit, type Fiber } from "effect"
import { isLoopback } from "../../spec/standalone/address.ts"
import type { Body } from "../../src/http/body.ts"
import { type Framed, frameRequest, type Malformed, methodNotAllowed } from "../../src/http/framing.ts"
import type { Answer, Scheme } from "../../src/http/message.ts"
import type { Paths } from "../../src/http/path.ts"
import { Exchange, type Inform } from "../../src/pipeline/exchange.ts"
import type { Peer } from "../../src/pipeline/view.ts"
import { contained, containing, ignore } from "../../src/services/contained.ts"
import type { Probes } from "../../src/services/upstreams.ts"
import type { Secured } from "../tls/secured.ts"
import { ActiveRequest, type Host } from "./active-request.ts"
import { Packets } from "./packets.ts"
import { closeGently, parserRefusal, type Refusal, refuse, reset } from "./refusal.ts"
import { RequestBody } from "./request-body.ts"

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
  /** Whether the connection of a client may stay; `undefined` where nothing decides about it. */
  readonly admit: (peer: Peer) => Effect.Effect<boolean> | undefined
  readonly run: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
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
  readonly secured: Secured | undefined
  /** For whichever request is being answered. A closure for each of them would not die young, and cost collections. */
  readonly #inform: Inform
  readonly #packets: Packets
  readonly #serving: Serving
  readonly #opened: number
  #active: ActiveRequest | undefined = undefined
  /** The last response, unless it is through: node has let go of the socket only when it has told so. */
  #last: ServerResponse | undefined = undefined
  /** A request was framed, and is not answered yet: its body may be there in a moment. */
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
  /** The request under way is the last one. */
  #closing = false
  /** What the client sends from here on is no request. */
  #sealed = false
  /** Node was told not to change the protocol for the request that it is about to hand over. */
  #declining = false
  /** What the parser choked on while an earlier request was still being answered. */
  #broken: string | undefined = undefined

  /** @param secured what is known by its TLS handshake. */
  constructor(serving: Serving, socket: Socket, secured: Secured | undefined) {
    this.#serving = serving
    this.socket = socket
    this.secured = secured
    this.scheme = secured === undefined ? "http" : "https"
    this.#packets = new Packets(socket)
    this.peer = peerOf(socket, serving.loopback, secured)
    this.#inform = (status, headers) => this.#active?.inform(status, headers)
    this.#opened = this.#idleSince = serving.clocks.monotonic()
    // Node calls it after the last response.
    socket.destroySoon = gently
  }

  /** What was decided of the connection; until that is known nothing is read of it. */
  admitted(decision: Effect.Effect<boolean>): void {
    if (Exit.isExit(decision)) {
      this.#decided(decision as Exit.Exit<boolean>)
      return
    }
    // Node has begun to read it, which takes effect in a tick, and would undo what is said before.
    process.nextTick(holdUntilDecided, this, decision)
  }

  holdUntilDecided(decision: Effect.Effect<boolean>): void {
    const { socket } = this
    if (socket.destroyed) return
    socket.pause()
    const fiber = this.run(decision)
    const gone = contained(this, () => fiber.interruptUnsafe())
    socket.on("close", gone)
    const decided = contained(this, (exit: Exit.Exit<boolean>) => {
      socket.off("close", gone)
      if (this.#decided(exit)) socket.resume()
    })
    fiber.addObserver(decided)
  }

  #decided(exit: Exit.Exit<boolean>): boolean {
    const stays = Exit.isSuccess(exit) && exit.value
    if (!stays) this.socket.destroy()
    return stays
  }

  get run(): Serving["run"] {
    return this.#serving.run
  }

  get defect(): Serving["defect"] {
    return this.#serving.defect
  }

  /** A callback threw: whatever it has left undone, nobody will wait for it. */
  contain(cause: unknown): void {
    this.cut()
    this.#serving.defect(cause)
  }

  /** What was asked before the end of requests is answered first. */
  get closing(): boolean {
    return this.#closing || this.#serving.draining || (this.#sealed && this.#waiting.length === 0)
  }

  get #busy(): boolean {
    return this.#active !== undefined || this.#beginning || this.#waiting.length > 0
  }

  get idle(): boolean {
    return this.#idleSince !== undefined
  }

  /**
   * Node is not to change the protocol for the request that comes next, though the client asks for it. Its parser stops
   * behind such a request, drops what else the packet holds, and is silent about malformed bytes that follow: so this is
   * the last one.
   */
  decline(): void {
    this.#declining = true
  }

  /** A request whose head is complete. */
  request(request: IncomingMessage, response: ServerResponse, expecting: boolean): void {
    if (this.#sealed) return
    if (this.#packets.head(request)) foreign.add(request)
    if (this.#declining) this.#sealed = true
    if (this.#idleSince === undefined) {
      // The rest of a long pipeline stays in the socket; node goes on reading after each message until we say so later.
      if (this.#waiting.push([request, response, expecting]) === 1) setImmediate(holdBack, this)
      return
    }
    this.#accept(request, response, expecting)
  }

  holdBack(): void {
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
      const upload = new RequestBody(this, request, response)
      this.#begin(request, response, framed, upload, upload)
      return
    }
    // A body that came in the same packet as its head has been parsed by then, and need not be a stream.
    this.#beginning = true
    setImmediate(beginWithBody, this, request, response, framed)
  }

  beginWithBody(request: IncomingMessage, response: ServerResponse, framed: Framed): void {
    this.#beginning = false
    if (this.socket.destroyed) return
    if (this.#broken !== undefined && !request.complete) {
      this.refuseBroken()
      return
    }
    const [body, upload] = received(this, request)
    this.#begin(request, response, framed, body, upload)
  }

  #frame(request: IncomingMessage): Framed | Malformed {
    const { maxHeaders, paths } = this.#serving.limits()
    if (request.rawHeaders.length > 2 * maxHeaders)
      return { _tag: "Malformed", status: 431, message: "too many request headers" }
    const version = request.httpVersion
    if (foreign.has(request)) return { _tag: "Malformed", status: 400, message: "not HTTP" }
    if (version !== "1.1" && version !== "1.0")
      return { _tag: "Malformed", status: 505, message: "unsupported HTTP version" }
    return frameRequest(request.method!, request.url!, version, request.rawHeaders, this.scheme, paths)
  }

  #begin(
    request: IncomingMessage,
    response: ServerResponse,
    framed: Framed,
    body: Body,
    upload: RequestBody | undefined
  ): void {
    const active = new ActiveRequest(this, request, response, this.#exchange(framed, body), upload, undefined)
    this.#active = active
    active.begin(this.#serving.handle)
  }

  #exchange(framed: Framed, body: Body): Exchange {
    const { clocks } = this.#serving
    const exchange = new Exchange(framed.head, body, this.peer, clocks.wall(), clocks.monotonic())
    exchange.inform = this.#inform
    if (this.secured !== undefined) this.secured.identify(exchange)
    return exchange
  }

  /** Says why, in the order of the responses, and closes. */
  #refuse(request: IncomingMessage, response: ServerResponse, { status, message, allow }: Refusal): void {
    this.#closing = this.#sealed = true
    const lines = ["content-type", "text/plain", "content-length", String(message.length)]
    if (allow !== undefined) lines.push("allow", allow)
    lines.push("connection", "close")
    response.writeHead(status, lines)
    response.end(message)
    request.resume()
  }

  /** Says why where node has no response for it, behind the responses that were given, and closes. */
  #lastWord(refusal: Refusal): void {
    this.#closing = this.#sealed = true
    this.#idleSince = this.#headSince = undefined
    this.#whenThrough(() => refuse(this.socket, refusal, this.#serving.clocks.wall()))
  }

  /** Node holds the socket for a response until it has told that this one is through. */
  #whenThrough(act: () => void): void {
    this.#letGo()
    if (this.#last === undefined) act()
    else this.#last.once("close", contained(this, act))
  }

  /** Forgets the last response if it is through: the head of its request would stay in memory as long as the client is idle. */
  #letGo(): void {
    const last = this.#last
    if (last !== undefined && last.socket === null && last.writableLength === 0) this.#last = undefined
  }

  /** The client asks to change the protocol: the socket is ours from here on, parser and all. */
  upgrade(request: IncomingMessage, head: Uint8Array): void {
    if (!this.#leaveNode()) return
    const framed = this.#frame(request)
    if (framed._tag === "Malformed") {
      this.#lastWord(framed)
      return
    }
    this.#closing = this.#sealed = true
    this.#idleSince = this.#headSince = undefined
    this.#whenThrough(() => this.#beginUpgrade(request, framed, head))
  }

  #beginUpgrade(request: IncomingMessage, framed: Framed, head: Uint8Array): void {
    const { socket } = this
    // The response before it may have been the last one.
    if (!socket.writable) return
    const response = new ServerResponse(request)
    response.assignSocket(socket)
    // Node does this for responses that it made itself.
    socket.on(
      "drain",
      contained(this, () => response.emit("drain"))
    )
    response.on(
      "finish",
      contained(this, () => {
        response.detachSocket(socket)
        closeGently(socket)
      })
    )
    const exchange = this.#exchange(framed, undefined)
    exchange.upgrade = framed.upgrade
    this.#active = new ActiveRequest(this, request, response, exchange, undefined, { socket, head })
    this.#active.begin(this.#serving.handle)
  }

  /** CONNECT makes a tunnel, which a gateway does not offer. */
  connect(request: IncomingMessage): void {
    if (!this.#leaveNode()) return
    const framed = this.#frame(request)
    this.#lastWord(framed._tag === "Malformed" ? framed : methodNotAllowed)
  }

  /** Node has let go of the socket. Returns whether it is free for something new. */
  #leaveNode(): boolean {
    this.socket.on("error", ignore)
    // Node does not tell responses any more when the socket drains, and nobody pipelines such a request.
    if (this.#busy) this.socket.destroy()
    return !this.#sealed && !this.#busy && this.socket.writable
  }

  /** The parser does not understand what the client sends. */
  broken(code: string | undefined): void {
    const active = this.#active
    if (this.#broken !== undefined || this.socket.destroyed) return
    this.#broken = code ?? "unknown"
    const sealed = this.#sealed
    this.#sealed = true
    if (!this.#busy) {
      if (code === "ECONNRESET" || code === "EPIPE") this.socket.destroy()
      else if (!sealed) this.refuseBroken()
    } else if (active !== undefined && !active.request.complete) {
      // Its own body: what was read of it must not pass for the whole.
      if (active.responding) this.cut()
      else active.abort(code === "HPE_INVALID_EOF_STATE" ? "the client went away" : "malformed request body")
    }
    // Else the request that is being answered is whole: it gets its answer first.
  }

  refuseBroken(): void {
    const refusal = parserRefusal(this.#broken)
    const last = this.#last
    // It broke within the body of the last request: that one gets no other answer.
    if (last !== undefined && !last.headersSent) this.#refuse(last.req, last, refusal)
    else this.#lastWord(refusal)
  }

  over(active: ActiveRequest): void {
    if (this.#active !== active) return
    this.#active = undefined
    if (active.uploading) this.#dropRest(active.request)
    if (this.#waiting.length > 0) setImmediate(next, this)
    else if (this.#broken !== undefined) setImmediate(refuseBroken, this)
    else {
      this.#idleSince = this.#serving.clocks.monotonic()
      this.#idleFrom = this.socket.bytesRead
    }
  }

  next(): void {
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
    const timer = setTimeout(destroy, droppingTime, socket).unref()
    const stop = contained(this, () => {
      clearTimeout(timer)
      // What comes from here on belongs to the next request.
      this.#idleFrom = socket.bytesRead
      this.#headSince = undefined
    })
    request.on(
      "data",
      contained(this, (chunk: Uint8Array) => {
        dropped += chunk.length
        if (dropped > droppedAtMost) socket.destroy()
      })
    )
    request.on("end", stop).on("close", stop).on("error", ignore)
    request.resume()
  }

  /** Closes it at once. What was sent of an answer does not pass for the whole. */
  cut(): void {
    if (this.#active?.looksWhole === true) reset(this.socket)
    else this.socket.destroy()
  }

  /** Ends it with whatever is under way; `failure` says why in what is recorded. */
  end(failure: string): void {
    const active = this.#active
    if (active === undefined) this.cut()
    else active.cut(failure)
  }

  /** Cuts the request that is under way, and the connection with it, if it matches. */
  cutRequest(matches: (exchange: Exchange) => boolean, failure: string): boolean {
    const active = this.#active
    if (active === undefined || !matches(active.exchange)) return false
    active.cut(failure)
    return true
  }

  /** The socket is closed. */
  closed(): void {
    this.#waiting.length = 0
    this.#active?.abort("the client went away")
  }

  /** Closes it when it has been idle, or open, for too long, or when its client keeps others waiting. */
  sweep(now: number, limits: Limits): void {
    const { maxConnectionDuration, idleTimeout, headTimeout } = limits
    if (maxConnectionDuration !== undefined && now - this.#opened >= maxConnectionDuration) {
      this.#closing = true
      if (this.idle) this.socket.destroy()
    }
    if (this.#idleSince === undefined) {
      this.#sweepActive(now, idleTimeout)
      return
    }
    this.#letGo()
    if (this.socket.bytesRead > this.#idleFrom) {
      this.#headSince ??= now
      if (now - this.#headSince >= headTimeout && !this.#closing) this.#lastWord(requestTimeout)
    } else if (now - this.#idleSince >= idleTimeout) this.socket.destroy()
  }

  /** Bodies that move, however slowly, are not cut: a limit of the whole request is a matter of policy. */
  #sweepActive(now: number, idleTimeout: number): void {
    const { bytesRead, bytesWritten, writableLength } = this.socket
    const active = this.#active
    const awaits = active?.awaitsClient === true
    if (active === undefined || !(awaits || writableLength > 0)) {
      this.#moved = undefined
      return
    }
    // What a client sends without being asked does not show that it takes what it is sent.
    const moved = (awaits ? bytesRead : 0) + bytesWritten - writableLength
    if (moved !== this.#moved) {
      this.#moved = moved
      this.#stillSince = now
    } else if (now - this.#stillSince >= idleTimeout) active.stall()
  }
}

/** Requests of other protocols: the packets show it only when they come. */
const foreign = new WeakSet<IncomingMessage>()

/** An upload that goes on after its answer: for how many milliseconds, and how much of it. */
const droppingTime = 1000
const droppedAtMost = 1024 * 1024

const requestTimeout: Refusal = { status: 408, message: "request timeout" }

// Called with what they are for, so that none of them is made anew for each request.
const holdUntilDecided = containing((connection: Connection, decision: Effect.Effect<boolean>) =>
  connection.holdUntilDecided(decision)
)
const holdBack = containing((connection: Connection) => connection.holdBack())
const beginWithBody = containing(
  (connection: Connection, request: IncomingMessage, response: ServerResponse, framed: Framed) =>
    connection.beginWithBody(request, response, framed)
)
const next = containing((connection: Connection) => connection.next())
const refuseBroken = containing((connection: Connection) => connection.refuseBroken())
const destroy = (socket: Socket): void => {
  socket.destroy()
}
function gently(this: Socket): void {
  closeGently(this)
}

/** The body of a request: bytes when all of it has come, else a source. */
const received = (connection: Connection, request: IncomingMessage): [Body, RequestBody | undefined] => {
  if (request.complete && request.rawTrailers.length === 0) {
    const chunks: Array<Uint8Array> = []
    for (let chunk: unknown = request.read(); chunk instanceof Uint8Array; chunk = request.read()) chunks.push(chunk)
    return [chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), undefined]
  }
  const upload = new RequestBody(connection, request, undefined)
  return [upload, upload]
}

const peerOf = (socket: Socket, only: boolean, tls: Secured | undefined): Peer => {
  const address = socket.remoteAddress ?? ""
  // A dual-stack socket shows IPv4 clients in IPv6 clothes.
  const plain = address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address
  const port = socket.remotePort ?? 0
  const { localAddress, localPort = 0 } = socket
  const loopback = localAddress !== undefined && isLoopback(localAddress) ? { port: localPort, only } : undefined
  return { address: plain, port, rawAddress: plain, rawPort: port, loopback, tls }
}
