/**
 * Messages of the AWS event stream encoding (`application/vnd.amazon.eventstream`) out of byte chunks, cut anywhere. Checksums and headers
 * are the codec library's; this file adds what it leaves to its caller: finding whole frames in a byte stream, and a limit.
 */
import { Buffer } from "node:buffer"
import { crc32 } from "node:zlib"
import { EventStreamCodec, type Message } from "@smithy/eventstream-codec"
import { EventStreamBroken } from "./failure.ts"

/** One message. The three names are the `:event-type`, `:message-type` and `:exception-type` headers. */
export interface EventStreamFrame {
  readonly eventType: string | undefined
  /** `event`, `exception` or `error`. */
  readonly messageType: string | undefined
  readonly exceptionType: string | undefined
  /** May be a view of the chunk that was pushed: read it in the callback, or copy it. */
  readonly body: Uint8Array
}

/** The default body buffer limit of the proxy, applied to one frame. */
export const defaultMaxFrameBytes = 2_097_152

// Total length, headers length and their checksum; the message checksum closes the frame.
const preludeBytes = 12
const overheadBytes = 16

const codec = new EventStreamCodec(
  (bytes) =>
    typeof bytes === "string" ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"),
  (text) => Buffer.from(text, "utf8")
)

const stringHeader = (message: Message, name: string): string | undefined => {
  const header = Object.hasOwn(message.headers, name) ? message.headers[name] : undefined
  return header?.type === "string" ? header.value : undefined
}

const readMessage = (frame: Uint8Array): EventStreamFrame | EventStreamBroken => {
  let message: Message
  try {
    message = codec.decode(frame)
  } catch (error) {
    // The library throws plain errors; only those about checksums say so.
    const checksum = error instanceof Error && /checksum/i.test(error.message)
    return new EventStreamBroken({ reason: checksum ? "checksum" : "headers" })
  }
  return {
    eventType: stringHeader(message, ":event-type"),
    messageType: stringHeader(message, ":message-type"),
    exceptionType: stringHeader(message, ":exception-type"),
    body: message.body
  }
}

/** One stream. `onMessage` is called for every message, in order, from within `push`. Failure: `EventStreamBroken`. */
export class EventStreamDecoder {
  private readonly onMessage: (message: EventStreamFrame) => void
  private readonly maxFrameBytes: number
  private failure: EventStreamBroken | undefined
  private readonly prelude = Buffer.alloc(preludeBytes)
  /** The frame being collected from several chunks; allocated once its length is known and believed. */
  private frame: Buffer | undefined
  private filled = 0

  constructor(onMessage: (message: EventStreamFrame) => void, maxFrameBytes: number = defaultMaxFrameBytes) {
    this.onMessage = onMessage
    this.maxFrameBytes = maxFrameBytes
  }

  /** Feeds one chunk. After a broken frame nothing behind it can be found, so the decoder stays with that failure. */
  push(chunk: Uint8Array): EventStreamBroken | undefined {
    let at = 0
    while (this.failure === undefined && at < chunk.length)
      at += this.frame ? this.fill(this.frame, chunk, at) : this.open(chunk, at)
    return this.failure
  }

  end(): EventStreamBroken | undefined {
    if (this.failure === undefined && this.filled > 0) this.failure = new EventStreamBroken({ reason: "truncated" })
    return this.failure
  }

  /** Reads the prelude of the next frame, and the whole frame at once when this chunk holds it. Returns the bytes consumed. */
  private open(chunk: Uint8Array, at: number): number {
    const taken = Math.min(preludeBytes - this.filled, chunk.length - at)
    this.prelude.set(chunk.subarray(at, at + taken), this.filled)
    this.filled += taken
    if (this.filled < preludeBytes) return taken
    // Checked before the length is believed: a flipped bit in it would swallow the frames behind.
    if (crc32(this.prelude.subarray(0, 8)) !== this.prelude.readUInt32BE(8)) return this.fail("checksum", taken)
    const length = this.prelude.readUInt32BE(0)
    if (length < overheadBytes || length > this.maxFrameBytes) return this.fail("length", taken)
    if (taken === preludeBytes && chunk.length - at >= length) {
      this.deliver(chunk.subarray(at, at + length))
      return length
    }
    this.frame = Buffer.allocUnsafe(length)
    this.frame.set(this.prelude)
    return taken
  }

  private fill(frame: Buffer, chunk: Uint8Array, at: number): number {
    const taken = Math.min(frame.length - this.filled, chunk.length - at)
    frame.set(chunk.subarray(at, at + taken), this.filled)
    this.filled += taken
    if (this.filled === frame.length) this.deliver(frame)
    return taken
  }

  private deliver(frame: Uint8Array): void {
    this.frame = undefined
    this.filled = 0
    const message = readMessage(frame)
    if (message instanceof EventStreamBroken) this.failure = message
    else this.onMessage(message)
  }

  private fail(reason: EventStreamBroken["reason"], taken: number): number {
    this.failure = new EventStreamBroken({ reason })
    return taken
  }
}
