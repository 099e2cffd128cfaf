/**
 * The head of a response as it is written. Everything that goes into it is checked here, where it becomes bytes: what a policy
 * or a program put there came past no parser.
 */
import { STATUS_CODES } from "node:http"
import { isHopByHop } from "../../src/http/framing.ts"
import type { HeaderList } from "../../src/http/header-list.ts"
import { isText, isToken } from "./field-characters.ts"

/** What the head says beside the headers of the answer. */
export interface ResponseFraming {
  /** What `content-length` says, whatever the answer had; `undefined`: there is none. */
  readonly length: string | undefined
  readonly chunked: boolean
  /** The connection closes behind the response. */
  readonly last: boolean
}

/** A header that cannot be sent, by its name. */
export interface UnsendableHeader {
  readonly unsendable: string
}

/** Its lines with the empty one, each character a byte. @param now milliseconds since 1970, for an answer without a date. */
export const responseHead = (
  status: number,
  headers: HeaderList,
  { length, chunked, last }: ResponseFraming,
  now: number
): string | UnsendableHeader => {
  let head = statusLine(status)
  let dated = false
  let measured = false
  const flat = headers.flat
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    const value = flat[i + 1]!
    if (!isToken(name) || !isText(value)) return { unsendable: String(name) }
    if (isHopByHop(name)) continue
    if (name === "content-length") {
      if (length !== undefined && !measured) head += `content-length: ${length}\r\n`
      measured = true
      continue
    }
    if (name === "date") dated = true
    head += `${name}: ${value}\r\n`
  }
  if (length !== undefined && !measured) head += `content-length: ${length}\r\n`
  if (!dated) head += `date: ${dateAt(now)}\r\n`
  head += last ? "connection: close\r\n" : "connection: keep-alive\r\n"
  return chunked ? `${head}transfer-encoding: chunked\r\n\r\n` : `${head}\r\n`
}

/** The same of a response that is not the final one, which says nothing of the connection and of a body. */
export const interimHead = (status: number, headers: HeaderList): string | UnsendableHeader => {
  let head = statusLine(status)
  for (const [name, value] of headers) {
    if (!isToken(name) || !isText(value)) return { unsendable: String(name) }
    if (!isHopByHop(name)) head += `${name}: ${value}\r\n`
  }
  return `${head}\r\n`
}

export const statusLine = (status: number): string => `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`

let secondKnown = -1
let dateKnown = ""

/** The text of a date, which is the same for a second. */
export const dateAt = (now: number): string => {
  const second = Math.floor(now / 1000)
  if (second !== secondKnown) {
    secondKnown = second
    dateKnown = new Date(now).toUTCString()
  }
  return dateKnown
}
