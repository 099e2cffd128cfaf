/**
 * One call over a session: what it sends as a stream, and what it is told of the answer. The readable side of node's stream is not
 * used: what comes is taken where it is pushed, so that nothing that has come is lost when the session ends, and the end that the
 * peer wrote is told from a reset that claims to be no error.
 */
import type { ClientHttp2Stream } from "node:http2"
import { type BodyAborted, isSource } from "../../../src/http/body.ts"
import type { HeaderList } from "../../../src/http/header-list.ts"
import { type Container, contained, containing } from "../../../src/services/contained.ts"
import type { Caller, Carrier } from "../../http/client/carrier.ts"
import { ConnectionClosed, MalformedFields, StreamRefused, StreamReset } from "../../http/client/failures.ts"
import type { Uploading } from "../../http/client/upload.ts"
import { nameOf, code as reason } from "../codes.ts"
import { forRuntime, readTrailers } from "../fields.ts"
import { responseHead } from "./heads.ts"
import type { Session } from "./session.ts"
import { StreamUpload } from "./upload.ts"

/** As many as a connection of HTTP/1.1 takes. */
const mostInterims = 1_000

/** Milliseconds that a peer has for the end of an answer that has no body: its caller has gone on, and nobody else would end it. */
const endTime = 10_000

export class Stream implements Carrier, Container, Uploading {
  readonly used: boolean
  readonly #session: Session
  #stream: ClientHttp2Stream | undefined = undefined
  #caller: Caller | undefined = undefined
  #upload: StreamUpload | undefined = undefined
  /** What came before the head was told, or while nobody took it. */
  #early: Array<Buffer> = []
  #headTold = false
  #bodiless = false
  #paused = false
  #interims = 0
  #trailers: HeaderList | undefined = undefined
  /** The peer has ended the response. */
  #whole = false
  #stopAwaiting: (() => void) | undefined = undefined
  #over = false
  #error: Error | undefined = undefined
  /** It was above the last one that the peer looked at, or was not sent. */
  unprocessed = false

  constructor(session: Session) {
    this.#session = session
    this.used = session.served
  }

  get id(): number | undefined {
    return this.#stream?.id
  }

  send(caller: Caller): void {
    this.#caller = caller
    this.#bodiless = caller.bodiless
    try {
      this.#send(caller)
    } catch (cause) {
      this.contain(cause)
    }
  }

