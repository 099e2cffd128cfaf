/** The body of a request, sent over a stream as its source yields it, at the pace of the peer. */
import type { ClientHttp2Stream } from "node:http2"
import type { BodyAborted, BodySink, BodySource } from "../../../src/http/body.ts"
import { UnsendableRequest } from "../../http/client/failures.ts"
import type { Declared, Uploading } from "../../http/client/upload.ts"

export class StreamUpload implements BodySink {
  readonly #owner: Uploading
  readonly #stream: ClientHttp2Stream
  readonly #source: BodySource
  /** Bytes that are still to come of the declared length; `undefined`: there is none. */
  #left: number | undefined
  #waiting = false
  /** Nothing more is sent. */
  over = false

  constructor(owner: Uploading, stream: ClientHttp2Stream, source: BodySource, declared: Declared) {
    this.#owner = owner
    this.#stream = stream
    this.#source = source
    this.#left = declared === "chunked" ? undefined : declared
  }

  begin(): void {
    this.#source.start(this)
  }

  data(chunk: Uint8Array): boolean {
    if (this.over) return false
    if (chunk.length === 0) return true
    if (this.#left !== undefined) {
      this.#left -= chunk.length
      if (this.#left < 0) {
        this.stop()
        this.#mismatched()
        return false
      }
    }
    if (this.#stream.write(chunk)) return true
    this.#waiting = true
    return false
  }

  /**
   * Trailers stay behind, as any intermediary may decide (RFC 9110 6.5.1). The runtime would have to be told at the beginning that
   * there might be some, and it ends the whole process where such a stream is reset at the wrong moment (node 26.10,
   * `Http2Stream::OnTrailers`).
   */
  end(): void {
    if (this.over) return
    this.over = true
    if (this.#left !== undefined && this.#left > 0) {
      this.#mismatched()
      return
    }
    this.#stream.end()
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

  #mismatched(): void {
    this.#owner.uploadFailed(new UnsendableRequest({ part: "content-length" }))
  }
}
