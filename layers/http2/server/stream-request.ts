/**
 * One request of a session of HTTP/2 while it is answered: what the engine says is handed to the writer of its stream, and what
 * becomes of the stream to the engine. What goes wrong here ends this stream, and leaves the others of its session alone.
 */
import type { ServerHttp2Stream } from "node:http2"
import { Cause, type Effect, Exit, type Fiber } from "effect"
import type { HeaderList } from "../../../src/http/header-list.ts"
import type { Answer } from "../../../src/http/message.ts"
import { ClientStalled } from "../../../src/pipeline/errors.ts"
import type { Exchange } from "../../../src/pipeline/exchange.ts"
import { render } from "../../../src/pipeline/render.ts"
import type { StageError } from "../../../src/pipeline/stage.ts"
import { contained } from "../../../src/services/contained.ts"
import { type Incoming, RequestBody } from "../../http/request-body.ts"
import { release } from "../../http/response-writer.ts"
import { atEndOfTurn, type Departing } from "../../http/turn.ts"
import { code } from "../codes.ts"
import { readTrailers } from "../fields.ts"
import type { TunnelRequest } from "./request-fields.ts"
import { type Answering, StreamWriter } from "./stream-writer.ts"
import type { Windows } from "./windows.ts"

/** What a request needs of the session that it came by. */
export interface StreamHost {
  readonly run: (effect: Effect.Effect<Answer>) => Fiber.Fiber<Answer>
  readonly defect: (cause: unknown) => void
  /** Milliseconds since 1970. */
  readonly wall: () => number
  readonly windows: Windows
  /** Its client has given a request up. */
  readonly reset: () => void
  /** Its body is not taken as fast as it comes. */
  readonly paused: () => void
  /** Its stream is closed. */
  readonly over: (request: StreamRequest) => void
}

type Handle = (exchange: Exchange) => Effect.Effect<Answer>

const stalled = new ClientStalled()

export class StreamRequest implements Answering, Incoming, Departing {
  readonly stream: ServerHttp2Stream
  readonly method: string
  readonly tunnel: TunnelRequest | undefined
  readonly exchange: Exchange
  readonly #host: StreamHost
  readonly #writer: StreamWriter
  /** The body of the request, as long as it is on its way. */
  #upload: RequestBody | undefined = undefined
  #received = 0
  /** In how many pieces. */
  #pieces = 0
  /** All of it has come. */
  #complete = true
  /** How much of it has come since its windows were looked at. */
  #uncounted = 0
  /** What answers it, until it has begun. */
  #handle: Handle | undefined = undefined
  #fiber: Fiber.Fiber<Answer> | undefined = undefined
  #over = false
  #concluded = false
  /** The client waits for `100 Continue` before it sends its body. */
  #expecting: boolean
  /** What the client is told instead of the answer that was interrupted. */
  #refusal: StageError | undefined = undefined
  /** What had passed at the last sweep that found somebody waiting for the client, and since when no more did. */
  #moved: number | undefined = undefined
  #stillSince = 0

