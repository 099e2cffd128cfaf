/**
 * What requests and responses have in common on the wire: a head of lines, a body of known length or in chunks, trailers. Fed
 * with bytes as they arrive and cut anywhere. Strict: what two readers could take differently is a fault, after which the
 * connection is of no use any more.
 */
import { HeaderList } from "../../src/http/header-list.ts"
import { mayTrail } from "./trailers.ts"

/** What of a message is not HTTP/1.1, or could be read in more than one way. */
export type MessageFault =
  | "line break"
  | "control character"
  | "header name"
  | "folded line"
  | "too many lines"
  | "head too long"
  | "chunk size"
  | "chunk extension"
  | "chunk extensions too long"
  | "chunk end"
  | "trailer"

/** How much is read of what is kept whole, or means nothing. */
export interface ParserLimits {
  /** Bytes of a head, and of trailers. */
  readonly head: number
  readonly lines: number
  /** Bytes of the extensions of one chunk. They are dropped as they come: this bounds the work, not memory. */
  readonly extension: number
}

const maxSizeDigits = 12

/** For each byte: 0 when no name may hold it, 1 when it may, 3 when it is a capital. */
const nameBytes = new Uint8Array(256)
for (const byte of Buffer.from("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")) nameBytes[byte] = 1
for (let byte = 0x41; byte <= 0x5a; byte++) nameBytes[byte] = 3

/** For each byte its value as a hexadecimal digit, 255 for those that are none. */
const hexDigits = new Uint8Array(256).fill(255)
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16)
  hexDigits[digit.charCodeAt(0)] = value
  hexDigits[digit.toUpperCase().charCodeAt(0)] = value
}

const tab = 9
const lf = 10
const cr = 13
const blank = 32
const colon = 58
const semicolon = 59
const equals = 61
const quote = 34
const backslash = 92
const del = 127

/** What the next byte belongs to. */
export const Place = {
  /** No message is awaited. */
  nothing: 0,
  head: 1,
  /** A body of known length. */
  counted: 2,
  /** A body that the end of the connection delimits. */
  unbounded: 3,
  chunkSize: 4,
  chunkExtension: 5,
  /** The line feed behind a size. */
  chunkStart: 6,
  chunkData: 7,
  /** The line break behind the data of a chunk. */
  chunkReturn: 8,
  chunkFeed: 9,
  trailers: 10,
  /** Another protocol than HTTP. */
  switched: 11,
  /** Empty lines before a request. */
  before: 12,
  beforeFeed: 13
} as const
export type Place = (typeof Place)[keyof typeof Place]

/** What the next byte of a chunk extension belongs to: `;name`, `;name=value` or `;name="value"` (RFC 9112 7.1.1). */
const Part = { nameStart: 0, name: 1, valueStart: 2, value: 3, quoted: 4, escaped: 5, quotedEnd: 6 } as const
type Part = (typeof Part)[keyof typeof Part]

const mayEnd = (part: Part): boolean => part === Part.name || part === Part.value || part === Part.quotedEnd

const nextPart = (part: Part, byte: number): Part | undefined => {
  switch (part) {
    case Part.nameStart:
      return nameBytes[byte] === 0 ? undefined : Part.name
    case Part.name:
      if (nameBytes[byte] !== 0) return Part.name
      return byte === semicolon ? Part.nameStart : byte === equals ? Part.valueStart : undefined
    case Part.valueStart:
      return byte === quote ? Part.quoted : nameBytes[byte] === 0 ? undefined : Part.value
    case Part.value:
      return nameBytes[byte] !== 0 ? Part.value : byte === semicolon ? Part.nameStart : undefined
    case Part.quoted:
      if (byte === quote) return Part.quotedEnd
      return byte === backslash ? Part.escaped : isText(byte) ? Part.quoted : undefined
    case Part.escaped:
      return isText(byte) ? Part.quoted : undefined
    case Part.quotedEnd:
      return byte === semicolon ? Part.nameStart : undefined
  }
}

/** @typeParam F the faults of one kind of message. */
export abstract class MessageParser<F extends object | string> {
  // What the last piece brought.

  /** Bytes of the body, of which nobody else holds the memory. */
  body: Buffer | undefined = undefined
  /** The message is whole. */
  ended = false
  trailers: HeaderList | undefined = undefined
  /** How far the piece was read: the rest belongs to no message, or to the next one. */
  consumed = 0

  protected place: Place = Place.nothing
  #stopped = false
  /** Of the body or of a chunk. */
  protected left = 0
  readonly #limits: ParserLimits
  #digits = 0
  #extension = 0
  #extensionPart: Part = Part.nameStart
  /** A head, or trailers, of which not all has come. */
  #kept: Buffer | undefined = undefined
  #keptLength = 0
  /** How many bytes of it are known to hold no end and no fault. */
  #scanned = 0
  /** Where the body of the piece is gathered: chunks of one piece leave as one. */
  #gathered: Buffer | undefined = undefined
  #gatheredLength = 0

  constructor(limits: ParserLimits) {
    this.#limits = limits
  }

  /** Reads a head. @param text with the empty line; all its line breaks are whole. */
  protected abstract readHead(text: string): F | MessageFault | undefined

