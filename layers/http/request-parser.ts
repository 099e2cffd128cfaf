/**
 * Reads the requests that come over one connection, one after the other, fed with bytes as they arrive and cut anywhere. It
 * stops behind each head: how the body is delimited is for whoever frames the request to say, and nobody decides it twice.
 */
import { METHODS } from "node:http"
import { type MessageFault, MessageParser, Place } from "./message-parser.ts"

/** What of a request is not HTTP/1.1, or could be read in more than one way. */
export type RequestFault = MessageFault | "request line" | "method" | "target" | "version" | "transfer-encoding"

/** How a client begins that speaks HTTP/2 without asking (RFC 9113 3.4), up to where HTTP/1.1 sees the end of a head. */
export const preface = "PRI * HTTP/2.0\r\n\r\n"

/** The head of a request, as it came. */
export interface RequestLines {
  readonly method: string
  readonly target: string
  /** `2`: no request, but the preface of HTTP/2; `other`: a version of HTTP that is not served; `foreign`: another protocol. */
  readonly version: "1.0" | "1.1" | "2" | "other" | "foreign"
  /** Alternating names, in lower case, and values. */
  readonly raw: ReadonlyArray<string>
}

/** How the body of a request is delimited: by its length, by chunks, or there is none. */
export type RequestFraming = number | "chunked" | undefined

/** Lines are counted by whoever frames the request, who has words for it; extensions are bounded as by Node's parser. */
const limits = { lines: Number.POSITIVE_INFINITY, extension: 16_384 }

export const methods: ReadonlySet<string> = new Set(METHODS)
/** No method is longer than this: nobody waits for the end of a word that is none. */
const longestMethod = 32

const tab = 9
const blank = 32
const slash = 47
const highest = 0x7e

export class RequestParser extends MessageParser<RequestFault> {
  /** The head that ended in the last piece. */
  head: RequestLines | undefined = undefined

  /** @param maxHeadBytes of a head, and of trailers. */
  constructor(maxHeadBytes: number) {
    super({ ...limits, head: maxHeadBytes })
    this.place = Place.before
  }

  /** Some of a request has come, and not all of it. */
  get begun(): boolean {
    return this.place !== Place.nothing && this.place !== Place.before && this.place !== Place.beforeFeed
  }

  /** Says how the body is delimited that follows the last head. */
  expect(framing: RequestFraming): void {
    if (framing === undefined) this.place = Place.before
    else if (framing === "chunked") this.awaitChunk()
    else {
      this.left = framing
      this.place = Place.counted
    }
  }

  /**
   * Reads from `at` on, up to the end of a head, of a request, or of the first `length` bytes; nothing of the piece is kept.
   * Tells why the bytes cannot be a request.
   */
  feed(bytes: Buffer, at: number, length: number): RequestFault | undefined {
    this.letGo()
    return this.readPiece(bytes, at, length)
  }

  /** Holds nothing of what the last piece brought any longer: a connection may be idle for long. */
  letGo(): void {
    this.forget()
    this.head = undefined
  }

  protected override end(): void {
    super.end()
    this.place = Place.before
    this.stop()
  }

  protected override readHead(text: string): RequestFault | undefined {
    const end = text.indexOf("\r")
    const first = text.indexOf(" ")
    if (first <= 0 || first > end) return "request line"
    let from = first
    do from++
    while (text.charCodeAt(from) === blank)
    let to = from
    for (let code = text.charCodeAt(to); code > blank; code = text.charCodeAt(++to)) if (code > highest) return "target"
    if (to === from) return "request line"
    if (text.charCodeAt(to) === tab) return "target"
    const version = versionOf(text, to, end)
    // A line without a version may be one without a target.
    if (version === undefined || (to === end && text.charCodeAt(from) !== slash)) return "version"
    const method = text.slice(0, first)
    if (version !== "foreign" && !methods.has(method)) {
      if (text !== preface) return "method"
      this.head = { method, target: "*", version: "2", raw: [] }
      this.stop()
      return undefined
    }
    const raw: Array<string> = []
    const fault = this.readLines(text, end + 2, raw)
    if (fault !== undefined) return fault
    this.head = { method, target: text.slice(from, to), version, raw }
    this.stop()
    return undefined
  }

  protected override takeLine(
    flat: Array<string>,
    name: string,
    value: string,
    noted: string
  ): RequestFault | undefined {
    if (name === "transfer-encoding" && noted !== value) return "transfer-encoding"
    flat.push(name, value)
    return undefined
  }

  protected override doubt(bytes: Buffer, at: number, length: number): RequestFault | undefined {
    const most = Math.min(length, at + longestMethod + 1)
    for (let i = at; i < most; i++) {
      const byte = bytes[i]!
      if (byte === blank) return i === at ? "method" : undefined
      if (!isMethodByte(byte)) return "method"
    }
    return most > at + longestMethod ? "method" : undefined
  }
}

const isMethodByte = (byte: number): boolean => (byte >= 0x41 && byte <= 0x5a) || byte === 0x2d || byte === 0x5f

/** The version that stands between the end of the target and that of the line. */
const versionOf = (text: string, at: number, end: number): RequestLines["version"] | undefined => {
  let from = at
  while (text.charCodeAt(from) === blank) from++
  if (text.startsWith("HTTP/1.1\r", from)) return "1.1"
  // The oldest form of all has none.
  if (from === end) return "other"
  switch (text.slice(from, end)) {
    case "HTTP/1.0":
      return "1.0"
    case "HTTP/0.9":
    case "HTTP/2.0":
      return "other"
    default:
      return text.startsWith("RTSP/", from) || text.startsWith("ICE/", from) ? "foreign" : undefined
  }
}
