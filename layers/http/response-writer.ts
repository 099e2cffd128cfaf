/**
 * The response to one request, written as HTTP/1.1 with as few system calls as it can be: an answer that is known whole
 * leaves in one write, otherwise the head leaves with the first chunk.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { type BodyAborted, type BodySink, type BodySource, isSource } from "../../src/http/body.ts"
import { isHopByHop } from "../../src/http/framing.ts"
import { HeaderList, isHeaderName, isHeaderValue } from "../../src/http/header-list.ts"
import type { Answer, RequestHead, Switched } from "../../src/http/message.ts"
import { type Container, contained, containing } from "../../src/services/contained.ts"
import { closeGently, reset } from "./refusal.ts"
import { pour, SocketBody } from "./socket-body.ts"

/** The connection that the response is written to. */
export interface Connected extends Container {
  /** What went wrong in the proxy itself; the client is told nothing of it. */
  readonly defect: (cause: unknown) => void
}

/** Whose response it is. */
export interface Answered {
  /** Whether the client may send no further request on its connection. */
  readonly last: boolean
  /** The response is through, or never will be. Told once. */
  readonly concluded: (status: number | undefined, failure: string | undefined, bytes: number) => void
}

/** The socket of a request that asked to change the protocol, and what came behind its head. */
export interface UpgradeSocket {
  readonly socket: Socket
  readonly head: Uint8Array
}

/** Up to this size an answer is copied behind its head, which costs less than a second buffer in the same write. */
const singleWrite = 16_384

const encoder = new TextEncoder()

export class ResponseWriter implements BodySink {
  readonly #connection: Connected
  readonly #owner: Answered
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #version: RequestHead["version"]
  readonly #upgrade: UpgradeSocket | undefined
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

  constructor(
    connection: Connected,
    owner: Answered,
    request: IncomingMessage,
    response: ServerResponse,
    version: RequestHead["version"],
    upgrade: UpgradeSocket | undefined
  ) {
    this.#connection = connection
    this.#owner = owner
    this.#request = request
    this.#response = response
    this.#version = version
    this.#upgrade = upgrade
  }

  get socket(): Socket {
    return this.#response.socket ?? this.#request.socket
  }

  get begun(): boolean {
    return this.#response.headersSent
  }

  /** A body that only the end of the connection delimits looks whole unless the connection is reset. */
  get looksWhole(): boolean {
    return this.#version === "1.0" && this.#remaining === undefined
  }