  constructor(
    host: StreamHost,
    stream: ServerHttp2Stream,
    exchange: Exchange,
    expecting: boolean,
    tunnel: TunnelRequest | undefined
  ) {
    this.#host = host
    this.stream = stream
    this.exchange = exchange
    this.method = exchange.request.method
    this.tunnel = tunnel
    this.#expecting = expecting
    this.#writer = new StreamWriter(this)
    stream
      .on(
        "aborted",
        contained(this, () => {
          this.abort(gone)
          this.#host.reset()
        })
      )
      .on(
        "close",
        contained(this, () => this.#closed())
      )
  }

  /** Bytes of both bodies with the heads of their frames, whether somebody has taken them or not. */
  get moved(): number {
    return this.#received + frameHead * this.#pieces + this.stream.readableLength + this.#writer.bytes
  }

  /** Its client had not sent all of it. */
  get cutShort(): boolean {
    return !this.#complete
  }

  came(length: number): void {
    this.#received += length
    this.#pieces++
  }

  get defect(): StreamHost["defect"] {
    return this.#host.defect
  }

  get wall(): StreamHost["wall"] {
    return this.#host.wall
  }

  /** A callback threw: whatever it has left undone, nobody will wait for it. */
  contain(cause: unknown): void {
    this.#host.defect(cause)
    this.abort("internal error")
    this.stream.close(code.internalError)
  }

  /**
   * Takes the body as it comes, and begins when it has ended or when what was read with the head has been gone through: most
   * bodies are whole by then, and are handed over as bytes.
   */
  receive(handle: Handle): void {
    const upload = new RequestBody(this)
    this.#upload = upload
    this.#complete = false
    let trailers: HeaderList | undefined
    this.stream
      .on(
        "data",
        contained(this, (chunk: Buffer) => this.#take(upload, chunk))
      )
      .on(
        "trailers",
        contained(this, (_: unknown, __: unknown, raw: ReadonlyArray<string>) => {
          trailers = readTrailers(raw)
        })
      )
      .on(
        "end",
        contained(this, () => this.#whole(trailers))
      )
    this.exchange.requestBody = upload
    this.#handle = handle
    // Such a client sends nothing before it is asked.
    if (this.#expecting) this.depart()
    else atEndOfTurn(this)
  }

  /** Begins, with what of the body has come. */
  depart(): void {
    const handle = this.#handle
    if (handle === undefined || this.#over) return
    this.#handle = undefined
    this.begin(handle)
  }

  #take(upload: RequestBody, chunk: Buffer): void {
    this.came(chunk.length)
    upload.take(chunk)
    if (upload.full) {
      this.stream.pause()
      this.#host.paused()
      this.#uncounted = 0
      return
    }
    this.#uncounted += chunk.length
    if (this.#host.windows.taken(this.#uncounted)) this.#uncounted = 0
  }

  #whole(trailers: HeaderList | undefined): void {
    const upload = this.#upload
    // What was cut short must not pass for the whole.
    if (upload === undefined || this.stream.aborted) return
    this.#complete = true
    this.#letGoOfUpload()
    upload.end(trailers)
    if (this.#handle === undefined) return
    const whole = upload.takeWhole()
    if (whole !== undefined) this.exchange.requestBody = whole
    this.depart()
  }

  #letGoOfUpload(): void {
    if (this.#upload === undefined) return
    this.#upload = undefined
    this.#host.windows.close()
  }

  /** Somebody wants the body: a client that waits to be asked for it is asked. */
  wanted(): void {
    const { stream } = this
    if (!this.#expecting || this.#over || this.#writer.status !== undefined || stream.destroyed || stream.closed) return
    this.#expecting = false
    stream.additionalHeaders({ ":status": 100 })
  }

  released(): void {
    if (this.#upload !== undefined && !this.#upload.full && this.stream.isPaused()) this.stream.resume()
  }

  /** Answers with what the engine says: at once when it knows, else when its fiber ends. */
  begin(handle: Handle): void {
    let answering: Effect.Effect<Answer>
    try {
      answering = handle(this.exchange)
    } catch (cause) {
      this.#writer.internalError(cause)
      return
    }
    if (Exit.isExit(answering)) {
      this.#settle(answering as Exit.Exit<Answer>)
      return
    }
    const fiber = this.#host.run(answering)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) {
      this.#settle(exit)
      return
    }
    this.#fiber = fiber
    const ended = contained(this, (exit: Exit.Exit<Answer>) => {
      this.#fiber = undefined
      this.#settle(exit)
    })
    fiber.addObserver(ended)
  }

  #settle(exit: Exit.Exit<Answer>): void {
    if (this.#over) {
      // Too late: whatever stands behind the answer is released.
      release(Exit.isSuccess(exit) ? exit.value.body : this.exchange.latest.response?.body)
      return
    }
    if (Exit.isSuccess(exit)) {
      this.#writer.write(exit.value)
      return
    }
    release(this.exchange.latest.response?.body)
    if (!Cause.hasInterruptsOnly(exit.cause)) this.#writer.internalError(Cause.squash(exit.cause))
    else if (this.#refusal === undefined) this.#writer.breakOff("interrupted")
    else {
      this.exchange.latest.error = this.#refusal
      this.#writer.write(render(this.#refusal, this.exchange.request))
    }
  }

  /** Tells the client of a 1xx response. */
  inform(status: number, headers: HeaderList): void {
    if (!this.#over) this.#writer.inform(status, headers)
  }

  /**
   * An answer that is whole needs no more of the body, and its client is told so (RFC 9113 8.1): a little later, since some
   * lose an answer that comes together with the end of its stream, and soon, since some wait with nothing else.
   */
  written(): void {
    if (this.#upload === undefined) return
    const { stream } = this
    const enough = contained(this, () => stream.close(code.none))
    const through = contained(this, () => {
      if (this.#upload === undefined) return
      this.#conclude(undefined)
      setTimeout(enough, moment).unref()
    })
    if (stream.writableFinished) through()
    else stream.once("finish", through)
  }

  /** The stream is gone, or is about to be cut. */
  abort(failure: string): void {
    if (this.#over) return
    this.#over = true
    const fiber = this.#fiber
    this.#writer.abandon(failure)
    this.#closeUpload(failure)
    fiber?.interruptUnsafe()
  }

  /** Ends the exchange and its stream. */
  cut(failure: string): void {
    this.abort(failure)
    // Never `CANCEL`: the runtime puts such a reset off while it reads, may lose it where the stream is destroyed meanwhile, goes on
    // sending, and ends the whole process at the end of what awaits trailers (node 26.10, `Http2Stream::OnTrailers`).
    this.stream.close(code.internalError)
  }

  /**
   * For too long the client has not sent what somebody waits for, or not taken what was sent to it. It is told so, unless its
   * answer has begun.
   */
  #stall(awaited: boolean): void {
    if (this.#fiber !== undefined) {
      this.#refusal = stalled
      this.#fiber.interruptUnsafe()
      return
    }
    this.cut(awaited ? stalled.message : "the answer was not taken in time")
  }

  /** Bodies that move, however slowly, are not cut. */
  sweep(now: number, idleTimeout: number, stallTimeout: number): void {
    const { stream } = this
    const awaits = this.#upload?.awaited === true
    const left = stream.writableLength
    if (!awaits && left === 0 && !stream.closed) {
      this.#moved = undefined
      return
    }
    const moved = (awaits ? this.#received : 0) + this.#writer.bytes - left
    if (moved !== this.#moved) {
      this.#moved = moved
      this.#stillSince = now
      return
    }
    // Nothing more becomes of it, unless what came through a tunnel is still taken.
    const patience = stream.closed && this.tunnel === undefined ? 0 : left > 0 ? stallTimeout : idleTimeout
    if (now - this.#stillSince < patience) return
    // It was closed by its client, and nobody reads what had come before.
    if (stream.closed) stream.destroy()
    else this.#stall(awaits)
  }

  #closeUpload(failure: string): void {
    const upload = this.#upload
    this.#letGoOfUpload()
    upload?.close(failure)
    // What was not read is dropped: the runtime keeps a stream, whose client may ask anew, until it is.
    if (upload !== undefined && this.stream.isPaused()) this.stream.resume()
  }

  #closed(): void {
    const writer = this.#writer
    const { stream } = this
    // The runtime closes a stream before it tells that the last of it was written.
    const whole = writer.ended && (stream.writableFinished || stream.rstCode === code.none)
    if (!whole) this.abort(gone)
    this.#conclude(writer.failure ?? (whole ? undefined : gone))
    this.#host.over(this)
  }

  /** The exchange is over. Its stream may be open for a while. */
  #conclude(failure: string | undefined): void {
    if (this.#concluded) return
    this.#over = this.#concluded = true
    this.#closeUpload(failure ?? "the response is through")
    const { status, bytes } = this.#writer
    try {
      this.exchange.finish({ status, failure, bytes }, this.#host.defect)
    } catch (cause) {
      this.#host.defect(cause)
    }
  }
}

/** Milliseconds. */
const moment = 5

/** Bytes. */
const frameHead = 9

const gone = "the client went away"
