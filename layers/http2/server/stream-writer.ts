/**
 * The answer to one request of HTTP/2: its head and a body that is known leave together, a longer one at the pace of its
 * client and of nobody else's. The way of `ResponseWriter`, on a stream.
 */
import type { ServerHttp2Stream } from "node:http2"
import { type BodyAborted, type BodySink, type BodySource, isSource, observe } from "../../../src/http/body.ts"
import { HeaderList } from "../../../src/http/header-list.ts"
import type { Answer, Switched } from "../../../src/http/message.ts"
import { type Container, contained } from "../../../src/services/contained.ts"
import { pour } from "../../http/pour.ts"
import { dateAt } from "../../http/response-head.ts"
import { faultOf, lengthOf, release, unsendable, written } from "../../http/response-writer.ts"
import { Tunnel } from "../../http/tunnel.ts"
import { code } from "../codes.ts"
import { appendFields, asObject, forRuntime, trailerFields } from "../fields.ts"
import type { TunnelRequest } from "./request-fields.ts"
import { answersKey } from "./websocket.ts"

/** Whose answer it is. */
export interface Answering extends Container {
  readonly stream: ServerHttp2Stream
  /** What went wrong in the proxy itself; the client is told nothing of it. */
  readonly defect: (cause: unknown) => void
  /** Milliseconds since 1970. */
  readonly wall: () => number
  readonly method: string
  /** What its stream may become a tunnel for. */
  readonly tunnel: TunnelRequest | undefined
  /** So many bytes have come from its client. */
  readonly came: (length: number) => void
  /** Everything was handed to the runtime. */
  readonly written: () => void
}

export class StreamWriter implements BodySink {
  readonly #owner: Answering
  #source: BodySource | undefined = undefined
  #status: number | undefined = undefined
  /** Bytes of the body that were handed to the runtime. */
  bytes = 0
  /** Bytes of the declared length that are still to come; `undefined` when none was declared. */
  #remaining: number | undefined = undefined
  #held = false
  #ended = false
  #over = false
  /** Why the answer is not whole. */
  failure: string | undefined = undefined

  constructor(owner: Answering) {
    this.#owner = owner
  }

  /** That of the final answer, which is decided, and has left or is about to. */
  get status(): number | undefined {
    return this.#status
  }

  /** All of it was handed to the runtime. */
  get ended(): boolean {
    return this.#ended
  }

