/** The beginning of a body that passes, kept for a trace up to the buffer limit. */
import { Buffer } from "node:buffer"
import type { BodyObserver } from "../http/body.ts"
import { defaultBodyLimit } from "./exchange.ts"

export class Capture implements BodyObserver {
  readonly #ended: () => void
  readonly #chunks: Array<Uint8Array> = []
  size = 0
  over = false
  constructor(ended: () => void) {
    this.#ended = ended
  }
  data(chunk: Uint8Array): void {
    const room = defaultBodyLimit - this.size
    if (room <= 0) return
    const kept = chunk.length <= room ? chunk : chunk.subarray(0, room)
    // A copy: whoever pushes the chunk may use its memory again.
    this.#chunks.push(kept.slice())
    this.size += kept.length
  }
  end(): void {
    this.over = true
    this.#ended()
  }
  base64(): string {
    return Buffer.concat(this.#chunks).toString("base64")
  }
}
