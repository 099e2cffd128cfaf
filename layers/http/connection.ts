/**
 * One client connection: takes its requests one after the other, frames each, and hands it to the engine. Requests that
 * a client pipelines wait their turn, because only safe ones could be served side by side (RFC 9112 9.3.2).
 */
import type { Socket } from "node:net"
import { type Effect, Exit } from "effect"
import type { Body } from "../../src/http/body.ts"
import { type Framed, frameRequest, type Malformed, tunnelsAlone } from "../../src/http/framing.ts"
import type { RequestHead, Scheme } from "../../src/http/message.ts"
import { Exchange } from "../../src/pipeline/exchange.ts"
import type { Peer } from "../../src/pipeline/view.ts"
import { contained, ignore } from "../../src/services/contained.ts"
import type { Secured } from "../tls/secured.ts"
import { queuedBytes } from "../tls/transport.ts"
import { ActiveRequest, type Host } from "./active-request.ts"
import type { Beginning } from "./beginnings.ts"
import {
  type ClientConnection,
  type Clocks,
  endUnlessAdmitted,
  type Limits,
  type Serving
} from "./client-connection.ts"
import { retryAfter } from "./overload.ts"
import { closeGently, parserRefusal, type Refusal, refusalText, refuse, reset } from "./refusal.ts"
import { type Incoming, RequestBody } from "./request-body.ts"
import { preface, type RequestFault, type RequestLines, RequestParser } from "./request-parser.ts"
import { statusLine } from "./response-head.ts"
import { lasting, readAlone, readShared } from "./shared-reads.ts"
import { Tunnel } from "./tunnel.ts"

/** Why a connection takes no further request: what its client sent is none, or ended within one. */
type Broken = RequestFault | "end within a request"

export class Connection implements ClientConnection, Host, Incoming, Beginning {
  readonly socket: Socket
  readonly peer: Peer
  readonly scheme: Scheme
  /** When it was made, on the monotonic clock. */
  readonly opened: number
  readonly secured: Secured | undefined
  /** For whichever request is being answered. A closure for each of them would not die young, and cost collections. */
  readonly flushed: (error?: unknown) => void
  readonly #serving: Serving
  readonly #parser: RequestParser
  readonly #reading: (bytes: Buffer) => void
  #active: ActiveRequest | undefined = undefined
  /** A body that is not whole yet: that of the active request, or what is left of one that nobody wanted. */
  #upload: RequestBody | undefined = undefined
  /** Until when the rest of a body may come that nobody wants, and how much of it. */
  #dropping: NodeJS.Timeout | undefined = undefined
  #droppable = 0
  /** The next request, of which the head has come. */
  #waiting: RequestLines | undefined = undefined
  /** What came behind it, or behind a request that changes the protocol. */
  #rest: Buffer | undefined = undefined
  #tunnel: Tunnel | undefined = undefined
  #paused: boolean
  /** What had been written before: the answer to the CONNECT request of a tunnel. */
  readonly #writtenBefore: number
  /** Whether it was tried to read into the buffer that all connections share. */
  #sharing = false
  /** Nobody has said yet whether the client may be here. */
  #undecided = false
  /** When it last became idle; `undefined` while a request is under way. */
  #idleSince: number | undefined
  /** When the sweep first saw that a head had begun. */
  #headSince: number | undefined = undefined
  /** What had passed in both directions at the last sweep that found somebody waiting for the client, and since when no more did. */
  #moved: number | undefined = undefined
  #stillSince = 0
  /** The request under way is the last one. */
  #closing = false
  /** What the client sends from here on is no request. */
  #sealed = false
  /** Its socket is somebody else's. */
  #left = false
  /** What the parser choked on while an earlier request was still being answered. */
  #broken: Broken | undefined = undefined