  /** Tells the client of a 1xx response; clients of HTTP/1.0 do not know such things. */
  inform(status: number, headers: HeaderList): void {
    if (this.#over || this.begun || this.#version === "1.0") return
    try {
      this.#response.writeInformation(status, headers.flat)
    } catch (cause) {
      this.#connection.defect(cause)
    }
  }

  /** Nothing more is written: the connection is gone, or is about to be cut. */
  abandon(failure: string): void {
    const source = this.#source
    if (this.#tunnel) this.#leave()
    else this.#conclude(failure)
    source?.cancel()
  }

  /** The socket of a tunnel is closed. */
  #leave(): void {
    this.#bytes = (this.#upgrade?.socket.bytesWritten ?? 0) - this.#bytes
    this.#conclude(this.#ended ? undefined : "the tunnel was cut")
  }

  /** Ends the connection; earlier answers that the client is still reading arrive. */
  breakOff(failure: string): void {
    const { socket } = this
    this.#conclude(failure)
    if (this.looksWhole) reset(socket)
    else closeGently(socket)
  }

  /** Answers for the proxy's own failure, if nothing was said yet. */
  internalError(cause: unknown): void {
    this.#connection.defect(cause)
    if (this.begun) {
      this.breakOff("internal error")
      return
    }
    this.write({ status: 500, headers: new HeaderList(["content-type", "text/plain"]), body: "internal error" })
  }

  write(answer: Answer): void {
    const fault = faultOf(answer)
    if (fault !== undefined) {
      release(answer?.body)
      this.internalError(new Error(fault))
      return
    }
    const switched = answer.switched
    if (switched !== undefined || answer.status < 200) {
      if (switched !== undefined && this.#upgrade !== undefined && answer.status === 101)
        this.#switch(answer, switched, this.#upgrade)
      else {
        release(answer.body)
        this.internalError(new Error(`answered with status ${answer.status}, which is none for this request`))
      }
      return
    }
    const bodiless = this.#request.method === "HEAD" || answer.status === 204 || answer.status === 304
    const body = typeof answer.body === "string" ? written(answer.body) : answer.body
    const { lines, declared } = endToEnd(answer.headers)
    const length = lengthOf(answer.status, body, bodiless, declared < 0 ? undefined : lines[declared + 1])
    if (declared < 0) {
      if (length !== undefined) lines.push("content-length", length)
    } else if (length === undefined) lines.splice(declared, 2)
    else lines[declared + 1] = length
    if (this.#owner.last) lines.push("connection", "close")
    this.#status = answer.status
    const response = this.#response
    try {
      response.writeHead(answer.status, lines)
    } catch (cause) {
      release(body)
      this.internalError(cause)
      return
    }
    if (bodiless || body === undefined) {
      release(body)
      response.end()
      this.#sent()
    } else if (isSource(body)) {
      this.#source = body
      this.#remaining = length === undefined ? undefined : Number(length)
      try {
        body.start(this)
      } catch (cause) {
        this.#connection.defect(cause)
        body.cancel()
        this.breakOff("internal error")
        return
      }
      // An event stream may stay silent for long: its head must not wait for its first event.
      if (!this.#flowing && !this.#ended) process.nextTick(flushHead, this.#connection, this)
    } else {
      this.#bytes = body.length
      if (typeof body === "string") response.end(body, "latin1")
      else if (body.length <= singleWrite) response.end(latin1(body), "latin1")
      else response.end(body)
      this.#sent()
    }
  }

  flushHead(): void {
    if (!this.#flowing && !this.#ended && !this.#over) this.#response.flushHeaders()
  }

  // The body of the answer, as it comes.

  data(chunk: Uint8Array): boolean {
    if (this.#over || this.#ended) return false
    if (!(chunk instanceof Uint8Array)) {
      this.#source?.cancel()
      this.internalError(new Error("a source of bytes yielded something else"))
      return false
    }
    this.#flowing = true
    this.#bytes += chunk.length
    if (this.#remaining === undefined) return this.#pass(chunk)
    this.#remaining -= chunk.length
    if (this.#remaining > 0) return this.#pass(chunk)
    if (this.#remaining < 0) {
      this.#source?.cancel()
      this.breakOff("more than the declared length")
      return false
    }
    this.#ended = true
    if (chunk.length <= singleWrite) this.#response.end(latin1(chunk), "latin1")
    else this.#response.end(chunk)
    return true
  }

  #pass(chunk: Uint8Array): boolean {
    if (this.#response.write(chunk)) return true
    if (!this.#held) {
      this.#held = true
      const drained = contained(this.#connection, () => {
        this.#held = false
        this.#source?.resume()
      })
      this.#response.once("drain", drained)
    }
    return false
  }

  end(trailers?: HeaderList): void {
    if (this.#over) return
    this.#source = undefined
    if (!this.#ended) {
      if (this.#remaining !== undefined && this.#remaining > 0) {
        this.breakOff("less than the declared length")
        return
      }
      this.#ended = true
      if (trailers !== undefined && this.#remaining === undefined) this.#addTrailers(trailers)
      this.#response.end()
    }
    this.#sent()
  }

  #addTrailers(trailers: HeaderList): void {
    try {
      this.#response.addTrailers(Array.from(trailers, ([name, value]): [string, string] => [name, value]))
    } catch (cause) {
      this.#connection.defect(cause)
    }
  }

  fail(error: BodyAborted): void {
    if (this.#over) return
    this.#source = undefined
    // All bytes that were promised have left: nobody can tell the difference.
    if (this.#ended) this.#sent()
    else this.breakOff(error.message)
  }

  /** Everything was handed to the socket. The exchange is over when the system has taken it. */
  #sent(): void {
    const response = this.#response
    const socket = response.socket
    if (socket === null || socket.writableLength === 0) this.#conclude(undefined)
    else {
      const finished = contained(this.#connection, () => this.#conclude(undefined))
      response.once("finish", finished)
    }
  }

  #conclude(failure: string | undefined): void {
    if (this.#over) return
    this.#over = true
    this.#source = undefined
    this.#owner.concluded(this.#status, failure, this.#bytes)
  }

  /** Leaves HTTP: from here on bytes pass both ways until both directions have ended. */
  #switch(answer: Answer, switched: Switched, { socket, head }: UpgradeSocket): void {
    let lines = "HTTP/1.1 101 Switching Protocols\r\n"
    for (const [name, value] of answer.headers) {
      if (isHopByHop(name)) continue
      if (!isHeaderName(name) || !isHeaderValue(value)) {
        release(answer.body)
        this.internalError(new Error(`${name} is no header that can be sent`))
        return
      }
      lines += `${name}: ${value}\r\n`
    }
    lines += `connection: upgrade\r\nupgrade: ${switched.protocol}\r\n\r\n`
    this.#status = 101
    this.#response.detachSocket(socket)
    socket.write(lines, "latin1")
    this.#bytes = socket.bytesWritten
    this.#tunnel = true
    switched.outbound(new SocketBody(socket, head, "client", this.#connection))
    const body = answer.body
    if (isSource(body)) {
      this.#source = body
      pour(body, socket, this.#connection, (failure) => {
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
  body: Answer["body"],
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

const flushHead = containing((_: Connected, writer: ResponseWriter) => writer.flushHead())

/** Nobody will read it. */
export const release = (body: Answer["body"]): void => {
  if (isSource(body) && isStartable(body)) body.cancel()
}

/** A small text whose characters are bytes as they are, or its bytes. */
const written = (text: string): string | Uint8Array =>
  text.length <= singleWrite && Buffer.byteLength(text) === text.length ? text : encoder.encode(text)

const latin1 = (bytes: Uint8Array): string =>
  (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString("latin1")