  #send(caller: Caller): void {
    const { body, fields } = caller
    const streams = isSource(body)
    const stream = this.#session.request(forRuntime([...fields]), {
      endStream: body === undefined || (!streams && body.length === 0)
    })
    this.#stream = stream
    const push = stream.push
    stream.push = (chunk: Buffer | null): boolean => {
      if (chunk === null) {
        // A reset of the peer has closed the stream by now; its own end has not.
        if (!stream.closed) this.#end()
        return push.call(stream, null)
      }
      return this.#received(chunk)
    }
    stream
      .on(
        "headers",
        contained(this, (_: unknown, __: unknown, raw: Array<string>) => this.#onInterim(raw))
      )
      .on(
        "response",
        contained(this, (_: unknown, __: unknown, raw: Array<string>) => this.#onResponse(raw))
      )
      .on(
        "trailers",
        contained(this, (_: unknown, __: unknown, raw: Array<string>) => this.#onTrailers(raw))
      )
      .on(
        "drain",
        contained(this, () => this.#upload?.drained())
      )
      .on(
        "error",
        contained(this, (error: Error) => {
          this.#error = error
        })
      )
      .on(
        "close",
        contained(this, () => this.#closed())
      )
    // The end of what is pushed is told to a stream that flows.
    stream.resume()
    if (streams) {
      const upload = new StreamUpload(this, stream, body, caller.declared)
      this.#upload = upload
      upload.begin()
    } else if (body !== undefined && body.length > 0) stream.end(body)
  }

  // What comes.

  #onInterim(raw: Array<string>): void {
    const caller = this.#caller
    if (caller === undefined) return
    const head = responseHead(raw)
    if (typeof head === "string") this.#fail(new MalformedFields({ fault: head }))
    else if (this.#headTold || head.status >= 200) this.#fail(new MalformedFields({ fault: "a second head" }))
    // It answers `expect`, which is never sent; and nothing leaves HTTP/2 so.
    else if (head.status <= 101) this.#fail(new MalformedFields({ fault: `${head.status} that nobody asked for` }))
    else if (++this.#interims > mostInterims) this.#fail(new MalformedFields({ fault: "too many interim responses" }))
    else {
      head.headers.delete("content-length")
      caller.onInterim(head)
    }
  }

  #onResponse(raw: Array<string>): void {
    const caller = this.#caller
    if (caller === undefined) return
    const head = responseHead(raw)
    const fault = typeof head === "string" ? head : this.#headTold || head.status < 200 ? "a second head" : undefined
    if (typeof head === "string" || fault !== undefined) {
      this.#fail(new MalformedFields({ fault: fault ?? "" }))
      return
    }
    this.#headTold = true
    this.#bodiless ||= head.status === 204 || head.status === 304
    caller.onHead(head)
    // Trailers that came with it are told next.
    if (this.#whole) process.nextTick(finish, this)
    else {
      if (this.#bodiless) this.#awaitEnd()
      this.#giveEarly()
      this.#caller?.onPiece()
    }
  }

  /** A head without a body says it all: whoever does not end it, in time, does not keep its place. */
  #awaitEnd(): void {
    this.#stopAwaiting = this.#session.later(
      endTime,
      contained(this, () => {
        if (this.#caller === undefined || this.#whole) return
        if (this.#upload !== undefined && !this.#upload.over) this.#awaitEnd()
        else {
          this.#whole = true
          this.finish()
          this.#reset()
        }
      })
    )
  }

  #onTrailers(raw: Array<string>): void {
    this.#trailers = readTrailers(raw)
  }

  /** Takes what the peer has sent. Returns whether more may come. */
  #received(chunk: Buffer): boolean {
    const caller = this.#caller
    if (caller === undefined) return true
    if (this.#bodiless || chunk.length === 0) return true
    try {
      if (!this.#headTold || this.#paused || this.#early.length > 0) this.#early.push(chunk)
      else {
        this.#session.received(this, chunk.length)
        caller.onBody(chunk)
        this.#caller?.onPiece()
      }
    } catch (cause) {
      this.contain(cause)
    }
    return !this.#paused
  }

  #giveEarly(): void {
    const caller = this.#caller
    if (caller === undefined) return
    while (this.#early.length > 0 && !this.#paused && this.#caller === caller) {
      const chunk = this.#early.shift()!
      if (!this.#bodiless) {
        this.#session.received(this, chunk.length)
        caller.onBody(chunk)
      }
    }
  }

  /** The peer has ended the response. */
  #end(): void {
    if (this.#whole) return
    this.#whole = true
    if (this.#headTold) process.nextTick(finish, this)
  }

  /** Tells the end, behind everything that was told to come. */
  finish(): void {
    const caller = this.#caller
    if (caller === undefined || !this.#whole || !this.#headTold) return
    this.#giveEarly()
    if (this.#early.length > 0 || this.#caller !== caller) return
    const upload = this.#upload
    const sent = upload === undefined || upload.over
    this.#caller = undefined
    this.#upload = undefined
    // It has answered without waiting for the rest.
    if (!sent) {
      upload.stop()
      this.#reset()
    }
    this.#release()
    caller.onEnd(this.#trailers)
    caller.onPiece()
  }

  /** The peer sends no more: what is not whole stays so. */
  cut(): void {
    if (!this.#whole) this.#fail(this.#failure())
  }

  #closed(): void {
    const caller = this.#caller
    // A response that is whole goes on to be told.
    if (caller !== undefined && !(this.#whole && (this.#headTold || this.#early.length > 0)))
      this.#fail(this.#failure())
    this.#release()
  }

  /** Why the stream ended before its response was whole. */
  #failure(): Error {
    const code = this.#stream?.rstCode
    if (this.unprocessed || code === reason.refused) return new StreamRefused()
    // The session had ended when it was asked, which shows later.
    if (this.#error !== undefined && "code" in this.#error && unasked.has(String(this.#error.code)))
      return new StreamRefused()
    const { failure } = this.#session
    if (failure !== undefined) return failure
    if (this.#error !== undefined && !isOfStream(this.#error)) return this.#error
    if (this.#session.gone) return new ConnectionClosed()
    return new StreamReset({ code: nameOf(code ?? reason.none) })
  }

  #fail(error: Error): void {
    const caller = this.#caller
    if (caller === undefined) return
    const upload = this.#upload
    this.#caller = undefined
    this.#upload = undefined
    upload?.stop()
    this.#reset()
    this.#release()
    caller.onFailure(error, this.#headTold, false)
  }

  /** Its peer need not go on. What was not sent whole must not look so: the runtime ends what it closes before it resets it. */
  #reset(): void {
    const stream = this.#stream
    if (stream === undefined || stream.closed || stream.destroyed) return
    if (stream.writableEnded) stream.close(reason.cancel)
    else stream.destroy(new Error("the request was cut"))
  }

  #release(): void {
    if (this.#over) return
    this.#over = true
    this.#stopAwaiting?.()
    this.#session.released(this)
  }

  // What the call asks for.

  abandon(caller: Caller): void {
    if (this.#caller !== caller) return
    const upload = this.#upload
    this.#caller = undefined
    this.#upload = undefined
    this.#early = []
    upload?.stop()
    this.#reset()
    this.#release()
  }

  pause(caller: Caller): void {
    if (this.#caller === caller) this.#paused = true
  }

  resume(caller: Caller): void {
    if (this.#caller !== caller || !this.#paused) return
    this.#paused = false
    this.#giveEarly()
    if (this.#paused || this.#caller !== caller) return
    if (this.#whole) process.nextTick(finish, this)
    else {
      const stream = this.#stream
      // What `push` has stopped.
      if (stream !== undefined && !stream.destroyed) stream._read(0)
    }
  }

  // What the upload tells.

  uploadFailed(error: BodyAborted | Error): void {
    this.#upload = undefined
    this.#fail(error)
  }

  contain(cause: unknown): void {
    const caller = this.#caller
    this.#caller = undefined
    this.#upload?.stop()
    this.#upload = undefined
    this.#reset()
    this.#release()
    if (caller === undefined) this.#session.contain(cause)
    else caller.contain(cause)
  }
}

const finish = containing((stream: Stream) => stream.finish())

/** A session says so that has sent nothing. */
const unasked: ReadonlySet<string> = new Set(["ERR_HTTP2_GOAWAY_SESSION", "ERR_HTTP2_INVALID_SESSION"])

/** Whether it says no more than the code of the stream. */
const isOfStream = (error: Error): boolean => "code" in error && error.code === "ERR_HTTP2_STREAM_ERROR"
