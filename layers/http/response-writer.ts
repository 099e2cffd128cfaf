/**
 * The response to one request, written as HTTP/1.1 with as few system calls as it can be: an answer that is known whole
 * leaves in one write, otherwise the head leaves with the first chunk.
 */
import type { Socket } from "node:net"
import { type BodyAborted, type BodySink, type BodySource, isSource } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer, RequestHead, Switched } from "../../src/http/message.ts"
import type { Container } from "../../src/services/contained.ts"
import { pour } from "./pour.ts"
import { closeGently, reset } from "./refusal.ts"
import { interimHead, responseHead } from "./response-head.ts"
import { trailerLines } from "./trailers.ts"
import type { Tunnel } from "./tunnel.ts"
import { atEndOfTurn, type Departing } from "./turn.ts"

/** The connection that the response is written to. */
export interface Connected extends Container {
  readonly socket: Socket
  /** What went wrong in the proxy itself; the client is told nothing of it. */
  readonly defect: (cause: unknown) => void
  /** Milliseconds since 1970. */
  readonly wall: () => number
  /** Called when the system has taken what was written; it tells the response that is being written. */
  readonly flushed: (error?: unknown) => void
  /** Leaves HTTP: what the client sends from here on. */
  readonly leave: () => Tunnel
}

/** Whose response it is. */
export interface Answered {
  /** Whether the client may send no further request on its connection. */
  readonly last: boolean
  /** The response is through, or never will be. Told once. */
  readonly concluded: (status: number | undefined, failure: string | undefined, bytes: number) => void
}

/** As much of small pieces does not wait for the end of the turn. */
const mostOutgoing = 65_536

/** Up to this size an answer is copied behind its head, which costs less than a second buffer in the same write. */
const singleWrite = 16_384

const encoder = new TextEncoder()

export class ResponseWriter implements BodySink, Departing {
  readonly #connection: Connected
  readonly #owner: Answered
  readonly #method: string
  readonly #version: RequestHead["version"]
  /** Whether the client asked to change the protocol, and may be granted it. */
  readonly #upgrading: boolean
  #source: BodySource | undefined = undefined
  #status: number | undefined = undefined
  /** The head, as long as none of the body has come. */
  #head = ""
  /** What leaves at the end of the turn. */
  #outgoing = ""
  #departing = false
  /** Bytes of the body that were sent; of a tunnel, those that the socket had sent when it began. */
  #bytes = 0
  /** Bytes of the declared length that are still to come; `undefined` when none was declared. */
  #remaining: number | undefined = undefined
  #chunked = false
  /** The client reads more slowly than the source yields. */
  #held = false
  #ended = false
  /** There is nothing more to write than what waits. */
  #whole = false
  /** HTTP is over on this connection; it is through when the socket closes. */
  #tunnel = false
  /** Why the other end of a tunnel broke off. */
  #cause: string | undefined = undefined
  #over = false
  /** The response says that it is the last. */
  last = false

  constructor(connection: Connected, owner: Answered, { method, version }: RequestHead, upgrading: boolean) {
    this.#connection = connection
    this.#owner = owner
    this.#method = method
    this.#version = version
    this.#upgrading = upgrading
  }

  /** The final response is decided, and has left or is about to. */
  get begun(): boolean {
    return this.#status !== undefined
  }

  /** A body that only the end of the connection delimits looks whole unless the connection is reset. */
  get looksWhole(): boolean {
    return this.#version === "1.0" && this.#remaining === undefined
  }

