/**
 * A backend that reads requests as strictly as HTTP/1.1 allows, byte by byte, and calls everything else a violation:
 * whatever two implementations could understand differently must never get so far.
 */
import { Effect, type Scope } from "effect"
import { tcpBackend } from "../http/edge.ts"

export interface StrictRequest {
  readonly method: string
  readonly target: string
  /** Names as they came. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: string
}

export interface StrictOrigin {
  readonly port: number
  /** The whole requests that came, in order. */
  readonly received: Array<StrictRequest>
  /** What no careful client would have sent. */
  readonly violations: Array<string>
}

/** `POST /x abc`: what was asked, on one line. */
export const shown = ({ method, target, body }: StrictRequest): string =>
  body === "" ? `${method} ${target}` : `${method} ${target} ${body}`

const requestLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ (?:\/[\x21-\x7e]*|\*) HTTP\/1\.1$/
const headerLine =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)$/
const chunkLine = /^[0-9a-fA-F]{1,8}$/

/** A whole request at the beginning of some bytes, and where it ends; `undefined` when more must come; text: a violation. */
const readRequest = (text: string): { readonly request: StrictRequest; readonly end: number } | undefined | string => {
  const end = text.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const [first = "", ...lines] = text.slice(0, end).split("\r\n")
  if (!requestLine.test(first)) return `request line ${JSON.stringify(first)}`
  const [method = "", target = ""] = first.split(" ")
  const headers: Array<readonly [string, string]> = []
  for (const line of lines) {
    const [, name, value] = headerLine.exec(line) ?? []
    if (name === undefined || value === undefined) return `header line ${JSON.stringify(line)}`
    headers.push([name, value])
  }
  const all = (wanted: string) => headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value)
  const lengths = all("content-length")
  const codings = all("transfer-encoding")
  if (all("host").length !== 1) return `${all("host").length} host lines`
  if (lengths.length + codings.length > 1) return `lengths ${lengths} and codings ${codings}`
  let at = end + 4
  let body = ""
  if (lengths[0] !== undefined) {
    if (!/^(0|[1-9][0-9]{0,9})$/.test(lengths[0])) return `content-length ${lengths[0]}`
    const length = Number(lengths[0])
    if (text.length < at + length) return undefined
    body = text.slice(at, at + length)
    at += length
  } else if (codings[0] !== undefined) {
    if (codings[0] !== "chunked") return `transfer-encoding ${codings[0]}`
    for (;;) {
      const eol = text.indexOf("\r\n", at)
      if (eol < 0) return undefined
      const line = text.slice(at, eol)
      if (!chunkLine.test(line)) return `chunk line ${JSON.stringify(line)}`
      const size = Number.parseInt(line, 16)
      at = eol + 2
      if (size === 0) {
        const over = text.indexOf("\r\n\r\n", at - 2)
        if (over < 0) return undefined
        for (const trailer of text.slice(at, over).split("\r\n"))
          if (trailer !== "" && !headerLine.test(trailer)) return `trailer ${JSON.stringify(trailer)}`
        at = over + 4
        break
      }
      if (text.length < at + size + 2) return undefined
      if (text.slice(at + size, at + size + 2) !== "\r\n") return `a chunk of ${size} that goes on`
      body += text.slice(at, at + size)
      at += size + 2
    }
  }
  return { request: { method, target, headers, body }, end: at }
}

/** Listens until the scope ends, and answers each request with what it understood. */
export const strictOrigin: Effect.Effect<StrictOrigin, never, Scope.Scope> = Effect.gen(function* () {
  const received: Array<StrictRequest> = []
  const violations: Array<string> = []
  const { port } = yield* tcpBackend((socket) => {
    let rest = ""
    socket.on("end", () => socket.end())
    socket.on("data", (chunk: Buffer) => {
      rest += chunk.toString("latin1")
      for (;;) {
        const read = readRequest(rest)
        if (read === undefined) return
        if (typeof read === "string") {
          violations.push(read)
          socket.destroy()
          return
        }
        rest = rest.slice(read.end)
        received.push(read.request)
        const said = shown(read.request)
        const head = `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${said.length}\r\n\r\n`
        socket.write(read.request.method === "HEAD" ? head : head + said, "latin1")
      }
    })
  })
  return { port, received, violations }
})
