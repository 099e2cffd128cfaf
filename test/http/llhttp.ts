/** Responses as two parsers read them: the one of the HTTP client, and llhttp, as node's own client drives it. */
import { getBuiltinModule } from "node:process"
import { ResponseParser } from "../../layers/http/client/response-parser.ts"

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
const [response, onHeaders, onHead, onBody, onEnd] = [
  "RESPONSE",
  "kOnHeaders",
  "kOnHeadersComplete",
  "kOnBody",
  "kOnMessageComplete"
].map(constant) as [number, number, number, number, number]

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
