/** Messages as two parsers read them: responses by that of the HTTP client, requests by that of the listener, both by llhttp. */
import { METHODS } from "node:http"
import { getBuiltinModule } from "node:process"
import { ResponseParser } from "../../layers/http/client/response-parser.ts"
import { RequestParser } from "../../layers/http/request-parser.ts"
import { type Framed, frameRequest } from "../../src/http/framing.ts"

/** The bytes of a connection, and what they answer. */
export interface Received {
  readonly pieces: ReadonlyArray<Buffer>
  /** The peer closes the connection behind them. */
  readonly closes: boolean
  /** They answer HEAD. */
  readonly bodiless: boolean
}

export interface Verdict {
  /** How far the first final response came. */
  end: "whole" | "unfinished" | "refused"
  /** Why it was refused. */
  reason: string
  readonly interim: Array<number>
  status: number | undefined
  /** Alternating names in lower case and values, of the final head. */
  headers: ReadonlyArray<string>
  body: string
  trailers: ReadonlyArray<string>
}

const blankVerdict = (): Verdict => ({
  end: "unfinished",
  reason: "",
  interim: [],
  status: undefined,
  headers: [],
  body: "",
  trailers: []
})

/** As the HTTP client reads them. */
export const ownVerdict = ({ pieces, closes, bodiless }: Received): Verdict => {
  const verdict = blankVerdict()
  const parser = new ResponseParser()
  parser.begin(bodiless, false)
  const note = () => {
    for (const { status } of parser.interim ?? []) verdict.interim.push(status)
    if (parser.head !== undefined) {
      verdict.status = parser.head.status
      verdict.headers = parser.head.headers.flat
    }
    if (parser.body !== undefined) verdict.body += parser.body.toString("latin1")
    if (parser.ended) {
      verdict.end = "whole"
      verdict.trailers = parser.trailers?.flat ?? []
    }
  }
  for (const piece of pieces) {
    const fault = parser.feed(piece, piece.length)
    note()
    if (fault !== undefined) {
      verdict.end = "refused"
      verdict.reason = fault._tag === "MalformedResponse" ? fault.fault : "transfer-encoding"
    }
    if (verdict.end !== "unfinished") return verdict
  }
  if (!closes) return verdict
  if (parser.finish()) note()
  else Object.assign(verdict, { end: "refused", reason: "closed" })
  return verdict
}

type Lines = ReadonlyArray<string> | undefined

/** What of node's parser is used here; node has no types for it. */
interface Llhttp {
  initialize(type: number, resource: object, maxHeadBytes: number, lenient: number): void
  execute(bytes: Buffer): number | Error
  finish(): Error | undefined
  close(): void
  [callback: number]: (...given: ReadonlyArray<never>) => unknown
}
const builtin = getBuiltinModule as (name: string) => unknown
const { HTTPParser } = builtin("node:_http_common") as {
  readonly HTTPParser: (new () => Llhttp) & Readonly<Record<string, number>>
}
const constant = (name: string): number => {
  const value = HTTPParser[name]
  if (value === undefined) throw new Error(`node's parser has no ${name} any more`)
  return value
}
const [request, response, onHeaders, onHead, onBody, onEnd] = [
  "REQUEST",
  "RESPONSE",
  "kOnHeaders",
  "kOnHeadersComplete",
  "kOnBody",
  "kOnMessageComplete"
].map(constant) as [number, number, number, number, number, number]

const lowered = (lines: ReadonlyArray<string>) => lines.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text))

/** As node's client reads them, which takes the first final response. */
export const llhttpVerdict = (received: Received): Verdict => {
  const parser = new HTTPParser()
  try {
    return verdictBy(parser, received)
  } finally {
    // Nobody else frees what it has outside of the heap.
    parser.close()
  }
}

const verdictBy = (parser: Llhttp, { pieces, closes, bodiless }: Received): Verdict => {
  const verdict = blankVerdict()
  parser.initialize(response, {}, 65_536, 0)
  let lines: Array<string> = []
  let final = false
  parser[onHeaders] = (more: Lines) => {
    lines.push(...(more ?? []))
  }
  parser[onHead] = (_major: number, _minor: number, own: Lines, _method: never, _url: never, status: number) => {
    if (verdict.end !== "unfinished") return 1
    lines.push(...(own ?? []))
    final = status >= 200 || status === 101
    if (final) {
      verdict.status = status
      verdict.headers = lowered(lines)
    } else verdict.interim.push(status)
    lines = []
    return final && !bodiless ? 0 : 1
  }
  parser[onBody] = (bytes: Buffer) => {
    if (verdict.end === "unfinished" && final) verdict.body += bytes.toString("latin1")
  }
  parser[onEnd] = () => {
    if (verdict.end !== "unfinished") return
    if (final) {
      verdict.end = "whole"
      verdict.trailers = lowered(lines)
    }
    lines = []
  }
  const refuse = (outcome: unknown) => {
    if (!(outcome instanceof Error) || verdict.end !== "unfinished") return
    verdict.end = "refused"
    verdict.reason = "reason" in outcome ? String(outcome.reason) : outcome.message
  }
  for (const piece of pieces) {
    refuse(parser.execute(piece))
    if (verdict.end !== "unfinished") return verdict
  }
  if (!closes) return verdict
  refuse(parser.finish())
  if (verdict.end === "unfinished") Object.assign(verdict, { end: "refused", reason: "closed" })
  return verdict
}

