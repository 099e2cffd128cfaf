/**
 * Reads the responses that come over one connection, fed with bytes as they arrive and cut anywhere. Strict: what nginx,
 * HAProxy, Node and Go would not all read in the same way is a fault, after which the connection is of no use any more.
 */
import { isHopByHop } from "../../../src/http/framing.ts"
import { HeaderList } from "../../../src/http/header-list.ts"
import { type MessageFault, MessageParser, Place } from "../message-parser.ts"
import { framing } from "../trailers.ts"
import { MalformedResponse, type ResponseFault, UnreadableCoding } from "./failures.ts"

/** The head of a response. */
export interface ResponseHead {
  readonly status: number
  /** Without those that concern the connection. */
  readonly headers: HeaderList
  /** The protocol that a 101 names. */
  readonly upgrade: string | undefined
}

/** Heads as long as those of requests. */
const limits = { head: 65_536, lines: 1_000, extension: 131_072 }
const maxInterim = 1_000
/** 999,999,999,999,999 bytes: the most that a double counts exactly. */
const maxLengthDigits = 15

const blank = 32
const cr = 13

/** What stays whatever `connection` claims. */
const notNominable = new Set(["close", "keep-alive", ...framing])

export type ParserFault = MalformedResponse | UnreadableCoding

export class ResponseParser extends MessageParser<ParserFault> {
  // What the last piece brought.

  /** The 1xx responses, but for 101. */
  interim: Array<ResponseHead> | undefined = undefined
  /** The final head, or that of a 101. */
  head: ResponseHead | undefined = undefined

  // What the response says of the connection.

  /** Another request may follow, once the response has ended. */
  persistent = false
  /** Seconds that the peer keeps the connection when it is idle. */
  keepAlive: number | undefined = undefined
  /** Some of the response has come. */
  started = false

  #bodiless = false
  #upgrading = false
  #interims = 0

  // What the lines of the head say, while it is read.

  #length: number | undefined = undefined
  #coding: string | undefined = undefined
  #connection: string | undefined = undefined
  #upgrade: string | undefined = undefined

  constructor() {
    super(limits)
  }

  /** Awaits the response of a request. @param bodiless that of HEAD. @param upgrading the request asked for another protocol. */
  begin(bodiless: boolean, upgrading: boolean): void {
    this.place = Place.head
    this.#bodiless = bodiless
    this.#upgrading = upgrading
    this.#interims = 0
    this.started = false
    this.persistent = false
    this.keepAlive = undefined
    this.forget()
  }

  protected override forget(): void {
    super.forget()
    this.interim = undefined
    this.head = undefined
  }

  /** Whether another request may follow the response, whose final head has come, once up to `bytes` more of it have. */
  mayFollowWithin(bytes: number): boolean {
    if (!this.persistent) return false
    return this.place === Place.counted ? this.left <= bytes : this.ended || this.place > Place.unbounded
  }

  /** Reads the first `length` bytes, none of which are kept; tells why they cannot be a response. */
  feed(bytes: Buffer, length: number): ParserFault | undefined {
    this.forget()
    if (length > 0) this.started = true
    const fault = this.readPiece(bytes, 0, length)
    return typeof fault === "string" ? malformed(fault) : fault
  }

  /** The peer sends no more: whether that ends the response as it should. */
  finish(): boolean {
    this.forget()
    if (this.place !== Place.unbounded) return false
    this.place = Place.nothing
    this.ended = true
    return true
  }

  protected override readHead(text: string): ParserFault | MessageFault | undefined {
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
    const fault = this.readLines(text, text.indexOf("\r", 12) + 2, headers.flat)
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
      this.place = Place.switched
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
      this.end()
    } else if (coding !== undefined) this.awaitChunk()
    else if (length === undefined) {
      this.persistent = false
      this.place = Place.unbounded
    } else if (length === 0) this.end()
    else {
      this.left = length
      this.place = Place.counted
    }
    return undefined
  }

  protected override takeLine(
    flat: Array<string>,
    name: string,
    value: string,
    noted: string
  ): ParserFault | undefined {
    const fault = this.#note(name, noted)
    if (fault !== undefined) return malformed(fault)
    if (!isHopByHop(name)) flat.push(name, value)
    return undefined
  }

  protected override doubt(bytes: Buffer, at: number, length: number): ParserFault | undefined {
    const known = Math.min(protocolBytes.length, length - at)
    for (let i = 0; i < known; i++) if (bytes[at + i] !== protocolBytes[i]) return malformed("status line")
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

const protocolBytes = Buffer.from("HTTP/1.")

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

/** Removes the headers that `connection` names. Returns whether it ends the connection. */
const nominate = (connection: string, headers: HeaderList): boolean => {
  let closing = false
  let named: Set<string> | undefined
  for (const option of connection.toLowerCase().split(",")) {
    const name = option.trim()
    if (name === "close") closing = true
    else if (name !== "" && !notNominable.has(name)) named = (named ?? new Set()).add(name)
  }
  if (named !== undefined) headers.deleteAll(named)
  return closing
}
