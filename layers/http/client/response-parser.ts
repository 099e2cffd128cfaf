/**
 * Reads the responses that come over one connection, fed with bytes as they arrive and cut anywhere. Strict: what nginx,
 * HAProxy, Node and Go would not all read in the same way is a fault, after which the connection is of no use any more.
 */
import { isHopByHop } from "../../../src/http/framing.ts"
import { HeaderList } from "../../../src/http/header-list.ts"
import { notTrailing } from "../header-lines.ts"
import { MalformedResponse, type ResponseFault, UnreadableCoding } from "./failures.ts"

/** The head of a response. */
export interface ResponseHead {
  readonly status: number
  /** Without those that concern the connection. */
  readonly headers: HeaderList
  /** The protocol that a 101 names. */
  readonly upgrade: string | undefined
}

/** Bytes of a head, and of trailers, as for requests. */
const maxHeadBytes = 65_536
const maxLines = 1_000
const maxInterim = 1_000
/** Extensions are dropped as they come: this bounds the work, not memory. */
const maxExtensionBytes = 131_072
/** 999,999,999,999,999 bytes: the most that a double counts exactly. */
const maxLengthDigits = 15
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
const Place = {
  /** No response is awaited. */
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
  switched: 11
} as const
type Place = (typeof Place)[keyof typeof Place]

/** What stays whatever `connection` claims. */
const notNominable = new Set(["close", "keep-alive", ...notTrailing])

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

export type ParserFault = MalformedResponse | UnreadableCoding

export class ResponseParser {
  // What the last piece brought.

  /** The 1xx responses, but for 101. */
  interim: Array<ResponseHead> | undefined = undefined
  /** The final head, or that of a 101. */
  head: ResponseHead | undefined = undefined
  /** Bytes of the body, of which nobody else holds the memory. */
  body: Buffer | undefined = undefined
  /** The response is whole. */
  ended = false
  trailers: HeaderList | undefined = undefined
  /** How many bytes of the piece were read: the rest belongs to no response. */
  consumed = 0

  // What the response says of the connection.

  /** Another request may follow, once the response has ended. */
  persistent = false
  /** Seconds that the peer keeps the connection when it is idle. */
  keepAlive: number | undefined = undefined
  /** Some of the response has come. */
  started = false

  #place: Place = Place.nothing
  #bodiless = false
  #upgrading = false
  #interims = 0
  /** Of the body or of a chunk. */
  #left = 0
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

  // What the lines of the head say, while it is read.

  #length: number | undefined = undefined
  #coding: string | undefined = undefined
  #connection: string | undefined = undefined
  #upgrade: string | undefined = undefined

  /** Awaits the response of a request. @param bodiless that of HEAD. @param upgrading the request asked for another protocol. */
  begin(bodiless: boolean, upgrading: boolean): void {
    this.#place = Place.head
    this.#bodiless = bodiless
    this.#upgrading = upgrading
    this.#interims = 0
    this.started = false
    this.persistent = false
    this.keepAlive = undefined
    this.#forget()
  }

