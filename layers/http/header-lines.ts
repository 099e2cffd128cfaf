/** Headers as node and undici hand them out, turned into the list that the engine works on; connection headers stay behind. */

import { isHopByHop } from "../../src/http/framing.ts"
import { HeaderList } from "../../src/http/header-list.ts"

/** What undici gives: header names in lower case, and a list where a name came more than once. */
type Parsed = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/**
 * The end-to-end headers of a response. Where a name came twice they are taken from the raw lines, so that the order of
 * all lines survives.
 */
export const responseHeaders = (parsed: Parsed, raw: unknown): HeaderList => {
  const flat: Array<string> = []
  let connection: string | undefined
  for (const name in parsed) {
    const value = parsed[name]
    if (typeof value !== "string") return rawHeaders(raw)
    if (name === "connection") connection = value
    else if (!isHopByHop(name)) flat.push(name, value)
  }
  const headers = new HeaderList(flat)
  if (connection !== undefined) dropNominated(connection, headers)
  return headers
}

const rawHeaders = (raw: unknown): HeaderList => {
  const headers = new HeaderList()
  if (!Array.isArray(raw)) return headers
  const connection: Array<string> = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = text(raw[i]).toLowerCase()
    if (name === "connection") connection.push(text(raw[i + 1]))
    else if (!isHopByHop(name)) headers.flat.push(name, text(raw[i + 1]))
  }
  if (connection.length > 0) dropNominated(connection.join(","), headers)
  return headers
}

const text = (value: unknown): string => (Buffer.isBuffer(value) ? value.toString("latin1") : String(value))

/** Trailer lines, alternating names and values; `undefined` when there are none. */
export const trailerList = (raw: unknown): HeaderList | undefined => {
  if (!Array.isArray(raw) || raw.length === 0) return undefined
  const trailers = new HeaderList()
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = text(raw[i]).toLowerCase()
    if (!isHopByHop(name) && !framing.has(name)) trailers.flat.push(name, text(raw[i + 1]))
  }
  return trailers.size === 0 ? undefined : trailers
}

/** What a trailer must never say anything about (RFC 9110 6.5.1). */
const framing = new Set(["content-length", "content-encoding", "content-range", "content-type", "host", "set-cookie"])

const dropNominated = (connection: string, headers: HeaderList): void => {
  for (const option of connection.toLowerCase().split(",")) {
    const name = option.trim()
    if (name !== "" && name !== "close" && name !== "keep-alive" && !framing.has(name)) headers.delete(name)
  }
}
