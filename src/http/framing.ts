/**
 * Reads the head of a request as it came off the wire: strict framing, one canonical authority, hop-by-hop headers gone.
 * Whatever two HTTP implementations could understand differently is refused here, once, for the whole proxy.
 */
import { canonicalAuthority, canonicalDestination } from "./authority.ts"
import { HeaderList } from "./header-list.ts"
import { RequestHead, type Scheme } from "./message.ts"
import type { Paths } from "./path.ts"

/** Why a request cannot be accepted: always the client's fault, and the connection is closed after the answer. */
export interface Malformed {
  readonly _tag: "Malformed"
  readonly status: 400 | 405 | 417 | 431 | 501 | 505
  readonly message: string
  /** The methods that are served, where another one is the reason. */
  readonly allow?: string | undefined
}

export interface Framed {
  readonly _tag: "Framed"
  readonly head: RequestHead
  /** How the body is delimited: by its length, or by chunks; `undefined` when there is none. */
  readonly body: number | "chunked" | undefined
  /** The protocols that the client asks to upgrade to (RFC 9110 7.8), without `h2c`, which nobody may offer any more. */
  readonly upgrade: string | undefined
  /** Whether it asks for any protocol, be it one that cannot be passed on. */
  readonly upgrading: boolean
  /** Whether the connection may carry another request (RFC 9112 9.3). */
  readonly persistent: boolean
  /** Whether the client waits for `100 Continue`. */
  readonly expecting: boolean
}

export const malformed = (message: string, status: Malformed["status"] = 400): Malformed => ({
  _tag: "Malformed",
  status,
  message
})

/**
 * TRACE stops here (RFC 9110 9.3.8): it would show what was added on the way. CONNECT, which makes a tunnel (9.3.6), does too
 * unless a listener is told otherwise.
 */
export const methodNotAllowed: Malformed = {
  ...malformed("method not allowed", 405),
  allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
}

/** What a port says that has nothing but tunnels. */
export const tunnelsAlone: Malformed = { ...methodNotAllowed, allow: "CONNECT" }

/**
 * Whether a header, named in lower case, concerns one connection and never passes on (RFC 9110 7.6.1, and the older names).
 * `proxy-authorization` stays, since a policy may read it; `expect` is answered by whoever holds the connection. Asked of
 * every name of every message: by its length, since a set would have to hash it.
 */
export const isHopByHop = (name: string): boolean => {
  switch (name.length) {
    case 2:
      return name === "te"
    case 6:
      return name === "expect"
    case 7:
      return name === "trailer" || name === "upgrade"
    case 10:
      return name === "connection" || name === "keep-alive"
    case 16:
      return name === "proxy-connection"
    case 17:
      return name === "transfer-encoding"
    case 18:
      return name === "proxy-authenticate"
    default:
      return false
  }
}
/** Names that only the proxy itself may set. */
export const reservedPrefix = "x-headgate-"

/**
 * Whether a backend that makes variables of headers (CGI, WSGI) would take a name with `_` for another one: a header that is
 * sent as well, or one that a client may not decide.
 */
export const isAlias = (name: string, headers: HeaderList): boolean => {
  const meant = name.replaceAll("_", "-")
  return (
    isHopByHop(meant) ||
    meant === "content-length" ||
    meant.startsWith(reservedPrefix) ||
    meant.startsWith("x-forwarded-") ||
    headers.has(meant)
  )
}
const digits = /^[0-9]{1,15}$/

/**
 * @param target the request target as received: origin, absolute or asterisk form.
 * @param raw names and values as received, alternating.
 * @param paths whether the path gets its normal form, or stays as received.
 * @param connects whether there are tunnels.
 */
