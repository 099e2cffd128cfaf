/**
 * Server-sent events out of byte chunks, cut anywhere: inside a line, a CRLF, a UTF-8 sequence. It reads a copy of a stream whose bytes
 * are forwarded as they came, so it never alters a chunk and keeps none.
 *
 * Not built on `eventsource-parser`: its one limit counts characters of a whole event and is looked at once per chunk, so that a stream
 * would pass or fail by how it happened to be cut; it also drops the unfinished last event (see `end`). It is the oracle of the tests.
 */
import { Buffer, isAscii } from "node:buffer"
import type { SseEvent } from "../formats/stream.ts"
import { defaultSseLimits, type SseLimits, SseTooLarge } from "./limit.ts"

/** One event as it was read. `event` and `id` are what it said of itself, `undefined` when it did not. */
export interface DecodedEvent extends SseEvent {
  readonly event: string | undefined
  readonly id: string | undefined
}

const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58
const D = 100
const E = 101
const I = 105

const view = (chunk: Uint8Array): Buffer =>
  Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)

const textOf = (bytes: Buffer, text: string | undefined, start: number, end: number): string =>
  text === undefined ? bytes.toString("utf8", start, end) : text.slice(start, end)

/** A text is searched for a sixth of what a call of the native search over bytes takes. */
const nextLf = (bytes: Buffer, text: string | undefined, from: number): number =>
  text === undefined ? bytes.indexOf(LF, from) : text.indexOf("\n", from)

/** Where the value of the field `name` begins in this line, or -1 when the line is of another field. A name alone has an empty value. */
const valueStart = (bytes: Buffer, start: number, end: number, name: string): number => {
  const nameEnd = start + name.length
  if (nameEnd > end) return -1
  for (let i = 1; i < name.length; i++) if (bytes[start + i] !== name.charCodeAt(i)) return -1
  if (nameEnd === end) return end
  if (bytes[nameEnd] !== COLON) return -1
  return nameEnd + 1 < end && bytes[nameEnd + 1] === SPACE ? nameEnd + 2 : nameEnd + 1
}

/** A chunk up to this size is rather one event than many: those are made into text one by one. */
const fewEvents = 1024

/** One stream. `onEvent` is called for every event, in order, from within `push` and `end`. Failure: `SseTooLarge`. */
export class SseDecoder {
  private readonly onEvent: (event: DecodedEvent) => void
  private readonly limits: SseLimits
  private failure: SseTooLarge | undefined
  /** Pieces of a line whose end has not come yet; joined once, so that a long line in small chunks stays linear. */
  private held: Array<Buffer> = []
  private heldBytes = 0
  /** The last chunk ended in CR: a LF at the start of the next one belongs to it. */
  private afterCr = false
  private firstLine = true
  private event: string | undefined
  private id: string | undefined
  private data: string | undefined
  private dataBytes = 0
  private pushedBytes = 0
  private boundary = 0

  constructor(onEvent: (event: DecodedEvent) => void, limits: SseLimits = defaultSseLimits) {
    this.onEvent = onEvent
    this.limits = limits
  }

  /** How many of the pushed bytes belong to events that are over: those behind it are of an event that is still coming. */
  get eventBoundary(): number {
    return this.boundary
  }