  /** Tells the client of a 1xx response; clients of HTTP/1.0 do not know such things. */
  inform(status: number, headers: HeaderList): void {
    if (this.#over || this.begun || this.#version === "1.0") return
    const head = interimHead(status, headers)
    if (typeof head === "string") this.#connection.socket.write(head, "latin1")
    else this.#connection.defect(unsendable(head.unsendable))
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
    this.#bytes = this.#connection.socket.bytesWritten - this.#bytes
    const cause = this.#cause === undefined ? "" : `: ${this.#cause}`
    this.#conclude(this.#ended ? undefined : `the tunnel was cut${cause}`)
  }

  /** Ends the connection; earlier answers that the client is still reading arrive. */
  breakOff(failure: string): void {
    const { socket } = this.#connection
    this.last = true
    if (!this.#over) this.#write()
    if (this.looksWhole) reset(socket)
    else closeGently(socket)
    this.#conclude(failure)
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
    const { status, headers, switched } = answer
    if (switched !== undefined || status < 200) {
      const granted = this.#method === "CONNECT" ? 200 : 101
      if (switched !== undefined && this.#upgrading && status === granted) this.#switch(answer, switched)
      else {
        release(answer.body)
        this.internalError(new Error(`answered with status ${status}, which is none for this request`))
      }
      return
    }
    if (this.#method === "CONNECT" && status < 300) {
      // Such a status stands for a tunnel.
      release(answer.body)
      this.write({ status: 500, headers: new HeaderList(["content-type", "text/plain"]), body: noTunnel })
      return
    }
    const bodiless = this.#method === "HEAD" || status === 204 || status === 304
    const body = typeof answer.body === "string" ? written(answer.body) : answer.body
    const length = lengthOf(status, body, bodiless, headers)
    const delimited = bodiless || length !== undefined
    const chunked = !delimited && this.#version !== "1.0"
    const last = this.#owner.last || !(delimited || chunked)
    const head = responseHead(status, headers, { length, chunked, last }, this.#connection.wall())
    if (typeof head !== "string") {
      release(body)
      this.internalError(unsendable(head.unsendable))
      return
    }
    this.#status = status
    this.last = last
    const { socket } = this.#connection
    // The client is gone, and whoever holds the connection is about to be told so.
    if (!socket.writable) {
      release(body)
      return
    }
    if (bodiless || body === undefined) {
      release(body)
      this.#departWith(head)
      this.#complete()
    } else if (isSource(body)) {
      this.#head = head
      this.#source = body
      this.#chunked = chunked
      this.#remaining = length === undefined ? undefined : Number(length)
      try {
        body.start(this)
      } catch (cause) {
        this.#connection.defect(cause)
        body.cancel()
        this.breakOff("internal error")
        return
      }
      // An event stream may stay silent for long: its head does not wait for its first event.
      this.#departSoon()
    } else {
      this.#bytes = body.length
      if (typeof body === "string") this.#departWith(head + body)
      else this.#put(head, body, "")
      this.#complete()
    }
  }

  #departWith(text: string): void {
    this.#outgoing += text
    if (this.#outgoing.length > mostOutgoing) this.#write()
    else this.#departSoon()
  }

  #departSoon(): void {
    if (this.#departing) return
    this.#departing = true
    atEndOfTurn(this)
  }

  depart(): void {
    this.#departing = false
    if (this.#over) return
    this.#outgoing += this.#takeHead()
    this.#write()
    this.#settle()
  }

  /** What waits for the end of the turn leaves now. */
  #write(): void {
    const text = this.#outgoing
    const { socket, flushed } = this.#connection
    if (text === "" || !socket.writable) return
    this.#outgoing = ""
    socket.write(text, "latin1", flushed)
  }

  contain(cause: unknown): void {
    this.#connection.contain(cause)
  }

  #takeHead(): string {
    const head = this.#head
    this.#head = ""
    return head
  }

  // The body of the answer, as it comes.

  data(chunk: Uint8Array): boolean {
    const { socket } = this.#connection
    if (this.#over || this.#ended || !socket.writable) return false
    if (!(chunk instanceof Uint8Array)) {
      this.#source?.cancel()
      this.internalError(new Error("a source of bytes yielded something else"))
      return false
    }
    // An empty chunk would end the body.
    if (chunk.length === 0) return !this.#held
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
    this.#frame(chunk)
    return true
  }

  #pass(chunk: Uint8Array): boolean {
    this.#frame(chunk)
    if (!this.#connection.socket.writableNeedDrain) return true
    this.#held = true
    return false
  }

  /** Writes a chunk with what belongs to it. */
  #frame(chunk: Uint8Array): void {
    const head = this.#takeHead()
    if (this.#chunked) this.#put(`${head}${chunk.length.toString(16)}\r\n`, chunk, "\r\n")
    else this.#put(head, chunk, "")
  }

  #put(before: string, bytes: Uint8Array, after: string): void {
    if (bytes.length <= singleWrite) {
      this.#departWith(before + latin1(bytes) + after)
      return
    }
    const { socket, flushed } = this.#connection
    socket.cork()
    this.#outgoing += before
    this.#write()
    socket.write(bytes, flushed)
    if (after !== "") socket.write(after, "latin1", flushed)
    socket.uncork()
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
      // As above: it will be told.
      if (!this.#connection.socket.writable) return
      this.#departWith(this.#takeHead() + (this.#chunked ? `0\r\n${trailerLines(trailers)}` : ""))
    }
    this.#complete()
  }

  fail(error: BodyAborted): void {
    if (this.#over) return
    this.#source = undefined
    // All bytes that were promised have left: nobody can tell the difference.
    if (this.#ended) this.#complete()
    else this.breakOff(error.message)
  }

  /** The socket has room again. */
  drained(): void {
    if (!this.#held) return
    this.#held = false
    this.#source?.resume()
  }

  /** The system has taken some more. */
  flushed(): void {
    this.#settle()
  }

  /** Nothing more is to be written. */
  #complete(): void {
    this.#whole = true
    this.#settle()
  }

  /** The exchange is over when the system has taken all of it. */
  #settle(): void {
    if (this.#whole && this.#outgoing === "" && this.#connection.socket.writableLength === 0) this.#conclude(undefined)
  }

  #conclude(failure: string | undefined): void {
    if (this.#over) return
    this.#over = true
    this.#source = undefined
    this.#owner.concluded(this.#status, failure, this.#bytes)
  }

  /** Leaves HTTP: from here on bytes pass both ways until both directions have ended. */
  #switch({ headers, body }: Answer, { protocol, outbound }: Switched): void {
    const connecting = this.#method === "CONNECT"
    const status = connecting ? 200 : 101
    if (connecting) headers.delete("content-length")
    const head = interimHead(status, headers)
    if (typeof head !== "string") {
      release(body)
      this.internalError(unsendable(head.unsendable))
      return
    }
    const { socket } = this.#connection
    this.#status = status
    const change = connecting ? "" : `connection: upgrade\r\nupgrade: ${protocol}\r\n`
    socket.write(`${head.slice(0, -2)}${change}\r\n`, "latin1")
    this.#bytes = socket.bytesWritten
    this.#tunnel = true
    outbound(this.#connection.leave())
    if (isSource(body)) {
      this.#source = body
      pour(body, socket, this.#connection, (failure) => {
        this.#ended = failure === undefined
        this.#cause = failure?.cause
      })
    } else if (body === undefined) socket.end()
    else socket.end(body)
  }
}

const noTunnel = "nothing here leads through a tunnel"

export const unsendable = (name: string): Error => new Error(`${name} is no header that can be sent`)

/**
 * Why something cannot be sent as an answer; `undefined` when it can, but for its header lines. Policies and programs around
 * the proxy need not be type-checked.
 */
export const faultOf = (answer: Answer): string | undefined => {
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
export const lengthOf = (
  status: number,
  body: Answer["body"],
  bodiless: boolean,
  headers: HeaderList
): string | undefined => {
  if (status === 204) return undefined
  if (body !== undefined && !isSource(body)) return String(body.length)
  if (body === undefined && !bodiless) return "0"
  // What a HEAD or a 304 would have had is not known here; the backend may have said it.
  const declared = headers.get("content-length")
  return declared !== undefined && digits.test(declared) ? declared : undefined
}

const digits = /^[0-9]{1,15}$/

/** Nobody will read it. */
export const release = (body: Answer["body"]): void => {
  if (isSource(body) && isStartable(body)) body.cancel()
}

/** A small text whose characters are bytes as they are, or its bytes. */
export const written = (text: string): string | Uint8Array =>
  text.length <= singleWrite && Buffer.byteLength(text) === text.length ? text : encoder.encode(text)

const latin1 = (bytes: Uint8Array): string =>
  (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString("latin1")
