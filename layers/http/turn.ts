/**
 * One request of a client connection and the response to it. Writes the answer with as few system calls as it can: an
 * answer that is known whole leaves in one write, otherwise the head leaves with the first chunk.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Cause, type Effect, Exit, type Fiber } from "effect"
import { type BodyAborted, type BodySink, type BodySource, isSource } from "../../src/http/body.ts"
import { isHopByHop } from "../../src/http/framing.ts"
import { HeaderList, isHeaderName, isHeaderValue } from "../../src/http/header-list.ts"
import type { Answer, Switched } from "../../src/http/message.ts"
import { ClientStalled } from "../../src/pipeline/errors.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { render } from "../../src/pipeline/render.ts"
import type { StageError } from "../../src/pipeline/stage.ts"
import { type Container, contained, containing } from "../../src/services/contained.ts"
import { closeGently, reset } from "./refusal.ts"
import type { RequestBody } from "./request-body.ts"
import { pour, SocketBody } from "./socket-body.ts"

/** What a turn needs of the connection that it belongs to. */
export interface Host extends Container {
  readonly run: (effect: Effect.Effect<Answer>) => Fiber.Fiber<Answer>
  /** Whether this is to be the last response of the connection. */
  readonly closing: boolean
  /** What went wrong in the proxy itself; the client is told nothing of it. */
  readonly defect: (cause: unknown) => void
  /** The response is through, or never will be. */
  readonly over: (turn: Turn) => void
}

/** The socket of a request that asked to change the protocol, and what came behind its head. */
export interface UpgradeSocket {
  readonly socket: Socket
  readonly head: Uint8Array
}

/** Up to this size an answer is copied behind its head, which costs less than a second buffer in the same write. */
const singleWrite = 16_384
/** An unread request body up to this size is read and dropped; a longer one costs the connection. */
const droppable = 65_536

const stalled = new ClientStalled()

const encoder = new TextEncoder()

export class Turn implements BodySink {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly exchange: Exchange
  readonly #host: Host
  /** The body of the request, if it does not lie in memory. */
  readonly #upload: RequestBody | undefined
  readonly #upgrade: UpgradeSocket | undefined
  #fiber: Fiber.Fiber<Answer> | undefined = undefined
  #source: BodySource | undefined = undefined
  #status: number | undefined = undefined
  /** Bytes of the body that were sent; of a tunnel, those that the socket had sent when it began. */
  #bytes = 0
  /** Bytes of the declared length that are still to come; `undefined` when none was declared. */
  #remaining: number | undefined = undefined
  #flowing = false
  /** The client reads more slowly than the source yields. */
  #held = false
  #ended = false
  /** HTTP is over on this connection; it is through when the socket closes. */
  #tunnel = false
  #over = false
  /** What the client is told instead of the answer that was interrupted. */
  #refusal: StageError | undefined = undefined

  constructor(
    host: Host,
    request: IncomingMessage,
    response: ServerResponse,
    exchange: Exchange,
    upload: RequestBody | undefined,
    upgrade: UpgradeSocket | undefined
  ) {
    this.#host = host
    this.request = request
    this.response = response
    this.exchange = exchange
    this.#upload = upload
    this.#upgrade = upgrade
  }

  /** Answers with what the engine says: at once when it knows, else when its fiber ends. */
  begin(handle: (exchange: Exchange) => Effect.Effect<Answer>): void {
    let answering: Effect.Effect<Answer>
    try {
      answering = handle(this.exchange)
    } catch (cause) {
      this.#fail(cause)
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
    const ended = contained(this.#host, (exit: Exit.Exit<Answer>) => {
      this.#fiber = undefined
      this.#settle(exit)
    })
    fiber.addObserver(ended)
  }

