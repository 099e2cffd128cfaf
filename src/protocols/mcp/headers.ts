/** Flat raw header lists: lookup, and what of a client's request goes on to a target. */

const isNamed = (key: string, name: string): boolean =>
  key.length === name.length && (key === name || key.toLowerCase() === name)

/** The first value of a header; `name` in lower case. */
export const header = (headers: ReadonlyArray<string>, name: string): string | undefined => {
  for (let i = 0; i < headers.length; i += 2) if (isNamed(headers[i]!, name)) return headers[i + 1]
  return undefined
}

/** All values of a header in one; empty without the header. */
export const headerValues = (headers: ReadonlyArray<string>, name: string): string => {
  let values = ""
  for (let i = 0; i < headers.length; i += 2)
    if (isNamed(headers[i]!, name)) values += values === "" ? headers[i + 1]! : `, ${headers[i + 1]!}`
  return values
}

/**
 * Headers that describe this hop, this body or this session, not the request: the adapter sets its own. Accept and
 * content headers are fixed by the transport, routing headers follow the rewritten message.
 */
const ownHeaders = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-session-id",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

/**
 * The line by which the token that a client was recognised by goes with the headers of its request to whatever is sent for it. Its
 * name is none of a header, so that no client sends it and no connection takes it.
 */
export const clientToken = "token of the client"

/** A copy of the client's headers, names in lower case, without those that the relay or its transports own. */
export const forwardedHeaders = (headers: ReadonlyArray<string>): Array<string> => {
  const out: Array<string> = []
  const listed = header(headers, "connection")?.toLowerCase()
  const named = listed === undefined ? undefined : new Set(listed.split(",").map((name) => name.trim()))
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (!ownHeaders.has(name) && name[0] !== ":" && !named?.has(name)) out.push(name, headers[i + 1]!)
  }
  return out
}

/** Headers of a target's refusal that concern this hop or a session which the client must not see. */
const hopHeaders = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "mcp-session-id",
  "proxy-authenticate",
  "proxy-connection",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

/** The headers of a target's answer as the client gets them. */
export const returnedHeaders = (headers: ReadonlyArray<string>): Array<string> => {
  const out: Array<string> = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (!hopHeaders.has(name)) out.push(name, headers[i + 1]!)
  }
  return out
}