  /** @param secured what is known by its TLS handshake. */
  constructor(serving: Serving, socket: Socket, peer: Peer, secured: Secured | undefined) {
    this.#serving = serving
    this.socket = socket
    this.secured = secured
    this.scheme = secured === undefined ? "http" : "https"
    this.#parser = new RequestParser(serving.maxHeadBytes)
    this.peer = peer
    // Out of a tunnel it comes as it was left there.
    this.#paused = socket.isPaused()
    this.#writtenBefore = peer.tunnel === undefined ? 0 : socket.bytesWritten
    this.flushed = contained(this, (error?: unknown) => {
      // What was cut off has not left: `close` follows, and tells.
      if (error === undefined || error === null) this.#active?.flushed()
    })
    this.opened = this.#idleSince = serving.clocks.monotonic()
    const received = contained(this, (bytes: Buffer) => this.#received(bytes))
    this.#reading = received
    const ended = contained(this, () => this.#ended())
    const drained = contained(this, () => this.#active?.drained())
    // The reason of an error is always the same: the connection is gone, and `close` follows.
    socket.on("data", received).on("end", ended).on("drain", drained).on("error", ignore)
  }

  /** Asks whether the client may be here, where anybody decides about it; until that is known nothing is read of it. */
  begin(): void {
    try {
      const decision = this.#serving.admit(this.peer)
      if (decision === undefined) this.#stay()
      else this.#admitted(decision)
    } catch (cause) {
      // Who was not let in is out.
      this.contain(cause)
    }
  }

  #admitted(decision: Effect.Effect<boolean>): void {
    if (Exit.isExit(decision)) {
      this.#decided(decision as Exit.Exit<boolean>)
      return
    }
    this.#undecided = true
    this.#flow()
    const { socket } = this
    const fiber = this.run(decision)
    const gone = contained(this, () => fiber.interruptUnsafe())
    socket.on("close", gone)
    const decided = contained(this, (exit: Exit.Exit<boolean>) => {
      socket.off("close", gone)
      this.#decided(exit)
    })
    fiber.addObserver(decided)
  }

  readmitted(decision: Effect.Effect<boolean>, failure: string): void {
    endUnlessAdmitted(this, decision, failure)
  }

  #decided(exit: Exit.Exit<boolean>): void {
    this.#undecided = false
    if (Exit.isSuccess(exit) && exit.value) this.#stay()
    else this.socket.destroy()
  }

  /** Its client may be here. */
  #stay(): void {
    if (this.secured?.protocol === "h2") this.#handOver(nothing)
    else this.#flow()
  }

  get run(): Serving["run"] {
    return this.#serving.run
  }

  get defect(): Serving["defect"] {
    return this.#serving.defect
  }

  get wall(): Clocks["wall"] {
    return this.#serving.clocks.wall
  }

  /** A callback threw: whatever it has left undone, nobody will wait for it. */
  contain(cause: unknown): void {
    this.cut()
    this.#serving.defect(cause)
  }

  /** What was asked before the end of requests is answered first. */
  get closing(): boolean {
    return this.#closing || this.#serving.draining || (this.#sealed && this.#waiting === undefined)
  }

  get idle(): boolean {
    return this.#idleSince !== undefined
  }

  /** The answers to come say that they are the last. */
  retire(): void {}

  finish(): void {
    if (this.idle) this.socket.destroy()
  }

  // What the socket tells.