  /** Tells the client of a 1xx response; clients of HTTP/1.0 do not know such things. */
  inform(status: number, headers: HeaderList): void {
    if (this.#over || this.response.headersSent || this.exchange.request.version === "1.0") return
    try {
      this.response.writeInformation(status, headers.flat)
    } catch (cause) {
      this.#host.defect(cause)
    }
  }

  /** The connection is gone, or is about to be cut. */
  abort(failure: string): void {
    if (this.#over) return
    const fiber = this.#fiber
    const source = this.#source
    if (this.#tunnel) this.#leave()
    else this.#conclude(failure)
    fiber?.interruptUnsafe()
    source?.cancel()
  }

  /** Somebody waits for what the client still has to send of its body. */
  get awaitsClient(): boolean {
    return this.uploading && this.#upload?.awaited === true
  }

  /**
   * For too long the client has not sent what somebody waits for, or not taken what was sent to it. It is told so, unless
   * its answer has begun.
   */
  stall(): void {
    if (this.#fiber !== undefined) {
      this.#refusal = stalled
      this.#fiber.interruptUnsafe()
      return
    }
    this.cut(this.awaitsClient ? stalled.message : "the answer was not taken in time")
  }

  /** Ends the exchange and its connection. */
  cut(failure: string): void {
    if (this.#over) return
    const socket = this.#socket
    this.abort(failure)
    if (this.looksWhole) reset(socket)
    else socket.destroy()
  }

  /** The socket of a tunnel is closed. */
  #leave(): void {
    this.#bytes = (this.#upgrade?.socket.bytesWritten ?? 0) - this.#bytes
    this.#conclude(this.#ended ? undefined : "the tunnel was cut")
  }

  #settle(exit: Exit.Exit<Answer>): void {
    if (this.#over) {
      // Too late: whatever stands behind the answer is released.
      cancel(Exit.isSuccess(exit) ? exit.value.body : this.exchange.response?.body)
      return
    }
    if (Exit.isSuccess(exit)) {
      this.#write(exit.value)
      return
    }
    cancel(this.exchange.response?.body)
    if (!Cause.hasInterruptsOnly(exit.cause)) this.#fail(Cause.squash(exit.cause))
    else if (this.#refusal === undefined) this.#cut("interrupted")
    else {
      this.exchange.error = this.#refusal
      this.#write(render(this.#refusal, this.exchange))
    }
  }

  #write(answer: Answer): void {
    const fault = faultOf(answer)
    if (fault !== undefined) {
      cancel(answer?.body)
      this.#fail(new Error(fault))
      return
    }
    const switched = answer.switched
    if (switched !== undefined || answer.status < 200) {
      if (switched !== undefined && this.#upgrade !== undefined && answer.status === 101)
        this.#switch(answer, switched, this.#upgrade)
      else {
        cancel(answer.body)
        this.#fail(new Error(`answered with status ${answer.status}, which is none for this request`))
      }
      return
    }
    const bodiless = this.request.method === "HEAD" || answer.status === 204 || answer.status === 304
    const body = typeof answer.body === "string" ? encoder.encode(answer.body) : answer.body
    const { lines, declared } = endToEnd(answer.headers)
    const length = lengthOf(answer.status, body, bodiless, declared < 0 ? undefined : lines[declared + 1])
    if (declared < 0) {
      if (length !== undefined) lines.push("content-length", length)
    } else if (length === undefined) lines.splice(declared, 2)
    else lines[declared + 1] = length
    if (this.#host.closing || this.#unread()) lines.push("connection", "close")
    this.#status = answer.status
    const response = this.response
    try {
      response.writeHead(answer.status, lines)
    } catch (cause) {
      cancel(body)
      this.#fail(cause)
      return
    }
    if (bodiless || body === undefined) {
      cancel(body)
      response.end()
      this.#sent()
    } else if (isSource(body)) {
      this.#source = body
      this.#remaining = length === undefined ? undefined : Number(length)
      try {
        body.start(this)
      } catch (cause) {
        this.#host.defect(cause)
        body.cancel()
        this.#cut("internal error")
        return
      }
      // An event stream may stay silent for long: its head must not wait for its first event.
      if (!this.#flowing && !this.#ended) process.nextTick(flushHead, this.#host, this)
    } else {
      this.#bytes = body.length
      if (body.length <= singleWrite) response.end(latin1(body), "latin1")
      else response.end(body)
      this.#sent()
    }
  }

  get #socket(): Socket {
    return this.response.socket ?? this.request.socket
  }

  /** Whether the client still has to send some of its body. */
  get uploading(): boolean {
    return this.#upload !== undefined && !this.request.complete
  }

  /** Whether the client sends a body that nobody reads any more, or that nobody reads and that is too long to be dropped. */
  #unread(): boolean {
    const upload = this.#upload
    if (!this.uploading || upload?.reading === true) return false
    if (upload?.started === true) return true
    const length = this.exchange.request.headers.get("content-length")
    return length === undefined || Number(length) > droppable
  }

  /** Answers for the proxy's own failure, if nothing was said yet. */
  #fail(cause: unknown): void {
    this.#host.defect(cause)
    const response = this.response
    if (response.headersSent) {
      this.#cut("internal error")
      return
    }
    this.#write({ status: 500, headers: new HeaderList(["content-type", "text/plain"]), body: "internal error" })
  }

  flushHead(): void {
    if (!this.#flowing && !this.#ended && !this.#over) this.response.flushHeaders()
  }

  // The body of the answer, as it comes.

  data(chunk: Uint8Array): boolean {
    if (this.#over || this.#ended) return false
    if (!(chunk instanceof Uint8Array)) {
      this.#source?.cancel()
      this.#fail(new Error("a source of bytes yielded something else"))
      return false
    }
    this.#flowing = true
    this.#bytes += chunk.length
    if (this.#remaining === undefined) return this.#pass(chunk)
    this.#remaining -= chunk.length
    if (this.#remaining > 0) return this.#pass(chunk)
    if (this.#remaining < 0) {
      this.#source?.cancel()
      this.#cut("more than the declared length")
      return false
    }
    this.#ended = true
    if (chunk.length <= singleWrite) this.response.end(latin1(chunk), "latin1")
    else this.response.end(chunk)
    return true
  }

  #pass(chunk: Uint8Array): boolean {
    if (this.response.write(chunk)) return true
    if (!this.#held) {
      this.#held = true
      const drained = contained(this.#host, () => {
        this.#held = false
        this.#source?.resume()
      })
      this.response.once("drain", drained)
    }
    return false
  }

  end(trailers?: HeaderList): void {
    if (this.#over) return
    this.#source = undefined
    if (!this.#ended) {
      if (this.#remaining !== undefined && this.#remaining > 0) {
        this.#cut("less than the declared length")
        return
      }
      this.#ended = true
      if (trailers !== undefined && this.#remaining === undefined) this.#addTrailers(trailers)
      this.response.end()
    }
    this.#sent()
  }

  #addTrailers(trailers: HeaderList): void {
    try {
      this.response.addTrailers(Array.from(trailers, ([name, value]): [string, string] => [name, value]))
    } catch (cause) {
      this.#host.defect(cause)
    }
  }

  fail(error: BodyAborted): void {
    if (this.#over) return
    this.#source = undefined
    // All bytes that were promised have left: nobody can tell the difference.
    if (this.#ended) this.#sent()
    else this.#cut(error.message)
  }

  /** Ends the connection; earlier answers that the client is still reading arrive. */
  #cut(failure: string): void {
    const socket = this.#socket
    this.#conclude(failure)
    if (this.looksWhole) reset(socket)
    else closeGently(socket)
  }

  /** A body that only the end of the connection delimits looks whole unless the connection is reset. */
  get looksWhole(): boolean {
    return this.exchange.request.version === "1.0" && this.#remaining === undefined
  }

  /** Everything was handed to the socket. The exchange is over when the system has taken it. */
  #sent(): void {
    const response = this.response
    const socket = response.socket
    if (socket === null || socket.writableLength === 0) this.#conclude(undefined)
    else {
      const finished = contained(this.#host, () => this.#conclude(undefined))
      response.once("finish", finished)
    }
  }

  #conclude(failure: string | undefined): void {
    if (this.#over) return
    this.#over = true
    this.#source = undefined
    this.#upload?.close(failure ?? "the response is through")
    this.#host.over(this)
    try {
      this.exchange.finish({ status: this.#status, failure, bytes: this.#bytes }, this.#host.defect)
    } catch (cause) {
      this.#host.defect(cause)
    }
  }

  /** Leaves HTTP: from here on bytes pass both ways until both directions have ended. */
  #switch(answer: Answer, switched: Switched, { socket, head }: UpgradeSocket): void {
    let lines = "HTTP/1.1 101 Switching Protocols\r\n"
    for (const [name, value] of answer.headers) {
      if (isHopByHop(name)) continue
      if (!isHeaderName(name) || !isHeaderValue(value)) {
        cancel(answer.body)
        this.#fail(new Error(`${name} is no header that can be sent`))
        return
      }
      lines += `${name}: ${value}\r\n`
    }
    lines += `connection: upgrade\r\nupgrade: ${switched.protocol}\r\n\r\n`
    this.#status = 101
    this.response.detachSocket(socket)
    socket.write(lines, "latin1")
    this.#bytes = socket.bytesWritten
    this.#tunnel = true
    switched.outbound(new SocketBody(socket, head, "client", this.#host))
    const body = answer.body
    if (isSource(body)) {
      this.#source = body
      pour(body, socket, this.#host, (failure) => {
        this.#ended = failure === undefined
      })
    } else if (body === undefined) socket.end()
    else socket.end(body)
  }
}

/**
 * Why something cannot be sent as an answer; `undefined` when it can, but for its header lines, which node checks. Policies
 * and programs around the proxy need not be type-checked.
 */
const faultOf = (answer: Answer): string | undefined => {
  if (typeof answer !== "object" || answer === null || !(answer.headers instanceof HeaderList))
    return "this is no answer"
  const { status, body } = answer
  if (!Number.isInteger(status) || status < 100 || status > 599) return "the status of an answer is none"
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) return undefined
  return isStartable(body) ? undefined : "the body of an answer is neither text nor bytes nor a source of bytes"
}

const isStartable = (body: BodySource): boolean =>
  typeof body === "object" &&
  body !== null &&
  typeof body.start === "function" &&
  typeof body.resume === "function" &&
  typeof body.cancel === "function"

/** What `content-length` is to say; `undefined`: nothing. */
const lengthOf = (
  status: number,
  body: Uint8Array | BodySource | undefined,
  bodiless: boolean,
  declared: string | undefined
): string | undefined => {
  if (status === 204) return undefined
  if (isSource(body)) return declared !== undefined && digits.test(declared) ? declared : undefined
  if (body !== undefined) return String(body.length)
  // What a HEAD or a 304 would have had is not known here; the backend may have said it.
  return bodiless ? declared : "0"
}

const digits = /^[0-9]{1,15}$/

/** The header lines that pass on, and the place of `content-length` among them; -1 when it is not there. */
const endToEnd = (headers: HeaderList): { readonly lines: Array<string>; readonly declared: number } => {
  const lines: Array<string> = []
  let declared = -1
  const flat = headers.flat
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (isHopByHop(name)) continue
    if (name === "content-length") {
      if (declared >= 0) continue
      declared = lines.length
    }
    lines.push(name, flat[i + 1]!)
  }
  return { lines, declared }
}

const flushHead = containing((_: Host, turn: Turn) => turn.flushHead())

const cancel = (body: Answer["body"]): void => {
  if (isSource(body) && isStartable(body)) body.cancel()
}

const latin1 = (bytes: Uint8Array): string =>
  (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString("latin1")
