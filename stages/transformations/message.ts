/** The two messages that are changed: where the headers of each are, what its pseudo-headers are, and where its body goes. */
import {
  type Body,
  canonicalAuthority,
  type HeaderList,
  isHeaderName,
  isSource,
  octetsOf,
  slots,
  type View
} from "../../src/policy/policy.ts"

export type Seen = View<(typeof slots.expressionSlots)[number], typeof slots.metadata | typeof slots.authorityRewritten>

/** A message of an exchange, as transformations change it. */
export interface Message {
  readonly name: "request" | "response"
  readonly headers: (x: Seen) => HeaderList
  /** Sets a pseudo-header; false where the text is nothing for it. */
  readonly pseudo: Readonly<Record<string, (x: Seen, text: string) => boolean>>
  /** Puts what `make` makes in the place of its body, if it may have one: asked only then. */
  readonly setBody: (x: Seen, make: () => Body) => void
}

/** Neither a tunnel nor an answer without its head can come of a changed method. */
const setMethod = (x: Seen, text: string): boolean => {
  if (!isHeaderName(text) || text.length > 32 || text === "CONNECT") return false
  x.request.method = text
  return true
}

/** In the form in which it is matched and forwarded; what of its query cannot stand in a request line is encoded. */
const setPath = (x: Seen, text: string): boolean => {
  if (!text.startsWith("/")) return false
  const query = text.indexOf("?")
  const path = octetsOf(query < 0 ? text : text.slice(0, query))
  const target = query < 0 ? path : path + octetsOf(text.slice(query)).replace(unsendable, percentEncoded)
  return x.request.moveTo(target) === undefined
}

const unsendable = /[^\x21\x22\x24-\x7e]/g
const percentEncoded = (octet: string): string => `%${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`

/** The backend is told this name, and not its own. */
const setAuthority = (x: Seen, text: string): boolean => {
  const authority = canonicalAuthority(text, x.request.scheme)
  if (authority === undefined) return false
  x.request.authority = authority
  x.set(slots.authorityRewritten, true)
  return true
}

const setScheme = (x: Seen, text: string): boolean => {
  if (text !== "http" && text !== "https") return false
  x.request.scheme = text
  return true
}

/** Whoever has left HTTP has no status any more, and 1xx are no answers. */
const setStatus = (x: Seen, text: string): boolean => {
  const status = /^[2-5][0-9]{2}$/.test(text) ? Number(text) : undefined
  if (status === undefined || x.response === undefined || x.response.switched !== undefined) return false
  x.response.status = status
  return true
}

const released = (body: Body): void => {
  if (isSource(body)) body.cancel()
}

export const request: Message = {
  name: "request",
  headers: (x) => x.request.headers,
  pseudo: {
    ":method": setMethod,
    ":path": setPath,
    ":authority": setAuthority,
    // The header of HTTP/1.1 by its other name.
    host: setAuthority,
    ":scheme": setScheme
  },
  setBody: (x, make) => {
    // What follows it is another protocol.
    if (x.upgrade !== undefined) return
    const before = x.requestBody
    x.requestBody = make()
    released(before)
  }
}

/** Nodes of the response phase run where there is an answer. */
export const response: Message = {
  name: "response",
  headers: (x) => x.response!.headers,
  pseudo: { ":status": setStatus },
  setBody: ({ request, response }, make) => {
    // What has left HTTP is no body.
    if (response === undefined || response.switched !== undefined) return
    const before = response.body
    const isBodiless = request.method === "HEAD" || response.status === 204 || response.status === 304
    response.body = isBodiless ? undefined : make()
    released(before)
  }
}
