/**
 * One connection to a backend that speaks HTTP/2: how many streams it takes, whether it still takes new ones, and whether its peer is
 * there. It stands once the peer has told its settings: nothing was sent to whoever speaks something else.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, type ClientSessionRequestOptions, connect } from "node:http2"
import type { Socket } from "node:net"
import { type Container, contained } from "../../../src/services/contained.ts"
import type { Later } from "../../../src/services/timer.ts"
import { ConnectionClosed, ConnectionSilent, NotHttp2 } from "../../http/client/failures.ts"
import { Stream } from "./stream.ts"
import { firstWindow, Inflow, mostOfSession, Windows } from "./windows.ts"

/** Where a session belongs. None of these may throw. */
export interface SessionHome {
  readonly later: Later
  readonly now: () => number
  /** The peer has told its settings, for the first time or anew: it may take more. */
  readonly ready: (session: Session) => void
  /** A stream of it has ended. */
  readonly released: (session: Session) => void
  /** It takes nothing new any more, and goes when its streams have ended. */
  readonly leaving: (session: Session) => void
  /** It is gone. Told once. */
  readonly lost: (session: Session) => void
  /** Told of what went wrong where there is no call. */
  readonly defect: (cause: unknown) => void
}

/** Streams at a time, whatever the peer would take: beyond that another connection serves them better. */
export const mostStreams = 100

/** Heads as large as those of HTTP/1.1. */
const limits = { bytes: 65_536, lines: 1_000 }

/** Megabytes that the runtime may use for one session: what is held of bodies, in both directions, and frames. */
const mostMemory = 64

/** Milliseconds of silence, while streams are open, after which the peer is asked whether it is there, and for an answer. */
const silence = 20_000
const answerTime = 10_000
/** Milliseconds until a peer that still says nothing else is asked again: servers of gRPC end who asks more often than every five minutes. */
const again = 310_000

export class Session implements Container {
  readonly #home: SessionHome
  readonly #socket: Socket
  readonly #http2: ClientHttp2Session
  readonly #windows: Windows
  readonly #streams = new Map<Stream, Inflow>()
  readonly address: string
  /** Whether it has served a call. */
  served = false
  /** Since when no stream is open, of the clock of its home. */
  rests = 0
  /** When it takes no more calls. */
  retires = Number.POSITIVE_INFINITY
  /** Why it failed, where it did. */
  failure: Error | undefined = undefined
  /** The connection is closed. */
  gone = false
  /** The peer has told its settings. */
  stands = false
  #leaving = false
  #lost = false
  #most = mostStreams
  /** When something came last. */
  #heard: number
  #stopWatching: (() => void) | undefined = undefined