  /** @param bytes that may be others after this call. */
  #received(bytes: Buffer): void {
    if (this.#tunnel !== undefined) this.#tunnel.received(lasting(bytes))
    else if (this.#rest !== undefined) this.#keep(Buffer.concat([this.#rest, bytes]))
    else this.#read(bytes, 0, true)
  }

  /** Reads requests. @param mayBegin one alone in a turn: whoever pipelines many shares the loop with the others. */
  #read(bytes: Buffer, from: number, mayBegin: boolean): void {
    const parser = this.#parser
    let first = mayBegin
    let at = from
    while (at < bytes.length && !(this.#sealed && this.#upload === undefined)) {
      if (this.#waiting !== undefined) {
        this.#keep(bytes.subarray(at))
        return
      }
      const fault = parser.feed(bytes, at, bytes.length)
      at = parser.consumed
      if (fault !== undefined) {
        this.#breakOff(fault)
        return
      }
      const { head } = parser
      if (head === undefined) this.#take()
      else if (this.#idleSince === undefined) this.#waiting = head
      else if (first && this.#serving.overload.begin(this)) {
        first = false
        at = this.#accept(head, bytes, at, true)
      } else {
        if (!first) this.#serving.overload.enqueue(this)
        this.#idleSince = undefined
        this.#waiting = head
      }
    }
    if (at === bytes.length) return
    if (this.#tunnel !== undefined) this.#tunnel.received(lasting(bytes.subarray(at)))
    // It changes the protocol, if it is let.
    else if (this.#active?.leavesHttp === true) this.#keep(bytes.subarray(at))
  }

  /** Some of a body has come. */
  #take(): void {
    const { body, ended, trailers } = this.#parser
    this.#parser.letGo()
    const upload = this.#upload
    if (this.#dropping !== undefined) {
      this.#droppable -= body?.length ?? 0
      if (this.#droppable < 0) this.socket.destroy()
    }
    if (ended) {
      this.#upload = undefined
      this.#stopDropping()
    }
    if (body !== undefined) upload?.take(body)
    if (ended) upload?.end(trailers)
    this.#flow()
  }

  /** The rest of a long pipeline stays in the socket. */
  #keep(bytes: Buffer): void {
    this.#rest = lasting(bytes)
    this.#flow()
  }

  /** Reads from the socket as long as there is room for what comes. */
  #flow(): void {
    const paused = this.#undecided || this.#rest !== undefined || this.#upload?.full === true
    if (paused === this.#paused) return
    this.#paused = paused
    if (paused) this.socket.pause()
    else this.socket.resume()
  }

  #ended(): void {
    if (this.#left) return
    if (this.#tunnel !== undefined) {
      this.#tunnel.ended()
      return
    }
    if (this.#parser.begun && !this.#sealed) this.#breakOff("end within a request")
    this.#active?.depart()
    // Nobody half closes a connection of requests: whoever does so is about to be gone.
    this.socket.end()
  }

  /** The socket is closed. */
  closed(): void {
    clearTimeout(this.#dropping)
    this.#waiting = this.#rest = undefined
    this.#active?.abort("the client went away")
    this.#tunnel?.closed()
  }

  // Requests.

  /**
   * Begins a request whose head is complete, and reads what has come of its body. Says up to where.
   * @param admitted whether there is time for it.
   */
  #accept(head: RequestLines, bytes: Buffer, at: number, admitted: boolean): number {
    // It was refused already, for its slowness.
    if (!this.socket.writable) return bytes.length
    this.#idleSince = this.#headSince = undefined
    const framed = this.#frame(head)
    if (framed._tag === "Malformed") {
      if (head.version === "2" && this.#mayBeOther()) this.#handOver(Buffer.concat([http2, bytes.subarray(at)]))
      else this.#refuse(framed)
      return bytes.length
    }
    const parser = this.#parser
    parser.expect(framed.body)
    parser.letGo()
    // Whatever becomes of the wish, what comes behind it may be of another protocol.
    if (framed.upgrading) this.#sealed = true
    if (admitted && framed.head.method === "CONNECT" && this.#serving.limits().connects !== "route") {
      this.#enter(framed.head, bytes.subarray(at))
      return bytes.length
    }
    if (framed.body === undefined) {
      if (admitted) this.#begin(framed, undefined, undefined, framed.expecting)
      else this.#turnAway(framed, framed.persistent && !framed.upgrading)
      return at
    }
    const fault = at < bytes.length ? parser.feed(bytes, at, bytes.length) : undefined
    if (fault !== undefined) {
      this.#broken = fault
      this.#refuseBroken(fault)
      return bytes.length
    }
    const behind = at < bytes.length ? parser.consumed : at
    const { body, ended, trailers } = parser
    parser.letGo()
    if (!admitted) this.#turnAway(framed, framed.persistent && ended)
    else if (ended && trailers === undefined) this.#begin(framed, body ?? nothing, undefined, false)
    else {
      const upload = new RequestBody(this)
      this.#upload = upload
      if (body !== undefined) upload.take(body)
      if (ended) {
        this.#upload = undefined
        upload.end(trailers)
      }
      this.#begin(framed, upload, upload, framed.expecting && !ended)
      this.#flow()
    }
    return behind
  }

  /** Whether nothing was said yet, and TLS has not settled what is spoken. */
  #mayBeOther(): boolean {
    return this.secured === undefined && this.socket.bytesWritten === this.#writtenBefore && !this.#closing
  }

  /** Its client speaks HTTP/2: the connection goes on as a session of that. @param first what was read of it. */
  #handOver(first: Buffer): void {
    this.#leave(first)
    this.#serving.speakHttp2(this)
  }

  /** Its socket is for somebody else. @param first what was read and is theirs. */
  #leave(first: Buffer): void {
    const { socket } = this
    // The other listeners do no harm. Taken off all at once the runtime would not notice, and go on letting it flow.
    socket.off("data", this.#reading).pause()
    // Nobody lets it flow from here any more: what is put back would be lost.
    this.#undecided = this.#paused = true
    if (first.length > 0) socket.unshift(lasting(first))
  }

  /** A tunnel that ends in the proxy itself: what is in it is a connection to another of its ports. */
  #enter({ authority, headers }: RequestHead, first: Buffer): void {
    const { socket, peer } = this
    const depth = (peer.tunnel?.depth ?? 0) + 1
    if (depth > deepest) {
      this.#refuse(tooDeep)
      return
    }
    const end = this.#serving.tunnelEnd(Number(authority.slice(authority.lastIndexOf(":") + 1)))
    if (end === undefined) {
      this.#refuse(noTunnelEnd)
      return
    }
    this.#leave(first)
    this.#left = true
    readAlone(socket)
    socket.write(`${statusLine(200)}\r\n`, "latin1")
    const { tls: _, ...way } = peer
    this.#serving.tunnel(this, end, { ...way, tunnel: { to: authority, depth }, connectHeaders: headers.flat })
  }

  #frame({ method, target, version, raw }: RequestLines): Framed | Malformed {
    const { maxHeaders, paths, connects } = this.#serving.limits()
    if (raw.length > 2 * maxHeaders) return { _tag: "Malformed", status: 431, message: "too many request headers" }
    if (version === "foreign") return { _tag: "Malformed", status: 400, message: "not HTTP" }
    if (version === "other" || version === "2")
      return { _tag: "Malformed", status: 505, message: "unsupported HTTP version" }
    if (connects === "tunnels alone" && method !== "CONNECT") return tunnelsAlone
    return frameRequest(method, target, version, raw, this.scheme, paths, connects !== "deny")
  }

  /** @param expecting the client waits for `100 Continue`. */
  #begin(framed: Framed, body: Body, upload: RequestBody | undefined, expecting: boolean): void {
    const { clocks } = this.#serving
    const exchange = new Exchange(framed.head, body, this.peer, clocks.wall(), clocks.monotonic())
    if (this.secured !== undefined) this.secured.identify(exchange)
    if (this.peer.tunnel !== undefined) exchange.fact("tunnel", this.peer.tunnel.to)
    // A body would have to end before the protocol changes.
    if (framed.body === undefined) exchange.upgrade = framed.upgrade
    const active = new ActiveRequest(this, exchange, upload, framed.persistent, expecting)
    this.#active = active
    active.begin(this.#serving.handle)
  }

  /** There is more to do than can be done. @param stays whether the next request may follow on the connection. */
  #turnAway({ head }: Framed, stays: boolean): void {
    const { turnedAway, clocks } = this.#serving
    turnedAway("request", "LoopDelay")
    const { socket } = this
    if (!stays || this.closing || this.#broken !== undefined) {
      this.#refuse(overloaded)
      return
    }
    socket.write(refusalText(overloaded, clocks.wall(), "keep-alive", head.method !== "HEAD"), "latin1")
    // One that does not take it would have the next ones pile up.
    if (socket.writableLength > 0) {
      this.#seal()
      closeGently(socket)
    }
    this.#idleSince = clocks.monotonic()
  }

