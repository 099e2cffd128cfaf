/**
 * Reads the head of a request of HTTP/2: as strict as that of HTTP/1.1, and what comes out is the same. An extended CONNECT
 * (RFC 8441) becomes the request that it would be there, a GET that asks to change the protocol.
 */
import { randomBytes } from "node:crypto"
import { canonicalAuthority } from "../../../src/http/authority.ts"
import {
  headOf,
  isHopByHop,
  type Malformed,
  malformed,
  methodNotAllowed,
  reservedPrefix,
  tunnelsAlone
} from "../../../src/http/framing.ts"
import { HeaderList } from "../../../src/http/header-list.ts"
import type { RequestHead, Scheme } from "../../../src/http/message.ts"
import type { Limits } from "../../http/client-connection.ts"
import { isToken } from "../../http/field-characters.ts"
import { methods } from "../../http/request-parser.ts"
import { readFields } from "../fields.ts"

/** A request that may be served. */
export interface FramedFields {
  readonly _tag: "Framed"
  readonly head: RequestHead
  /** The declared length of its body. */
  readonly length: number | undefined
  /** The client waits for `100 Continue`. */
  readonly expecting: boolean
  /** What its stream is to become a tunnel for. */
  readonly tunnel: TunnelRequest | undefined
}

export interface TunnelRequest {
  readonly protocol: string
  /** What a WebSocket of HTTP/1.1 is asked with, and has to be answered for; clients of HTTP/2 send none. */
  readonly key: string
}

const digits = /^[0-9]{1,15}$/
const notVisible = /[^\x21-\x7e]/
const unreadable = malformed("malformed request")

/** @param raw fields as the runtime gives them. */
export const frameFields = (
  raw: ReadonlyArray<string>,
  scheme: Scheme,
  { maxHeaders, paths, connects }: Limits
): FramedFields | Malformed => {
  const read = readFields(raw)
  if (typeof read === "string") return unreadable
  const { pseudo, flat } = read
  if (flat.length > 2 * maxHeaders) return malformed("too many request headers", 431)
  const { ":method": method, ":scheme": said, ":path": path, ":authority": named, ":protocol": protocol } = pseudo
  if (method === undefined || !methods.has(method)) return unreadable
  // Tunnels of HTTP/2 there are none yet.
  if (connects === "tunnels alone") return tunnelsAlone
  if (method === "TRACE" || (method === "CONNECT" && protocol === undefined)) return methodNotAllowed
  if (path === undefined || pseudo[":status"] !== undefined || notVisible.test(path)) return unreadable
  // Whoever ends TLS before us says what its client sees; what counts here is what reached us.
  if (said !== "http" && said !== "https") return unreadable
  if (protocol !== undefined && (method !== "CONNECT" || !isToken(protocol))) return unreadable
  const headers = new HeaderList()
  let host: string | undefined
  let length: string | undefined
  let expecting = false
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    const value = flat[i + 1]!
    switch (name) {
      case "host":
        if (host !== undefined) return malformed("more than one host header")
        host = value
        continue
      case "content-length":
        if (length !== undefined) return malformed("more than one content-length header")
        if (!digits.test(value)) return malformed("content-length is not a number")
        length = value
        break
      case "te":
        break
      case "expect":
        if (value.toLowerCase() !== "100-continue") return malformed("unknown expectation", 417)
        expecting = true
        continue
      case "http2-settings":
        continue
      default:
        if (isHopByHop(name) || name.startsWith(reservedPrefix)) continue
    }
    headers.flat.push(name, value)
  }
  if (path.includes("#")) return malformed("fragment in the request target")
  if (!path.startsWith("/") && (path !== "*" || method !== "OPTIONS")) return malformed("invalid request target")
  const authority = named ?? host
  if (authority === undefined) return malformed("no authority or host")
  const of = { authority, host, pathAndQuery: path, headers, version: "2" } as const
  const head = headOf({ ...of, method: protocol === undefined ? method : "GET" }, scheme, paths)
  if ("_tag" in head) return head
  // Two names for one request would be two requests to two readers (RFC 9113 8.3.1).
  if (host !== undefined && host !== authority && canonicalAuthority(host, scheme) !== head.authority)
    return malformed("invalid authority or host")
  if (protocol !== undefined && length !== undefined) return malformed("a content-length where a tunnel is asked for")
  return {
    _tag: "Framed",
    head,
    length: length === undefined ? undefined : Number(length),
    expecting,
    tunnel: protocol === undefined ? undefined : tunnelOf(protocol, headers)
  }
}

const tunnelOf = (protocol: string, headers: HeaderList): TunnelRequest => {
  const key = randomBytes(16).toString("base64")
  if (protocol === "websocket") headers.set("sec-websocket-key", key)
  return { protocol, key }
}