  #forget(): void {
    this.interim = undefined
    this.head = undefined
    this.body = undefined
    this.trailers = undefined
    this.ended = false
    this.consumed = 0
  }

  /** Whether another request may follow the response, whose final head has come, once up to `bytes` more of it have. */
  mayFollowWithin(bytes: number): boolean {
    if (!this.persistent) return false
    return this.#place === Place.counted ? this.#left <= bytes : this.ended || this.#place > Place.unbounded
  }

  /** Reads the first `length` bytes, none of which are kept; tells why they cannot be a response. */
  feed(bytes: Buffer, length: number): ParserFault | undefined {
    this.#forget()
    if (length > 0) this.started = true
    const fault = this.#read(bytes, length)
    const gathered = this.#gathered
    if (gathered !== undefined) {
      this.body = this.#gatheredLength === gathered.length ? gathered : gathered.subarray(0, this.#gatheredLength)
      this.#gathered = undefined
      this.#gatheredLength = 0
    }
    return fault
  }

  /** The peer sends no more: whether that ends the response as it should. */
  finish(): boolean {
    this.#forget()
    if (this.#place !== Place.unbounded) return false
    this.#place = Place.nothing
    this.ended = true
    return true
  }

  #read(bytes: Buffer, length: number): ParserFault | undefined {
    let at = 0
    while (at < length) {
      switch (this.#place) {
        case Place.nothing:
        case Place.switched:
          this.consumed = at
          return undefined
        case Place.head:
        case Place.trailers: {
          const end = this.#blockEnd(bytes, at, length)
          if (typeof end !== "number") return end
          if (end < 0) {
            this.consumed = length
            return undefined
          }
          const text = this.#takeBlock(bytes, at, end)
          const fault = this.#place === Place.head ? this.#readHead(text) : this.#readTrailers(text)
          if (fault !== undefined) return fault
          at = end
          break
        }
        case Place.counted: {
          const end = Math.min(length, at + this.#left)
          this.#gather(bytes, at, end, length)
          this.#left -= end - at
          at = end
          if (this.#left === 0) this.#end()
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
            if (++this.#digits > maxSizeDigits) return malformed("chunk size")
            this.#left = this.#left * 16 + digit
            at++
            break
          }
          if (this.#digits === 0) return malformed("chunk size")
          if (byte === semicolon) {
            this.#extension = 0
            this.#extensionPart = Part.nameStart
            this.#place = Place.chunkExtension
            at++
          } else if (byte === cr) at = this.#sized(at)
          else return malformed("chunk size")
          break
        }
        case Place.chunkExtension: {
          const byte = bytes[at]!
          if (byte === cr && mayEnd(this.#extensionPart)) {
            at = this.#sized(at)
            break
          }
          const part = nextPart(this.#extensionPart, byte)
          if (part === undefined || ++this.#extension > maxExtensionBytes) return malformed("chunk extension")
          this.#extensionPart = part
          at++
          break
        }
        case Place.chunkStart:
          if (bytes[at] !== lf) return malformed("chunk size")
          this.#place = Place.chunkData
          at++
          break
        case Place.chunkData: {
          const end = Math.min(length, at + this.#left)
          this.#gather(bytes, at, end, length)
          this.#left -= end - at
          at = end
          if (this.#left === 0) this.#place = Place.chunkReturn
          break
        }
        case Place.chunkReturn:
          if (bytes[at] !== cr) return malformed("chunk end")
          this.#place = Place.chunkFeed
          at++
          break
        case Place.chunkFeed:
          if (bytes[at] !== lf) return malformed("chunk end")
          this.#awaitChunk()
          at++
          break
      }
    }
    this.consumed = at
    return undefined
  }

  #awaitChunk(): void {
    this.#place = Place.chunkSize
    this.#left = 0
    this.#digits = 0
  }

  /** At the carriage return behind a size. That of the last chunk is left, so that trailers are lines behind a line break. */
  #sized(at: number): number {
    if (this.#left === 0) {
      this.#place = Place.trailers
      return at
    }
    this.#place = Place.chunkStart
    return at + 1
  }

  #end(): void {
    this.#place = Place.nothing
    this.ended = true
  }

  /** Copies some of the body. @param length of the piece, which no body in it exceeds. */
  #gather(bytes: Buffer, from: number, to: number, length: number): void {
    this.#gathered ??= Buffer.allocUnsafe(length - from)
    bytes.copy(this.#gathered, this.#gatheredLength, from, to)
    this.#gatheredLength += to - from
  }

  /** Where the lines that began at `at`, or in an earlier piece, end: behind the empty one. Negative when that has not come. */
  #blockEnd(bytes: Buffer, at: number, length: number): number | MalformedResponse {
    const kept = this.#kept
    if (kept === undefined) {
      const end = this.#scan(bytes, at, length)
      if (typeof end !== "number") return end
      if (end >= 0) return end - at > maxHeadBytes ? malformed("head too long") : end
      const size = length - at
      if (size > maxHeadBytes) return malformed("head too long")
      if (this.#place === Place.head && !beginsWell(bytes, at, length)) return malformed("status line")
      this.#kept = Buffer.allocUnsafeSlow(Math.max(1024, 2 * size))
      bytes.copy(this.#kept, 0, at, length)
      this.#keptLength = size
      this.#scanned -= at
      return -1
    }
    const before = this.#keptLength
    const size = Math.min(before + length - at, maxHeadBytes + 1)
    const room = this.#roomFor(kept, size)
    bytes.copy(room, before, at, at + size - before)
    this.#keptLength = size
    const end = this.#scan(room, this.#scanned, size)
    if (typeof end !== "number") return end
    if (end < 0) {
      if (size > maxHeadBytes) return malformed("head too long")
      return this.#place === Place.head && !beginsWell(room, 0, size) ? malformed("status line") : -1
    }
    if (end > maxHeadBytes) return malformed("head too long")
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
  #scan(bytes: Buffer, from: number, to: number): number | MalformedResponse {
    let at = from
    while (at < to) {
      const byte = bytes[at]!
      if (isText(byte)) {
        at++
        continue
      }
      if (byte !== cr) return malformed(byte === lf ? "line break" : "control character")
      if (at + 1 >= to) break
      if (bytes[at + 1] !== lf) return malformed("line break")
      if (at + 2 >= to) break
      if (bytes[at + 2] === cr) {
        if (at + 3 >= to) break
        return bytes[at + 3] === lf ? at + 4 : malformed("line break")
      }
      at += 2
    }
    this.#scanned = at
    return -1
  }

  /** @param text with the empty line; all its line breaks are whole. */
  #readHead(text: string): ParserFault | undefined {
    if (!text.startsWith("HTTP/")) return malformed("status line")
    if (!text.startsWith("1.", 5)) return malformed("version")
    const minor = text.charCodeAt(7) - 48
    if ((minor !== 1 && minor !== 0) || text.charCodeAt(8) !== blank) return malformed("version")
    const status = statusAt(text, 9)
    const behind = text.charCodeAt(12)
    if (status === undefined || (behind !== blank && behind !== cr)) return malformed("status")
    if (status < 100 || status > 599) return malformed("status")
    this.#length = undefined
    this.#coding = undefined
    this.#connection = undefined
    this.#upgrade = undefined
    const headers = new HeaderList()
    const fault = this.#readLines(text, text.indexOf("\r", 12) + 2, headers, false)
    if (fault !== undefined) return fault
    const connection = this.#connection
    const closing = connection !== undefined && connection !== "keep-alive" && nominate(connection, headers)
    const head = { status, headers, upgrade: this.#upgrade }
    if (status >= 200) return this.#conclude(head, minor === 0, closing)
    if (minor === 0) return malformed("interim response in HTTP/1.0")
    if (closing && status !== 101) return malformed("interim response that closes")
    if (this.#coding !== undefined) return malformed("interim response with a body")
    // None has a body (RFC 9112 6.3): whoever believed its length would take the next response for one.
    headers.delete("content-length")
    if (status === 101) {
      if (!this.#upgrading) return malformed("101 that nobody asked for")
      this.#place = Place.switched
      this.head = head
      return undefined
    }
    // It answers `expect`, which is never sent: whoever sends it answers something else.
    if (status === 100) return malformed("100 that nobody asked for")
    if (++this.#interims > maxInterim) return malformed("too many interim responses")
    if (this.interim === undefined) this.interim = [head]
    else this.interim.push(head)
    return undefined
  }

  /** Finds out how the body of a final response is delimited (RFC 9112 6.3). */
  #conclude(head: ResponseHead, old: boolean, closing: boolean): ParserFault | undefined {
    const { status } = head
    const coding = this.#coding
    const length = this.#length
    if (coding !== undefined) {
      if (length !== undefined) return malformed("content-length with transfer-encoding")
      if (old) return malformed("transfer-encoding in HTTP/1.0")
      if (coding.length !== 7 || coding.toLowerCase() !== "chunked") return new UnreadableCoding({ coding })
    }
    this.head = head
    this.persistent = !old && !closing
    if (this.#bodiless || status === 204 || status === 304) {
      // A peer that sends the body nevertheless may send it late: it would pass for the next response.
      if (coding !== undefined || (length !== undefined && length > 0)) this.persistent = false
      this.#end()
    } else if (coding !== undefined) this.#awaitChunk()
    else if (length === undefined) {
      this.persistent = false
      this.#place = Place.unbounded
    } else if (length === 0) this.#end()
    else {
      this.#left = length
      this.#place = Place.counted
    }
    return undefined
  }

  /** @param text begins with the line break behind the last chunk. */
  #readTrailers(text: string): ParserFault | undefined {
    if (text.length > 4) {
      const trailers = new HeaderList()
      const fault = this.#readLines(text, 2, trailers, true)
      if (fault !== undefined) return fault
      if (trailers.size > 0) this.trailers = trailers
    }
    this.#end()
    return undefined
  }

  #readLines(text: string, from: number, headers: HeaderList, trailing: boolean): MalformedResponse | undefined {
    const flat = headers.flat
    const end = text.length - 2
    let at = from
    for (let lines = 0; at < end; lines++) {
      if (lines === maxLines) return malformed("too many lines")
      const start = at
      let seen = 0
      let byte = text.charCodeAt(at)
      for (let kind = nameBytes[byte]!; kind !== 0; kind = nameBytes[byte]!) {
        seen |= kind
        byte = text.charCodeAt(++at)
      }
      if (at === start) return malformed(byte === blank || byte === tab ? "folded line" : "header name")
      if (byte !== colon) return malformed("header name")
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
      // A tab behind it hides `chunked` from llhttp, and not from others: what tells the framing keeps it, and is refused.
      const noted = valueEnd === lineEnd ? value : text.slice(valueStart, lineEnd).replace(blanksBehind, "")
      const fault = trailing ? notInTrailers(name) : this.#note(name, noted)
      if (fault !== undefined) return malformed(fault)
      if (!isHopByHop(name) && !(trailing && notTrailing.has(name))) flat.push(name, value)
    }
    return undefined
  }

  /** Keeps what a line says of the framing and of the connection. */
  #note(name: string, value: string): ResponseFault | undefined {
    switch (name.length) {
      case 7:
        if (name === "upgrade") this.#upgrade = this.#upgrade === undefined ? value : `${this.#upgrade}, ${value}`
        return undefined
      case 10:
        if (name === "connection")
          this.#connection = this.#connection === undefined ? value : `${this.#connection},${value}`
        else if (name === "keep-alive") this.keepAlive = idleSeconds(value)
        return undefined
      case 14:
        if (name !== "content-length") return undefined
        if (this.#length !== undefined) return "more than one content-length"
        this.#length = lengthOf(value)
        return this.#length === undefined ? "content-length" : undefined
      case 17:
        if (name !== "transfer-encoding") return undefined
        if (this.#coding !== undefined) return "more than one transfer-encoding"
        this.#coding = value
        return undefined
      default:
        return undefined
    }
  }
}

const malformed = (fault: ResponseFault): MalformedResponse => new MalformedResponse({ fault })

/** Whether a byte may stand in a value, or in whatever else runs up to the end of its line. */
const isText = (byte: number): boolean => (byte >= blank && byte !== del) || byte === tab

const blanksBehind = / +$/

const isBlank = (byte: number): boolean => byte === blank || byte === tab

const protocolBytes = Buffer.from("HTTP/1.")

/** Whether bytes may yet become a status line: nobody waits for the end of what is none. */
const beginsWell = (bytes: Buffer, at: number, length: number): boolean => {
  const known = Math.min(protocolBytes.length, length - at)
  for (let i = 0; i < known; i++) if (bytes[at + i] !== protocolBytes[i]) return false
  return true
}

const statusAt = (text: string, at: number): number | undefined => {
  let status = 0
  for (let i = at; i < at + 3; i++) {
    const digit = text.charCodeAt(i) - 48
    if (!(digit >= 0 && digit <= 9)) return undefined
    status = status * 10 + digit
  }
  return status
}

const lengthOf = (value: string): number | undefined => {
  if (value.length === 0 || value.length > maxLengthDigits) return undefined
  let length = 0
  for (let i = 0; i < value.length; i++) {
    const digit = value.charCodeAt(i) - 48
    if (!(digit >= 0 && digit <= 9)) return undefined
    length = length * 10 + digit
  }
  return length
}

const idleHint = /(?:^|,)[ \t]*timeout[ \t]*=[ \t]*([0-9]{1,9})[ \t]*(?:,|$)/i
/** Peers say the same with every response. */
let lastHint = ""
let lastSeconds: number | undefined

/** The time of a `keep-alive` line, which is a hint: one that cannot be read says nothing. */
const idleSeconds = (value: string): number | undefined => {
  if (value === lastHint) return lastSeconds
  const seconds = idleHint.exec(value)?.[1]
  lastHint = value
  lastSeconds = seconds === undefined ? undefined : Number(seconds)
  return lastSeconds
}

const notInTrailers = (name: string): ResponseFault | undefined =>
  name === "content-length" || name === "transfer-encoding" ? "trailer" : undefined

/** Removes the headers that `connection` names. Returns whether it ends the connection. */
const nominate = (connection: string, headers: HeaderList): boolean => {
  let closing = false
  for (const option of connection.toLowerCase().split(",")) {
    const name = option.trim()
    if (name === "close") closing = true
    else if (name !== "" && !notNominable.has(name)) headers.delete(name)
  }
  return closing
}