/** A request that was read. */
export interface ReadRequest {
  readonly method: string
  readonly target: string
  readonly version: string
  /** Alternating names in lower case and values. */
  readonly headers: ReadonlyArray<string>
  body: string
  /** `undefined` until it is whole. */
  trailers: ReadonlyArray<string> | undefined
}

/** The requests of a connection, up to one that ends it, and why it ends where it should not. */
export interface ReadRequests {
  readonly requests: Array<ReadRequest>
  refused: string | undefined
}

/** As the listener reads them, which lets `frameRequest` say how each ends. */
export const ownRequests = (pieces: ReadonlyArray<Buffer>): ReadRequests => {
  const parser = new RequestParser(65_536)
  const read: ReadRequests = { requests: [], refused: undefined }
  let last: Framed | undefined
  for (const piece of pieces)
    for (let at = 0; at < piece.length; ) {
      if (last !== undefined && (!last.persistent || last.upgrading) && !parser.begun) return read
      const fault = parser.feed(piece, at, piece.length)
      at = parser.consumed
      const { head, body, ended, trailers } = parser
      if (head !== undefined) {
        const { method, target, version, raw } = head
        const framed =
          version === "1.0" || version === "1.1"
            ? frameRequest(method, target, version, raw, "http")
            : { _tag: "Malformed" as const, message: "version" }
        if (framed._tag === "Malformed") {
          read.refused = framed.message
          return read
        }
        last = framed
        const trailers = framed.body === undefined ? [] : undefined
        read.requests.push({ method, target, version, headers: raw, body: "", trailers })
        parser.expect(framed.body)
      }
      const current = read.requests.at(-1)
      if (body !== undefined) current!.body += body.toString("latin1")
      if (ended) current!.trailers = trailers?.flat ?? []
      if (fault !== undefined) {
        read.refused = last?.upgrading === true ? "body of a wish for another protocol" : fault
        return read
      }
    }
  return read
}

/** As node's server reads them. */
export const llhttpRequests = (pieces: ReadonlyArray<Buffer>): ReadRequests => {
  const parser = new HTTPParser()
  try {
    return requestsBy(parser, pieces)
  } finally {
    parser.close()
  }
}

const requestsBy = (parser: Llhttp, pieces: ReadonlyArray<Buffer>): ReadRequests => {
  const read: ReadRequests = { requests: [], refused: undefined }
  parser.initialize(request, {}, 65_536, 0)
  let lines: Array<string> = []
  let line = ""
  let over = false
  parser[onHeaders] = (more: Lines, target: string) => {
    lines.push(...(more ?? []))
    line += target
  }
  parser[onHead] = (...given: ReadonlyArray<unknown>) => {
    const [major, minor, own, method, target, , , upgrade, kept] = given as [
      number,
      number,
      Lines,
      number,
      string | undefined,
      unknown,
      unknown,
      boolean,
      boolean
    ]
    lines.push(...(own ?? []))
    const name = methodNames().get(method) ?? String(method)
    const version = `${major}.${minor}`
    read.requests.push({
      method: name,
      target: target ?? line,
      version,
      headers: lowered(lines),
      body: "",
      trailers: undefined
    })
    lines = []
    line = ""
    over = upgrade || !kept
    return 0
  }
  parser[onBody] = (bytes: Buffer) => {
    read.requests.at(-1)!.body += bytes.toString("latin1")
  }
  parser[onEnd] = () => {
    read.requests.at(-1)!.trailers = lowered(lines)
    lines = []
    // Trailers come with the target once more.
    line = ""
  }
  for (const piece of pieces) {
    const outcome = parser.execute(piece)
    if (outcome instanceof Error) {
      // Behind the last request there is no other.
      if (!(over && read.requests.at(-1)?.trailers !== undefined))
        read.refused = "reason" in outcome ? String(outcome.reason) : outcome.message
      return read
    }
    if (over && read.requests.at(-1)?.trailers !== undefined) return read
  }
  return read
}

let names: Map<number, string> | undefined

/** Methods by their number, which node tells nobody. */
const methodNames = (): ReadonlyMap<number, string> => {
  if (names !== undefined) return names
  const found = new Map<number, string>()
  for (const method of METHODS) {
    const parser = new HTTPParser()
    parser.initialize(request, {}, 65_536, 0)
    parser[onHead] = (_major: number, _minor: number, _own: Lines, number: number) => {
      found.set(number, method)
      return 0
    }
    parser.execute(Buffer.from(`${method} / HTTP/1.1\r\n\r\n`))
    parser.close()
  }
  names = found
  return found
}
