/** A body source as the Readable that undici sends: its pace is the backend's, and destroying it cancels the source. */
import { Readable } from "node:stream"
import type { BodyAborted, BodySink, BodySource } from "../../src/http/body.ts"

export class Upload extends Readable implements BodySink {
  readonly #source: BodySource
  #started = false
  #waiting = false

  constructor(source: BodySource) {
    super()
    this.#source = source
  }

  override _read(): void {
    if (!this.#started) {
      this.#started = true
      this.#source.start(this)
    } else if (this.#waiting) {
      this.#waiting = false
      this.#source.resume()
    }
  }

  data(chunk: Uint8Array): boolean {
    if (this.push(chunk)) return true
    this.#waiting = true
    return false
  }

  /** Trailers stay behind: undici cannot send them, and an intermediary may drop them (RFC 9110 6.5.1). */
  end(): void {
    this.push(null)
  }

  fail(error: BodyAborted): void {
    this.destroy(error)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#source.cancel()
    done(error)
  }
}
