/** The body of a request, sent as its source yields it, at the pace of the connection. */
import type { Socket } from "node:net"
import type { BodyAborted, BodySink, BodySource } from "../../../src/http/body.ts"
import type { HeaderList } from "../../../src/http/header-list.ts"
import { trailerLines } from "../trailers.ts"
import { UnsendableRequest } from "./failures.ts"

/** The length that the head tells, or that it tells none. */
export type Declared = number | "chunked"

/** Whose body it is. */
export interface Uploading {
  readonly uploadFailed: (error: BodyAborted | UnsendableRequest) => void
}

export class Upload implements BodySink {
  readonly #owner: Uploading
  readonly #socket: Socket
  readonly #source: BodySource
  /** Bytes that are still to come of the declared length. */
  #left: number
  readonly #chunked: boolean
  #waiting = false
  /** Nothing more is sent. */
  over = false

  constructor(owner: Uploading, socket: Socket, source: BodySource, declared: Declared) {
    this.#owner = owner
    this.#socket = socket
    this.#source = source
    this.#chunked = declared === "chunked"
    this.#left = declared === "chunked" ? 0 : declared
  }

  begin(): void {
    this.#source.start(this)
  }

  data(chunk: Uint8Array): boolean {
    if (this.over) return false
    // An empty chunk would end the body.
    if (chunk.length === 0) return true
    const socket = this.#socket
    if (this.#chunked) {
      socket.cork()
      socket.write(`${chunk.length.toString(16)}\r\n`, "latin1")
      socket.write(chunk)
      socket.write("\r\n", "latin1")
      socket.uncork()
    } else {
      this.#left -= chunk.length
      if (this.#left < 0) {
        this.stop()
        this.#mismatched()
        return false
      }
      socket.write(chunk)
    }
    if (!socket.writableNeedDrain) return true
    this.#waiting = true
    return false
  }

  end(trailers?: HeaderList): void {
    if (this.over) return
    this.over = true
    if (this.#chunked) this.#socket.write(`0\r\n${trailerLines(trailers)}`, "latin1")
    else if (this.#left > 0) this.#mismatched()
  }

  fail(error: BodyAborted): void {
    if (this.over) return
    this.over = true
    this.#owner.uploadFailed(error)
  }

  drained(): void {
    if (!this.#waiting || this.over) return
    this.#waiting = false
    this.#source.resume()
  }

  /** Nobody wants the rest. */
  stop(): void {
    if (this.over) return
    this.over = true
    this.#source.cancel()
  }

  /** The peer would wait for bytes that never come, or take those that are too many for another request. */
  #mismatched(): void {
    this.#owner.uploadFailed(new UnsendableRequest({ part: "content-length" }))
  }
}
