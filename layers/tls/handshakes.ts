/**
 * Connections on their way to being TLS: for each the client's first bytes name the listener, and what that shows and asks
 * for decides about the handshake, all within one deadline. What comes out is a socket of plain bytes, and who is behind it.
 */
import type { Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import type { PeerTls } from "../../src/pipeline/view.ts"
import { type Container, contained, ignore } from "../../src/services/contained.ts"
import type { ListenerTls, PortTls } from "../../src/services/listener-tls.ts"
import type { Bounds, TurnedAway } from "../http/overload.ts"
import { plainAddress } from "../plain-address.ts"
import { readHello } from "./client-hello.ts"
import { Secured } from "./secured.ts"
import { Terminations } from "./terminations.ts"
import { transportOf } from "./transport.ts"

/** @param source the address of the client. @param why what of the beginning of its connection failed: its own certificate, or the header of a balancer. */
export type HandshakeFailed = (source: string, detail: string, why: "handshake" | "certificate" | "header") => void

export interface HandshakeOptions {
  /** Asked for each connection, so that each gets what is newest. */
  readonly port: () => PortTls | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The handshake is over: bytes of the protocol above are next. */
  readonly secured: (socket: TLSSocket, secured: Secured) => void
  /** There is none here: it is with whoever the connection is passed on to. Nothing was taken from it. */
  readonly passed: (socket: Socket, seen: PeerTls) => void
  /** There will be none, and why: a connection is closed. Not told of clients that leave by themselves. */
  readonly failed: HandshakeFailed
  /** The address of the client. */
  readonly sourceOf: (socket: Socket) => string
  /** Asked before a handshake begins: it costs more than most requests. */
  readonly overload: Bounds
  /** Too many of them are under way, or there is too much to do altogether: a connection is closed. */
  readonly turnedAway: (cause: TurnedAway) => void
  /** A callback threw. */
  readonly defect: (cause: unknown) => void
}

export class Handshakes implements Container {
  readonly #options: HandshakeOptions
  readonly #terminations: Terminations
  /** Those that are not over. */
  readonly #pending = new Map<Socket, Pending>()
  /** Who is asked for a certificate: the runtime closes whoever has a wrong one first, and tells afterwards. */
  readonly #asked = new WeakMap<Socket, string>()

  constructor(options: HandshakeOptions) {
    this.#options = options
    this.#terminations = new Terminations(this, {
      now: options.now,
      secured: (socket) => this.#secured(socket),
      failed: (error, socket) => this.#failed(error, socket)
    })
  }

  /** A callback threw that belongs to no connection: there is nothing to close. */
  contain(cause: unknown): void {
    this.#options.defect(cause)
  }

  get size(): number {
    return this.#pending.size
  }

  /** Ends those that are not over. */
  cut(): void {
    for (const socket of this.#pending.keys()) socket.destroy()
  }

  /** A connection that nothing was read of. */
  accept(socket: Socket): void {
    const port = this.#options.port()
    if (port === undefined) {
      socket.destroy()
      return
    }
    if (this.#pending.size >= this.#options.overload.limits.maxHandshakes) this.#dropOldest()
    const late = contained(this, () => this.#fail(socket, "the handshake took too long"))
    const timer = setTimeout(late, port.handshakeTimeout).unref()
    this.#pending.set(socket, new Pending(timer))
    const container: Container = {
      contain: (cause) => {
        socket.destroy()
        this.#options.defect(cause)
      }
    }
    const ended = contained(container, () => socket.destroy())
    const readable = contained(container, () =>
      this.#read(socket, () => socket.off("readable", readable).off("end", ended))
    )
    const closed = contained(container, () => this.#over(socket))
    socket.on("readable", readable).on("end", ended).on("close", closed).on("error", ignore)
  }

  /** Whoever has begun before all others is the likeliest one never to end. */
  #dropOldest(): void {
    for (const socket of this.#pending.keys()) {
      this.#turnAway(socket, "TooManyHandshakes")
      return
    }
  }

  #turnAway(socket: Socket, cause: TurnedAway): void {
    if (this.#over(socket) !== undefined) this.#options.turnedAway(cause)
    socket.destroy()
  }

  #over(socket: Socket): Pending | undefined {
    const pending = this.#pending.get(socket)
    if (pending === undefined) return undefined
    this.#pending.delete(socket)
    clearTimeout(pending.timer)
    return pending
  }

  /** @param stop when it is known who goes on reading. */
  #read(socket: Socket, stop: () => void): void {
    const pending = this.#pending.get(socket)
    const chunk: unknown = socket.read()
    if (pending === undefined || !Buffer.isBuffer(chunk)) return
    pending.bytes = pending.bytes === undefined ? chunk : Buffer.concat([pending.bytes, chunk])
    const hello = readHello(pending.bytes)
    if (hello._tag === "Unfinished") return
    if (hello._tag === "Malformed") {
      this.#fail(socket, "it speaks no TLS")
      return
    }
    const tls = this.#options.port()?.forServerName(hello.serverName)
    if (tls === undefined) {
      this.#fail(socket, nobodyServed)
      return
    }
    if (!this.#options.overload.admits()) {
      this.#turnAway(socket, "LoopDelay")
      return
    }
    stop()
    if (tls === "passed through") {
      this.#over(socket)
      socket.unshift(pending.bytes)
      this.#options.passed(socket, { serverName: hello.serverName, clientCertificate: undefined })
      return
    }
    pending.tls = tls
    pending.serverName = hello.serverName
    const local = plainAddress(socket.localAddress ?? "")
    const server = this.#terminations.server(tls, hello.serverName, local)
    if (tls.clients !== undefined) this.#asked.set(socket, this.#options.sourceOf(socket))
    socket.unshift(pending.bytes)
    pending.bytes = undefined
    server.emit("connection", socket)
  }

  #fail(socket: Socket, detail: string): void {
    if (this.#over(socket) !== undefined) this.#options.failed(this.#options.sourceOf(socket), detail, "handshake")
    socket.destroy()
  }

  #failed({ code, message }: NodeJS.ErrnoException, socket: TLSSocket): void {
    const raw = transportOf(socket)
    if (raw === undefined) return
    const pending = this.#over(raw)
    const invalid: unknown = socket.authorizationError
    const asked = this.#asked.get(raw)
    if (typeof invalid === "string" && asked !== undefined) this.#options.failed(asked, invalid, "certificate")
    else if (pending !== undefined && code !== "ECONNRESET")
      this.#options.failed(this.#options.sourceOf(raw), code ?? message, "handshake")
    // An alert that says why may be on its way.
    raw.destroySoon()
  }

  #secured(socket: TLSSocket): void {
    const raw = transportOf(socket)
    const pending = raw && this.#over(raw)
    if (raw === undefined || pending?.tls === undefined) {
      socket.destroy()
      return
    }
    const secured = new Secured(socket, raw, pending.tls, pending.serverName)
    // What is asked of clients may be something else by now.
    const newest = this.#options.port()?.forServerName(pending.serverName)
    const now = this.#options.now()
    const isServed = newest !== undefined && newest !== "passed through"
    if (!isServed || !secured.isAdmitted(now) || !secured.isAdmittedBy(newest, now)) {
      if (isServed) this.#options.failed(this.#options.sourceOf(raw), whyInvalid(socket), "certificate")
      else this.#options.failed(this.#options.sourceOf(raw), nobodyServed, "handshake")
      socket.destroy()
      return
    }
    this.#options.secured(socket, secured)
  }
}

const nobodyServed = "nobody is served under the name that it asks for"

const whyInvalid = ({ authorizationError: why }: { readonly authorizationError: unknown }): string =>
  typeof why === "string" ? why : "it would not be let in any more"

/** One connection that is not TLS yet. */
class Pending {
  readonly timer: NodeJS.Timeout
  bytes: Buffer | undefined = undefined
  tls: ListenerTls | undefined = undefined
  serverName: string | undefined = undefined

  constructor(timer: NodeJS.Timeout) {
    this.timer = timer
  }
}