export const frameRequest = (
  method: string,
  target: string,
  version: "1.0" | "1.1",
  raw: ReadonlyArray<string>,
  scheme: Scheme,
  paths: Paths = "normalised",
  connects = false
): Framed | Malformed => {
  const flat: Array<string> = []
  let host: string | undefined
  let length: string | undefined
  let encoding: string | undefined
  let connection = ""
  let upgrade: string | undefined
  let trailersWanted = false
  let expecting = false
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase()
    const value = raw[i + 1]!
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
      case "transfer-encoding":
        if (encoding !== undefined) return malformed("more than one transfer-encoding header")
        encoding = value
        continue
      case "connection":
        connection = connection === "" ? value : `${connection},${value}`
        continue
      case "upgrade":
        // An empty one asks for nothing.
        if (value !== "") upgrade = upgrade === undefined ? value : `${upgrade}, ${value}`
        continue
      case "te":
        trailersWanted ||= /(^|,)\s*trailers\s*(,|;|$)/i.test(value)
        continue
      case "expect":
        // There is no other expectation (RFC 9110 10.1.1); clients of HTTP/1.0 know none.
        if (version === "1.1" && value.toLowerCase() !== "100-continue") return malformed("unknown expectation", 417)
        expecting = version === "1.1"
        continue
      default:
        if (isHopByHop(name) || name.startsWith(reservedPrefix)) continue
    }
    flat.push(name, value)
  }
  if (encoding !== undefined) {
    if (version === "1.0") return malformed("transfer-encoding in an HTTP/1.0 request")
    if (length !== undefined) return malformed("both content-length and transfer-encoding")
    const codings = encoding.toLowerCase()
    // Where chunks are not the last of all nobody knows where the body ends (RFC 9112 6.3).
    if (codings !== "chunked")
      return codings.includes("chunked") && !codings.endsWith("chunked")
        ? malformed("transfer-encoding behind chunked")
        : malformed("unsupported transfer-encoding", 501)
  }
  const headers = new HeaderList(flat)
  const options = connection === "" ? noOptions : takeOptions(connection, headers)
  if (trailersWanted) flat.push("te", "trailers")

  let pathAndQuery = target
  let authority = host
  if (method === "TRACE" || (method === "CONNECT" && !connects)) return methodNotAllowed
  if (method === "CONNECT") {
    if (encoding !== undefined || (length !== undefined && Number(length) > 0))
      return malformed("a body of a CONNECT request")
    const destination = canonicalDestination(target)
    if (destination === undefined) return malformed("invalid destination of a tunnel")
    if (host === undefined && version === "1.1") return malformed("no authority or host")
    if (host !== undefined && !isAuthority(host, scheme)) return malformed("invalid authority or host")
    // Nothing stands before a tunnel that can be told apart from what is in it.
    return {
      _tag: "Framed",
      head: new RequestHead(method, scheme, destination, "/", headers, version),
      body: undefined,
      upgrade: undefined,
      upgrading: true,
      persistent: false,
      expecting: false
    }
  }
  if (target.includes("#")) return malformed("fragment in the request target")
  if (!target.startsWith("/")) {
    if (target === "*") {
      if (method !== "OPTIONS") return malformed("asterisk-form target")
    } else {
      // Absolute form: its authority replaces the host header (RFC 9112 3.2.2).
      const absolute = /^(https?):\/\/([^/?]+)(.*)$/i.exec(target)
      if (absolute === null) return malformed("invalid request target")
      authority = absolute[2]!
      const rest = absolute[3]!
      // Without a path it asks of the server as a whole, as the asterisk does (RFC 9112 3.2.4).
      pathAndQuery = rest.startsWith("/") ? rest : rest === "" && method === "OPTIONS" ? "*" : `/${rest}`
    }
  }
  // HTTP/1.1 demands a host header even beside an absolute target (RFC 9112 3.2).
  if (authority === undefined || (host === undefined && version === "1.1")) return malformed("no authority or host")
  const head = headOf({ method, authority, host, pathAndQuery, headers, version }, scheme, paths)
  if ("_tag" in head) return head
  return {
    _tag: "Framed",
    head,
    body: encoding !== undefined ? "chunked" : length === undefined ? undefined : Number(length) || undefined,
    upgrade: options.upgrade && upgrade !== undefined && version === "1.1" ? offeredProtocols(upgrade) : undefined,
    upgrading: options.upgrade && upgrade !== undefined,
    persistent: !options.close && (version === "1.1" || options.keepAlive),
    expecting
  }
}

/** What both versions of the protocol say of a request, each in its own words. */
export interface Said {
  readonly method: string
  readonly authority: string
  /** The `host` header, which may be another spelling of the authority. */
  readonly host: string | undefined
  readonly pathAndQuery: string
  readonly headers: HeaderList
  readonly version: RequestHead["version"]
}

/** The head of what was said: one canonical authority, and the path in the form that is asked for. */
export const headOf = (
  { method, authority, host, pathAndQuery, headers, version }: Said,
  scheme: Scheme,
  paths: Paths
): RequestHead | Malformed => {
  const canonical = canonicalAuthority(authority, scheme)
  if (canonical === undefined || (host !== authority && host !== undefined && !isAuthority(host, scheme)))
    return malformed("invalid authority or host")
  const head = new RequestHead(method, scheme, canonical, pathAndQuery, headers, version)
  const unreadable = paths === "normalised" && pathAndQuery !== "*" ? head.moveTo(pathAndQuery) : undefined
  return unreadable === undefined ? head : malformed(unreadable.fault)
}

/** The protocols of an `upgrade` header that can be passed on; `undefined` when there is none. */
export const offeredProtocols = (upgrade: string): string | undefined => {
  const offered = upgrade
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "" && protocol.toLowerCase() !== "h2c")
  return offered.length === 0 ? undefined : offered.join(", ")
}

const isAuthority = (raw: string, scheme: Scheme): boolean => canonicalAuthority(raw, scheme) !== undefined

/** A message without content says so with nothing; these must stay whatever `connection` claims (RFC 9110 7.6.1). */
const notNominable = new Set(["content-length", "content-type", "authorization", "cookie", "host"])

/** What `connection` says of the connection itself. */
interface ConnectionOptions {
  close: boolean
  keepAlive: boolean
  upgrade: boolean
}

const noOptions: Readonly<ConnectionOptions> = { close: false, keepAlive: false, upgrade: false }

/** Reads what `connection` says, and removes the headers that it names. */
const takeOptions = (connection: string, headers: HeaderList): ConnectionOptions => {
  const options = { ...noOptions }
  let named: Set<string> | undefined
  for (const option of connection.toLowerCase().split(",")) {
    const name = option.trim()
    if (name === "upgrade") options.upgrade = true
    else if (name === "close") options.close = true
    else if (name === "keep-alive") options.keepAlive = true
    else if (name !== "" && !notNominable.has(name)) named = (named ?? new Set()).add(name)
  }
  if (named !== undefined) headers.deleteAll(named)
  return options
}