  /** Takes a line of a head. @param noted the value as it counts where it tells the framing. */
  protected abstract takeLine(
    flat: Array<string>,
    name: string,
    value: string,
    noted: string
  ): F | MessageFault | undefined

  /** Why bytes cannot become a head of which not all has come: nobody waits for the end of what is none. */
  protected abstract doubt(bytes: Buffer, at: number, length: number): F | MessageFault | undefined

  protected forget(): void {
    this.body = undefined
    this.trailers = undefined
    this.ended = false
  }

  /** Reads up to the end of the message, or of the piece, of which nothing is kept. */
  protected readPiece(bytes: Buffer, from: number, length: number): F | MessageFault | undefined {
    const fault = this.#read(bytes, from, length)
    const gathered = this.#gathered
    if (gathered !== undefined) {
      const body = this.#gatheredLength === gathered.length ? gathered : gathered.subarray(0, this.#gatheredLength)
      // Whoever keeps a few bytes does not keep the memory of all the framing around them.
      this.body = 2 * body.length < gathered.length ? Buffer.from(body) : body
      this.#gathered = undefined
      this.#gatheredLength = 0
    }
    return fault
  }

  #read(bytes: Buffer, from: number, length: number): F | MessageFault | undefined {
    let at = from
    this.#stopped = false
    while (at < length && !this.#stopped) {
      switch (this.place) {
        case Place.nothing:
        case Place.switched:
          this.consumed = at
          return undefined
        case Place.before:
          if (bytes[at] === cr) {
            this.place = Place.beforeFeed
            at++
          } else this.place = Place.head
          break
        case Place.beforeFeed:
          if (bytes[at] !== lf) return "line break"
          this.place = Place.before
          at++
          break
        case Place.head:
        case Place.trailers: {
          const end = this.#blockEnd(bytes, at, length)
          if (typeof end !== "number") return end
          if (end < 0) {
            this.consumed = length
            return undefined
          }
          const text = this.#takeBlock(bytes, at, end)
          const fault = this.place === Place.head ? this.readHead(text) : this.#readTrailers(text)
          if (fault !== undefined) return fault
          at = end
          break
        }
        case Place.counted: {
          const end = Math.min(length, at + this.left)
          this.#gather(bytes, at, end, length)
          this.left -= end - at
          at = end
          if (this.left === 0) this.end()
          break
        }
        case Place.unbounded:
          this.#gather(bytes, at, length, length)
          at = length
          break
        case Place.chunkSize: {
          const byte = bytes[at]!
          const digit = hexDigits[byte]!
          if (digit !== 255) {
            if (++this.#digits > maxSizeDigits) return "chunk size"
            this.left = this.left * 16 + digit
            at++
            break
          }
          if (this.#digits === 0) return "chunk size"
          if (byte === semicolon) {
            this.#extension = 0
            this.#extensionPart = Part.nameStart
            this.place = Place.chunkExtension
            at++
          } else if (byte === cr) at = this.#sized(at)
          else return "chunk size"
          break
        }
        case Place.chunkExtension: {
          const byte = bytes[at]!
          if (byte === cr && mayEnd(this.#extensionPart)) {
            at = this.#sized(at)
            break
          }
          const part = nextPart(this.#extensionPart, byte)
          if (part === undefined) return "chunk extension"
          if (++this.#extension > this.#limits.extension) return "chunk extensions too long"
          this.#extensionPart = part
          at++
          break
        }
        case Place.chunkStart:
          if (bytes[at] !== lf) return "chunk size"
          this.place = Place.chunkData
          at++
          break
        case Place.chunkData: {
          const end = Math.min(length, at + this.left)
          this.#gather(bytes, at, end, length)
          this.left -= end - at
          at = end
          if (this.left === 0) this.place = Place.chunkReturn
          break
        }
        case Place.chunkReturn:
          if (bytes[at] !== cr) return "chunk end"
          this.place = Place.chunkFeed
          at++
          break
        case Place.chunkFeed:
          if (bytes[at] !== lf) return "chunk end"
          this.awaitChunk()
          at++
          break
      }
    }
    this.consumed = at
    return undefined
  }

  protected awaitChunk(): void {
    this.place = Place.chunkSize
    this.left = 0
    this.#digits = 0
  }

  /** At the carriage return behind a size. That of the last chunk is left, so that trailers are lines behind a line break. */
  #sized(at: number): number {
    if (this.left === 0) {
      this.place = Place.trailers
      return at
    }
    this.place = Place.chunkStart
    return at + 1
  }

  protected end(): void {
    this.place = Place.nothing
    this.ended = true
  }

  /** What comes behind waits for the next call. */
  protected stop(): void {
    this.#stopped = true
  }

  /** Copies some of the body. @param length of the piece, which no body in it exceeds. */
  #gather(bytes: Buffer, from: number, to: number, length: number): void {
    this.#gathered ??= Buffer.allocUnsafe(length - from)
    bytes.copy(this.#gathered, this.#gatheredLength, from, to)
    this.#gatheredLength += to - from
  }

  /** Where the lines that began at `at`, or in an earlier piece, end: behind the empty one. Negative when that has not come. */
  #blockEnd(bytes: Buffer, at: number, length: number): number | F | MessageFault {
    const kept = this.#kept
    if (kept === undefined) {
      const end = this.#scan(bytes, at, length)
      if (typeof end !== "number") return end
      if (end >= 0) return end - at > this.#limits.head ? "head too long" : end
      const size = length - at
      if (size > this.#limits.head) return "head too long"
      const fault = this.place === Place.head ? this.doubt(bytes, at, length) : undefined
      if (fault !== undefined) return fault
      this.#kept = Buffer.allocUnsafeSlow(Math.max(1024, 2 * size))
      bytes.copy(this.#kept, 0, at, length)
      this.#keptLength = size
      this.#scanned -= at
      return -1
    }
    const before = this.#keptLength
    const size = Math.min(before + length - at, this.#limits.head + 1)
    const room = this.#roomFor(kept, size)
    bytes.copy(room, before, at, at + size - before)
    this.#keptLength = size
    const end = this.#scan(room, this.#scanned, size)
    if (typeof end !== "number") return end
    if (end < 0) {
      if (size > this.#limits.head) return "head too long"
      return (this.place === Place.head ? this.doubt(room, 0, size) : undefined) ?? -1
    }
    if (end > this.#limits.head) return "head too long"
    this.#keptLength = end
    return at + end - before
  }

  #roomFor(kept: Buffer, size: number): Buffer {
    if (size <= kept.length) return kept
    const larger = Buffer.allocUnsafeSlow(2 * size)
    kept.copy(larger, 0, 0, this.#keptLength)
    this.#kept = larger
    return larger
  }

  /** The text of the lines that end at `end` of this piece. */
  #takeBlock(bytes: Buffer, at: number, end: number): string {
    const kept = this.#kept
    if (kept === undefined) return bytes.toString("latin1", at, end)
    this.#kept = undefined
    return kept.toString("latin1", 0, this.#keptLength)
  }

  /** Looks for the empty line. On its way it finds what stands in no line: lone halves of line breaks, control characters. */
  #scan(bytes: Buffer, from: number, to: number): number | MessageFault {
    let at = from
    while (at < to) {
      const byte = bytes[at]!
      if (isText(byte)) {
        at++
        continue
      }
      if (byte !== cr) return byte === lf ? "line break" : "control character"
      if (at + 1 >= to) break
      if (bytes[at + 1] !== lf) return "line break"
      if (at + 2 >= to) break
      if (bytes[at + 2] === cr) {
        if (at + 3 >= to) break
        return bytes[at + 3] === lf ? at + 4 : "line break"
      }
      at += 2
    }
    this.#scanned = at
    return -1
  }

  /** @param text begins with the line break behind the last chunk. */
  #readTrailers(text: string): F | MessageFault | undefined {
    if (text.length > 4) {
      const trailers = new HeaderList()
      const fault = this.readLines(text, 2, trailers.flat, true)
      if (fault !== undefined) return fault
      if (trailers.size > 0) this.trailers = trailers
    }
    this.end()
    return undefined
  }

  protected readLines(text: string, from: number, flat: Array<string>, trailing = false): F | MessageFault | undefined {
    const end = text.length - 2
    let at = from
    for (let lines = 0; at < end; lines++) {
      if (lines === this.#limits.lines) return "too many lines"
      const start = at
      let seen = 0
      let byte = text.charCodeAt(at)
      for (let kind = nameBytes[byte]!; kind !== 0; kind = nameBytes[byte]!) {
        seen |= kind
        byte = text.charCodeAt(++at)
      }
      if (at === start) return byte === blank || byte === tab ? "folded line" : "header name"
      if (byte !== colon) return "header name"
      const written = text.slice(start, at)
      const name = seen === 3 ? written.toLowerCase() : written
      do byte = text.charCodeAt(++at)
      while (byte === blank || byte === tab)
      const lineEnd = text.indexOf("\r", at)
      let valueEnd = lineEnd
      while (valueEnd > at && isBlank(text.charCodeAt(valueEnd - 1))) valueEnd--
      const value = text.slice(at, valueEnd)
      const valueStart = at
      at = lineEnd + 2
      if (trailing) {
        if (name === "content-length" || name === "transfer-encoding") return "trailer"
        if (mayTrail(name)) flat.push(name, value)
      } else {
        // A tab behind it hides `chunked` from llhttp, and not from others: what tells the framing keeps it, and is refused.
        let notedEnd = lineEnd
        while (notedEnd > valueEnd && text.charCodeAt(notedEnd - 1) === blank) notedEnd--
        const noted = notedEnd === valueEnd ? value : text.slice(valueStart, notedEnd)
        const fault = this.takeLine(flat, name, value, noted)
        if (fault !== undefined) return fault
      }
    }
    return undefined
  }
}

/** Whether a byte may stand in a value, or in whatever else runs up to the end of its line. */
const isText = (byte: number): boolean => (byte >= blank && byte !== del) || byte === tab

const isBlank = (byte: number): boolean => byte === blank || byte === tab