  inform(status: number, headers: HeaderList): void {
    const { stream, defect } = this.#owner
    if (this.#over || this.#status !== undefined || stream.destroyed || stream.closed) return
    const fields = [":status", String(status)]
    const fault = appendFields(fields, headers)
    if (fault === undefined) stream.additionalHeaders(asObject(fields))
    else defect(unsendable(fault.unsendable))
  }

  /** Nothing more is written: the stream is gone, or is about to be. */
  abandon(failure: string): void {
    if (this.#over) return
    this.#over = true
    if (!this.#ended) this.failure ??= failure
    const source = this.#source
    this.#source = undefined
    source?.cancel()
  }

  /** Ends the stream so that nobody takes what came for the whole. */
  breakOff(failure: string): void {
    this.#over = true
    this.failure ??= failure
    this.#source = undefined
    this.#owner.stream.close(code.internalError)
  }

  /** Answers for the proxy's own failure, if nothing was said yet. */
  internalError(cause: unknown): void {
    this.#owner.defect(cause)
    if (this.#status !== undefined) this.breakOff("internal error")
    else this.write({ status: 500, headers: new HeaderList(["content-type", "text/plain"]), body: "internal error" })
  }

  write(answer: Answer): void {
    const fault = faultOf(answer)
    if (fault !== undefined) {
      release(answer?.body)
      this.internalError(new Error(fault))
      return
    }
    const { status, headers, switched } = answer
    const { method, tunnel, stream } = this.#owner
    if (switched !== undefined || status < 200) {
      if (switched !== undefined && tunnel !== undefined && status === 101) this.#switch(answer, switched, tunnel)
      else {
        release(answer.body)
        this.internalError(new Error(`answered with status ${status}, which is none for this request`))
      }
      return
    }
    const bodiless = method === "HEAD" || status === 204 || status === 304
    const body = typeof answer.body === "string" ? written(answer.body) : answer.body
    const length = lengthOf(status, body, bodiless, headers)
    // An end says as much as a length of nothing; but whoever declared one may count on it.
    const said = length === "0" && body === undefined && !headers.has("content-length") ? undefined : length
    const fields = this.#fields(status, headers, said)
    if (fields === undefined) {
      release(body)
      return
    }
    this.#status = status
    // The client is gone, and whoever holds the stream is about to be told so.
    if (stream.destroyed || stream.closed) {
      release(body)
      return
    }
    if (bodiless || body === undefined) {
      release(body)
      this.#ended = true
      stream.respond(fields, { endStream: true })
      this.#owner.written()
    } else if (isSource(body)) {
      this.#source = body
      this.#remaining = length === undefined ? undefined : Number(length)
      // The runtime ends a stream that awaits none before it resets it: what was cut would look whole.
      stream.respond(fields, { waitForTrailers: true })
      stream.on(
        "drain",
        contained(this.#owner, () => this.#drained())
      )
      try {
        body.start(this)
      } catch (cause) {
        this.#owner.defect(cause)
        body.cancel()
        this.breakOff("internal error")
      }
    } else {
      this.bytes = body.length
      this.#ended = true
      stream.respond(fields)
      if (typeof body === "string") stream.end(body, "latin1")
      else stream.end(body)
      this.#owner.written()
    }
  }

  /** The head of an answer for the runtime; `undefined`: it cannot be sent, which was told. */
  #fields(status: number, headers: HeaderList, length: string | undefined) {
    const fields = [":status", String(status)]
    const fault = appendFields(fields, headers, isLength)
    if (fault !== undefined) {
      this.internalError(unsendable(fault.unsendable))
      return undefined
    }
    if (length !== undefined) fields.push("content-length", length)
    if (!headers.has("date")) fields.push("date", dateAt(this.#owner.wall()))
    return forRuntime(fields)
  }

  // The body of the answer, as it comes.

  data(chunk: Uint8Array): boolean {
    const { stream } = this.#owner
    if (this.#over || this.#ended || stream.destroyed || stream.closed) return false
    if (!(chunk instanceof Uint8Array)) {
      this.#source?.cancel()
      this.internalError(new Error("a source of bytes yielded something else"))
      return false
    }
    if (chunk.length === 0) return !this.#held
    this.bytes += chunk.length
    if (this.#remaining !== undefined) {
      this.#remaining -= chunk.length
      if (this.#remaining < 0) {
        this.#source?.cancel()
        this.breakOff("more than the declared length")
        return false
      }
    }
    if (stream.write(chunk)) return true
    this.#held = true
    return false
  }

  end(trailers?: HeaderList): void {
    if (this.#over) return
    this.#source = undefined
    if (this.#ended) return
    if (this.#remaining !== undefined && this.#remaining > 0) {
      this.breakOff("less than the declared length")
      return
    }
    this.#ended = true
    const { stream } = this.#owner
    // As above: it will be told.
    if (stream.destroyed || stream.closed) return
    const fields = trailerFields(trailers)
    if (fields !== undefined)
      stream.on(
        "wantTrailers",
        contained(this.#owner, () => stream.sendTrailers(fields))
      )
    stream.end()
    this.#owner.written()
  }

  fail(error: BodyAborted): void {
    if (this.#over) return
    this.#source = undefined
    if (this.#ended) return
    // All bytes that were promised have left: nobody can tell the difference.
    if (this.#remaining === 0) {
      this.#remaining = undefined
      this.end()
    } else this.breakOff(error.message)
  }

  #drained(): void {
    if (!this.#held) return
    this.#held = false
    this.#source?.resume()
  }

  /** The stream is a tunnel from here on, until both of its directions have ended. */
  #switch({ headers, body }: Answer, { outbound }: Switched, { protocol, key }: TunnelRequest): void {
    if (protocol === "websocket" && !answersKey(headers, key)) {
      // Whoever stands behind it never read the request, or answered another one.
      release(body)
      this.write(notAccepted())
      return
    }
    headers.delete("sec-websocket-accept")
    const fields = this.#fields(200, headers, undefined)
    if (fields === undefined) {
      release(body)
      return
    }
    const { stream } = this.#owner
    this.#status = 200
    if (stream.destroyed || stream.closed) {
      release(body)
      return
    }
    stream.respond(fields)
    const tunnel = new Tunnel(stream, Buffer.alloc(0), "client", this.#owner)
    stream
      .on(
        "data",
        contained(this.#owner, (bytes: Buffer) => {
          this.#owner.came(bytes.length)
          tunnel.received(bytes)
        })
      )
      .on(
        "end",
        contained(this.#owner, () => tunnel.ended())
      )
      .on(
        "close",
        contained(this.#owner, () => tunnel.closed())
      )
    stream.pause()
    outbound(tunnel)
    if (isSource(body)) {
      const counted = observe(body, { data: (chunk) => (this.bytes += chunk.length), end: () => {} })
      if (!isSource(counted)) return
      this.#source = counted
      pour(counted, stream, this.#owner, (failure) => {
        this.#source = undefined
        this.#ended = failure === undefined
        this.failure ??= failure === undefined ? undefined : "the tunnel was cut"
      })
    } else {
      this.#ended = true
      if (body === undefined) stream.end()
      else stream.end(body)
    }
  }
}

const isLength = (name: string): boolean => name === "content-length"

const notAccepted = (): Answer => ({
  status: 502,
  headers: new HeaderList(["content-type", "text/plain"]),
  body: "request upgrade failed, backend did not accept it"
})