  /** Says why, behind the responses that were given, and closes. */
  #refuse(refusal: Refusal): void {
    this.#closing = true
    this.#idleSince = this.#headSince = undefined
    this.#seal()
    refuse(this.socket, refusal, this.#serving.clocks.wall())
  }

  /** What comes from here on is dropped. */
  #seal(): void {
    this.#sealed = true
    this.#waiting = this.#rest = this.#upload = undefined
  }

  /** What the client sends cannot be understood. */
  #breakOff(broken: Broken): void {
    if (this.#broken !== undefined || this.socket.destroyed) return
    this.#broken = broken
    const active = this.#active
    const sealed = this.#sealed
    this.#sealed = true
    if (active === undefined) {
      if (sealed) return
      // The rest of a request that was answered: there is no more to say.
      if (this.#upload !== undefined) {
        this.#seal()
        closeGently(this.socket)
      } else this.#refuseBroken(broken)
    } else if (active.uploading) {
      // What was read of its body must not pass for the whole.
      if (active.responding) this.cut()
      else active.abort(broken === "end within a request" ? "the client went away" : "malformed request body")
    }
    // Else the request that is being answered is whole: it gets its answer first.
  }

  #refuseBroken(broken: Broken): void {
    this.#refuse(parserRefusal(broken))
  }

  /** The body of a request is wanted: a client that waits to be asked for it is asked. */
  wanted(): void {
    this.#active?.wanted()
  }

  released(): void {
    this.#flow()
  }

  over(active: ActiveRequest): void {
    if (this.#active !== active) return
    this.#active = undefined
    const { socket } = this
    if (active.uploading) this.#dropRest()
    if (active.closes) {
      this.#seal()
      closeGently(socket)
    } else if (this.#broken !== undefined) this.#refuseBroken(this.#broken)
    else if (this.#waiting !== undefined) this.#serving.overload.enqueue(this)
    else if (this.#serving.ending) {
      // Its answer began before the end, and could not say that it is the last.
      this.#seal()
      closeGently(socket)
    } else {
      this.#idleSince = this.#serving.clocks.monotonic()
      if (!this.#sharing) this.#share()
    }
    this.#flow()
  }

  /** It has served a request, and may serve many more. What TLS reads lies in memory of its own anyway. */
  #share(): void {
    const { socket } = this
    // What was read and not taken yet comes first.
    if (this.#paused || socket.readableLength > 0) return
    this.#sharing = true
    if (this.secured === undefined)
      readShared(
        socket,
        contained(this, (bytes: Buffer) => this.#received(bytes))
      )
  }

  /** The next request may begin, or is to be turned away. */
  begins(admitted: boolean): void {
    const head = this.#waiting
    // The last response may have said that it was the last.
    if (head === undefined || !this.socket.writable) return
    const rest = this.#rest ?? nothing
    this.#waiting = this.#rest = undefined
    const at = this.#accept(head, rest, 0, admitted)
    this.#read(rest, at, false)
    this.#flow()
  }

  /** Reads what is left of a body that nobody wanted, within bounds: the response may be unread on the other side. */
  #dropRest(): void {
    if (this.socket.destroyed) return
    this.#droppable = droppedAtMost
    this.#dropping = setTimeout(destroy, droppingTime, this.socket).unref()
  }

  #stopDropping(): void {
    clearTimeout(this.#dropping)
    this.#dropping = undefined
  }

  /** Leaves HTTP: what the client sends from here on, and what it has sent behind its request. */
  leave(): Tunnel {
    this.#tunnel = new Tunnel(this.socket, this.#rest ?? nothing, "client", this)
    this.#rest = undefined
    return this.#tunnel
  }

  /** Closes it at once. What was sent of an answer does not pass for the whole. */
  cut(): void {
    if (this.#active?.looksWhole === true) reset(this.socket)
    else this.socket.destroy()
  }

  end(failure: string): void {
    const active = this.#active
    if (active === undefined) this.cut()
    else active.cut(failure)
  }

  /** The request that is under way, and the connection with it. */
  cutRequests(matches: (exchange: Pick<Exchange, "settings">) => boolean, failure: string): number {
    const active = this.#active
    if (active === undefined || !matches(active.exchange)) return 0
    active.cut(failure)
    return 1
  }

  sweep(now: number, limits: Limits): void {
    const { maxConnectionDuration, idleTimeout, headTimeout, stallTimeout } = limits
    if (maxConnectionDuration !== undefined && now - this.opened >= maxConnectionDuration) {
      this.#closing = true
      if (this.idle) this.socket.destroy()
    }
    if (this.#idleSince === undefined) this.#sweepActive(now, idleTimeout, stallTimeout)
    else if (this.#parser.begun && this.#upload === undefined) {
      this.#headSince ??= now
      if (now - this.#headSince >= headTimeout && !this.#closing) this.#refuse(requestTimeout)
    } else if (now - this.#idleSince >= idleTimeout) this.socket.destroy()
  }

  /** Bodies that move, however slowly, are not cut: a limit of the whole request is a matter of policy. */
  #sweepActive(now: number, idleTimeout: number, stallTimeout: number): void {
    const { bytesRead, bytesWritten, writableLength } = this.socket
    const active = this.#active
    const awaits = active?.awaitsClient === true
    if (active === undefined || !(awaits || writableLength > 0)) {
      this.#moved = undefined
      return
    }
    // What a client sends without being asked does not show that it takes what it is sent.
    const moved = (awaits ? bytesRead : 0) + bytesWritten - writableLength - queuedBytes(this.socket)
    if (moved !== this.#moved) {
      this.#moved = moved
      this.#stillSince = now
    } else if (now - this.#stillSince >= (writableLength > 0 ? stallTimeout : idleTimeout)) active.stall()
  }
}

const nothing = Buffer.alloc(0)
const http2 = Buffer.from(preface, "latin1")

/** An upload that goes on after its answer: for how many milliseconds, and how much of it. */
const droppingTime = 1000
const droppedAtMost = 1024 * 1024

/** What is said instead of an answer where there is more to do than can be done. */
export const overloaded: Refusal = { status: 503, message: "the gateway is overloaded", retryAfter }

/** How many tunnels may be in each other. */
const deepest = 2

const tooDeep: Refusal = { status: 508, message: "too many tunnels in tunnels" }
const noTunnelEnd: Refusal = { status: 404, message: "bind not found" }

const requestTimeout: Refusal = { status: 408, message: "request timeout" }

const destroy = (socket: Socket): void => {
  socket.destroy()
}