  /** Feeds one chunk. Once a limit was passed the decoder is dead and keeps returning that failure. */
  push(chunk: Uint8Array): SseTooLarge | undefined {
    if (this.failure !== undefined || chunk.length === 0) return this.failure
    const bytes = view(chunk)
    // Made into text once, where a character is a byte; its lines are parts of it.
    const text = bytes.length > fewEvents && isAscii(bytes) ? bytes.toString("latin1") : undefined
    let start = this.afterCr && bytes[0] === LF ? 1 : 0
    this.afterCr = false
    let lf = bytes.indexOf(LF, start)
    let cr = bytes.indexOf(CR, start)
    while (start < bytes.length) {
      // Each terminator is searched again only once it lies behind: one scan per chunk and terminator.
      if (lf !== -1 && lf < start) lf = bytes[start] === LF ? start : nextLf(bytes, text, start)
      if (cr !== -1 && cr < start) cr = bytes.indexOf(CR, start)
      const end = cr === -1 ? lf : lf === -1 ? cr : Math.min(lf, cr)
      if (end === -1) {
        this.hold(bytes.subarray(start))
        break
      }
      const blank = end === start && this.heldBytes === 0
      this.endLine(bytes, text, start, end)
      if (this.failure !== undefined) break
      start = end + 1
      if (end === cr) {
        if (start === bytes.length) this.afterCr = true
        else if (bytes[start] === LF) start++
      }
      if (blank) this.boundary = this.pushedBytes + start
    }
    this.pushedBytes += bytes.length
    return this.failure
  }

  /**
   * The stream is over. What its last lines left unfinished counts as an event: the standard drops it, but providers do end a stream
   * without the closing blank line, and the dropped event would be the one that holds the usage.
   */
  end(): SseTooLarge | undefined {
    if (this.failure === undefined && this.heldBytes > 0) this.endLine(Buffer.alloc(0), undefined, 0, 0)
    if (this.failure === undefined) this.dispatch()
    return this.failure
  }

  private hold(rest: Buffer): void {
    this.heldBytes += rest.length
    if (this.heldBytes > this.limits.maxLineBytes) this.fail("line", this.limits.maxLineBytes)
    else this.held.push(Buffer.from(rest))
  }

  private endLine(bytes: Buffer, text: string | undefined, start: number, end: number): void {
    if (this.heldBytes + end - start > this.limits.maxLineBytes) this.fail("line", this.limits.maxLineBytes)
    else if (this.heldBytes === 0) this.line(bytes, text, start, end)
    else {
      const line = Buffer.concat([...this.held, bytes.subarray(start, end)])
      this.held = []
      this.heldBytes = 0
      this.line(line, undefined, 0, line.length)
    }
  }

  /** @param text what the bytes say, where it was made. */
  private line(bytes: Buffer, text: string | undefined, from: number, end: number): void {
    let start = from
    if (this.firstLine) {
      this.firstLine = false
      if (end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf)
        start += 3
    }
    // The field names differ in their first letter; comments and unknown fields are dropped without decoding.
    const first = start === end ? undefined : bytes[start]
    if (first === undefined) this.dispatch()
    else if (first === D) this.dataField(bytes, text, valueStart(bytes, start, end, "data"), end)
    else if (first === E) {
      const value = valueStart(bytes, start, end, "event")
      if (value !== -1) this.event = value === end ? undefined : textOf(bytes, text, value, end)
    } else if (first === I) {
      const value = valueStart(bytes, start, end, "id")
      const id = value === -1 ? undefined : textOf(bytes, text, value, end)
      // An id that contains NUL is ignored (WHATWG HTML, 9.2.6).
      if (id !== undefined && !id.includes("\0")) this.id = id
    }
  }

  private dataField(bytes: Buffer, text: string | undefined, value: number, end: number): void {
    if (value === -1) return
    this.dataBytes += end - value
    if (this.dataBytes > this.limits.maxEventBytes) this.fail("event", this.limits.maxEventBytes)
    else {
      const data = textOf(bytes, text, value, end)
      this.data = this.data === undefined ? data : `${this.data}\n${data}`
    }
  }

  private dispatch(): void {
    const { data, event, id } = this
    this.data = this.event = this.id = undefined
    this.dataBytes = 0
    if (data !== undefined) this.onEvent({ event, data, id })
  }

  private fail(what: "line" | "event", limit: number): void {
    this.failure = new SseTooLarge({ what, limit })
    this.held = []
    this.heldBytes = 0
    this.data = undefined
  }
}
