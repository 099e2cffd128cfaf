/** Messages of gRPC as bytes: each behind a flag and its length (grpc/doc/PROTOCOL-HTTP2.md, Length-Prefixed-Message). */
import { failed, type GrpcFailed } from "./status.ts"

const prefixLength = 5

export const framed = (message: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(prefixLength + message.length)
  new DataView(bytes.buffer).setUint32(1, message.length)
  bytes.set(message, prefixLength)
  return bytes
}

/** Takes bytes as they come, and yields messages. */
export class Deframer {
  readonly #most: number
  readonly #told: (message: Uint8Array) => void
  readonly #prefix = new Uint8Array(prefixLength)
  /** Bytes of the prefix that are there. */
  #known = 0
  #message: Uint8Array | undefined = undefined
  #filled = 0

  /** @param most bytes that a message may have. */
  constructor(most: number, told: (message: Uint8Array) => void) {
    this.#most = most
    this.#told = told
  }

  /** Whether a message has begun that is not whole. */
  get isAmid(): boolean {
    return this.#known > 0
  }

  /** Returns why it cannot go on. */
  take(chunk: Uint8Array): GrpcFailed | undefined {
    let at = 0
    while (at < chunk.length) {
      if (this.#known < prefixLength) {
        this.#prefix[this.#known++] = chunk[at++]!
        if (this.#known < prefixLength) continue
        const fault = this.#begin()
        if (fault !== undefined) return fault
      }
      const message = this.#message!
      const part = chunk.subarray(at, at + message.length - this.#filled)
      message.set(part, this.#filled)
      this.#filled += part.length
      at += part.length
      if (this.#filled < message.length) return undefined
      this.#known = 0
      this.#filled = 0
      this.#message = undefined
      this.#told(message)
    }
    return undefined
  }

  #begin(): GrpcFailed | undefined {
    // No coding is ever accepted.
    if (this.#prefix[0] !== 0) return failed("INTERNAL", "a message is compressed, or its flag is none")
    const length = new DataView(this.#prefix.buffer).getUint32(1)
    if (length > this.#most) return failed("RESOURCE_EXHAUSTED", `a message over ${this.#most} bytes`)
    this.#message = new Uint8Array(length)
    return undefined
  }
}
