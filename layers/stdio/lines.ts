/** Splits bytes into lines, with a limit: a process that never ends its line must not fill our memory. */
import { Buffer } from "node:buffer"

const newline = 0x0a

/** Fed with chunks of a stream, in order. */
export class Lines {
  readonly #limit: number
  readonly #onLine: (line: string) => void
  #chunks: Array<Buffer> = []
  #bytes = 0

  /** `limit` in bytes; empty lines are not reported. */
  constructor(limit: number, onLine: (line: string) => void) {
    this.#limit = limit
    this.#onLine = onLine
  }

  /** `false`: a line is longer than the limit; what it held is dropped, and the caller should give up. */
  push(chunk: Buffer): boolean {
    let from = 0
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      if (this.#bytes + at - from > this.#limit) return this.#overflow()
      this.#end(chunk.subarray(from, at))
      from = at + 1
    }
    if (from === chunk.length) return true
    const rest = chunk.subarray(from)
    this.#chunks.push(rest)
    this.#bytes += rest.length
    return this.#bytes <= this.#limit || this.#overflow()
  }

  /** The stream is over: what it said last may lack the end of the line. */
  flush(): void {
    if (this.#bytes > 0) this.#end(Buffer.alloc(0))
  }

  #end(last: Buffer): void {
    const line = this.#chunks.length === 0 ? last : Buffer.concat([...this.#chunks, last])
    this.#chunks = []
    this.#bytes = 0
    const text = line.toString("utf8").trim()
    if (text !== "") this.#onLine(text)
  }

  #overflow(): boolean {
    this.#chunks = []
    this.#bytes = 0
    return false
  }
}