  /** @param socket that stands and that nobody has read from. @param scheme in which the peer is spoken to. */
  constructor(home: SessionHome, socket: Socket, address: string, scheme: "http" | "https") {
    this.#home = home
    this.#socket = socket
    this.address = address
    this.#heard = home.now()
    const broken = contained(this, (error: Error) => {
      this.failure ??= error
    })
    // Before the runtime's own: whoever is told by it asks for these.
    socket
      .on("error", broken)
      .on(
        "close",
        contained(this, () => {
          this.gone = true
        })
      )
      .on(
        "end",
        contained(this, () => this.#ended())
      )
    const options = {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: firstWindow, maxHeaderListSize: limits.bytes },
      maxHeaderListPairs: limits.lines,
      maxReservedRemoteStreams: 0,
      maxSessionMemory: mostMemory,
      // What a request says twice is for its backend to judge.
      strictSingleValueFields: false
    }
    // Whoever had it before, such as the way through a proxy, may have stopped reading, and nobody below goes on by itself.
    socket.read(0)
    this.#http2 = connect(`${scheme}://backend`, options)
    this.#http2
      .on(
        "connect",
        contained(this, () => this.#http2.setLocalWindowSize(mostOfSession))
      )
      .on(
        "remoteSettings",
        contained(this, ({ maxConcurrentStreams }: { readonly maxConcurrentStreams?: number }) =>
          this.#settled(maxConcurrentStreams)
        )
      )
      .on(
        "goaway",
        contained(this, (_code: number, last: number) => this.#told(last))
      )
      .on(
        "error",
        contained(this, (error: Error) => {
          this.failure ??= error
        })
      )
      .on(
        "close",
        contained(this, () => this.#closed())
      )
    this.#windows = new Windows({
      ping: (answered) => this.#ping(answered),
      resize: (initialWindowSize) => {
        if (!this.#http2.destroyed && !this.#http2.closed) this.#http2.settings({ initialWindowSize })
      }
    })
  }

  /** How many streams are open. */
  get open(): number {
    return this.#streams.size
  }

  /** How many streams it takes at a time. */
  get most(): number {
    return this.#most
  }

  /** Whether it takes another stream. */
  get hasRoom(): boolean {
    return this.isUsable && this.open < this.#most
  }

  /** Whether it takes streams at all. */
  get isUsable(): boolean {
    return this.stands && !this.#leaving && !this.#lost && this.retires > this.#home.now()
  }

  /** A stream for a call. */
  stream(): Stream {
    const stream = new Stream(this)
    this.#streams.set(stream, new Inflow())
    if (this.open === 1) this.#wake()
    this.#windows.opened(this.open)
    return stream
  }

  /** No new streams; it ends with its last one. */
  leave(): void {
    if (this.#leaving) return
    this.#leaving = true
    this.#home.leaving(this)
    if (this.open === 0) this.#finish()
  }

  /** Ends it with everything that it carries. */
  destroy(error?: Error): void {
    this.#leaving = true
    if (error !== undefined) this.failure ??= error
    this.#http2.destroy()
    this.#socket.destroy()
    this.#closed()
  }

  // What streams ask for and tell.

  request(
    fields: Parameters<ClientHttp2Session["request"]>[0],
    options: ClientSessionRequestOptions
  ): ClientHttp2Stream {
    return this.#http2.request(fields, options)
  }

  get later(): Later {
    return this.#home.later
  }

  received(stream: Stream, bytes: number): void {
    this.#heard = this.#home.now()
    const inflow = this.#streams.get(stream)
    if (inflow !== undefined) this.#windows.received(inflow, bytes)
  }

  released(stream: Stream): void {
    if (!this.#streams.delete(stream)) return
    this.served = true
    this.#heard = this.#home.now()
    this.#windows.closed(this.open)
    if (this.open === 0) this.#rest()
    if (this.open === 0 && (this.#leaving || this.retires <= this.#home.now())) this.#finish()
    else this.#home.released(this)
  }

  contain(cause: unknown): void {
    this.#home.defect(cause)
    this.destroy()
  }

  // What the connection tells.

  #settled(most: number | undefined): void {
    this.#heard = this.#home.now()
    this.#most = Math.min(mostStreams, most ?? mostStreams)
    this.stands = true
    this.#home.ready(this)
  }

  /** The peer goes, and has looked at no stream above the last one that it names. */
  #told(last: number): void {
    for (const stream of this.#streams.keys())
      if ((stream.id ?? Number.POSITIVE_INFINITY) > last) stream.unprocessed = true
    this.leave()
  }

  /** The peer sends no more. What has come whole goes on to be read. */
  #ended(): void {
    this.#leaving = true
    this.failure ??= new ConnectionClosed()
    for (const stream of [...this.#streams.keys()]) stream.cut()
    this.#finish()
  }

  #closed(): void {
    if (this.#lost) return
    this.#lost = true
    this.#leaving = true
    this.#stopWatching?.()
    if (!this.stands && (this.failure === undefined || isOfProtocol(this.failure))) this.failure = new NotHttp2()
    this.#home.lost(this)
  }

  /** Its streams have ended. */
  #finish(): void {
    this.#leaving = true
    // The runtime closes it when it has sent what is to be sent.
    if (!this.#http2.destroyed) this.#http2.close()
    if (!this.#http2.destroyed && this.gone) this.#http2.destroy()
    this.#closed()
  }

  // Whether the peer is there.

  /** While it is idle it keeps no process alive. */
  #rest(): void {
    this.rests = this.#home.now()
    this.#stopWatching?.()
    this.#stopWatching = undefined
    if (!this.#http2.destroyed) this.#http2.unref()
  }

  #wake(): void {
    if (!this.#http2.destroyed) this.#http2.ref()
    this.#heard = this.#home.now()
    this.#watch(silence)
  }

  #watch(milliseconds: number): void {
    this.#stopWatching = this.#home.later(
      milliseconds,
      contained(this, () => {
        const left = silence - (this.#home.now() - this.#heard)
        if (left > 0) {
          this.#watch(left)
          return
        }
        const asked = this.#ping(() => {
          this.#stopWatching?.()
          // Only what it says by itself is heard: it is asked seldom while it says nothing else.
          if (this.open > 0) this.#watch(again)
        })
        this.#stopWatching = asked
          ? this.#home.later(
              answerTime,
              contained(this, () => this.destroy(new ConnectionSilent()))
            )
          : undefined
      })
    )
  }

  #ping(answered: () => void): boolean {
    if (this.#http2.destroyed || this.#http2.closed) return false
    return this.#http2.ping(
      contained(this, (error: Error | null) => {
        if (error === null) answered()
      })
    )
  }
}

/** Whether what came cannot be read as HTTP/2. */
const isOfProtocol = (error: Error): boolean => "code" in error && error.code === "ERR_HTTP2_ERROR"
