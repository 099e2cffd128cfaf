/**
 * The head of a request as it is sent. Everything that goes into it is checked here, where it becomes bytes: what a policy
 * or a call-out put there came past no parser, and `\u010d` written as latin-1 is a carriage return.
 */
import { isAlias, isHopByHop } from "../../../src/http/framing.ts"
import type { HeaderList } from "../../../src/http/header-list.ts"
import { isText, isToken, isVisible } from "../field-characters.ts"
import { type RequestPart, UnsendableRequest } from "./failures.ts"
import type { AbsoluteForm } from "./proxy.ts"

export interface RequestLines {
  readonly method: string
  readonly pathAndQuery: string
  readonly authority: string
  readonly headers: HeaderList
  readonly upgrade: string | undefined
}

/** How the end of the body is told: its length, in chunks, or nothing where there is no body. */
export type Framing = number | "chunked" | "none"

/** Its lines with the empty one, each character a byte. @param form for the proxy that is asked to pass it on. */
export const requestHead = (lines: RequestLines, framing: Framing, form?: AbsoluteForm): string | UnsendableRequest => {
  const part = fixedFault(lines)
  if (part !== undefined) return unsendable(part)
  const { method, pathAndQuery, authority, headers, upgrade } = lines
  let head =
    form === undefined
      ? `${method} ${pathAndQuery} HTTP/1.1\r\nhost: ${authority}\r\n`
      : `${method} ${form.origin}${pathAndQuery === "*" ? "" : pathAndQuery} HTTP/1.1\r\nhost: ${form.authority}\r\n${form.authorization}`
  if (upgrade === undefined) head += "connection: keep-alive\r\n"
  else if (upgrade === "" || !isText(upgrade)) return unsendable("upgrade")
  else head += `connection: upgrade\r\nupgrade: ${upgrade}\r\n`
  const flat = headers.flat
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    const value = flat[i + 1]!
    // The length is known better than any header says.
    if (isHopByHop(name) ? name !== "te" : name === "host" || name === "content-length") continue
    // Whoever the client is to another proxy, to this one it is nobody.
    if (form !== undefined && name === "proxy-authorization") continue
    if (!isToken(name)) return unsendable("header name")
    if (!isText(value)) return unsendable("header value")
    if (name.includes("_") && isAlias(name, headers)) continue
    head += `${name}: ${value}\r\n`
  }
  if (framing === "chunked") head += "transfer-encoding: chunked\r\n"
  else if (framing !== "none") head += `content-length: ${framing}\r\n`
  return `${head}\r\n`
}

/** What cannot be sent of the parts that every request has, whichever version it is sent in. */
export const fixedFault = ({ method, pathAndQuery, authority }: RequestLines): RequestPart | undefined => {
  if (!isToken(method)) return "method"
  // The origin form, or what is asked of a server as a whole (RFC 9112 3.2): no other is for a backend.
  if (!pathAndQuery.startsWith("/") ? pathAndQuery !== "*" || method !== "OPTIONS" : !isVisible(pathAndQuery))
    return "target"
  return isVisible(authority) ? undefined : "host"
}

const unsendable = (part: RequestPart): UnsendableRequest => new UnsendableRequest({ part })
