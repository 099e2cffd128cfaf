/** IP addresses, CIDR blocks, and the queries of URIs. */
import { type Frame, type Outcome, outOfWork, tooLarge } from "../frame.ts"
import { global, method, unreadable } from "../function.ts"
import { maxElements } from "../limits.ts"
import { Cidr, Ip } from "../network.ts"
import { CelError } from "../problem.ts"
import { CelList } from "../value.ts"

/** The longest text form of a block: an IPv6 address with an IPv4 tail, a slash and three digits. */
const maxAddressLength = 64

const ip = (text: string): Ip | CelError =>
  (text.length > maxAddressLength ? undefined : Ip.parse(text)) ?? unreadable("the text is no IP address")

const isCanonical = (text: string): boolean | CelError => {
  const address = ip(text)
  return address instanceof CelError ? address : address.toString() === text
}

const cidr = (text: string): Cidr | CelError =>
  (text.length > maxAddressLength ? undefined : Cidr.parse(text)) ?? unreadable("the text is no CIDR block")

const containsIp = (block: Cidr, text: string): boolean | CelError => {
  const address = ip(text)
  return address instanceof CelError ? address : block.containsIp(address)
}

const containsCidr = (block: Cidr, text: string): boolean | CelError => {
  const other = cidr(text)
  return other instanceof CelError ? other : block.containsCidr(other)
}

/** A URI cut at its query: what is before it, the query without its question mark, and the fragment with its sign. */
const parts = (uri: string): { readonly before: string; readonly query: string; readonly fragment: string } => {
  const hash = uri.indexOf("#")
  const fragment = hash === -1 ? "" : uri.slice(hash)
  const whole = hash === -1 ? uri : uri.slice(0, hash)
  const mark = whole.indexOf("?")
  return {
    before: mark === -1 ? whole : whole.slice(0, mark),
    query: mark === -1 ? "" : whole.slice(mark + 1),
    fragment
  }
}

const spendUri = (frame: Frame, uri: string) => frame.spend(5 + (uri.length >> 1))

const query = (frame: Frame, uri: string, name: string): Outcome => {
  if (!spendUri(frame, uri)) return outOfWork
  const values = new URLSearchParams(parts(uri).query).getAll(name)
  if (values.length === 0) return new CelError("no_such_key", "the query has no such name")
  return values.length > maxElements ? tooLarge : new CelList(values)
}

/** Adds a pair and leaves the rest of the query as it was written. */
const addQuery = (frame: Frame, uri: string, name: string, value: string): Outcome => {
  if (!spendUri(frame, uri) || !frame.spend(name.length + value.length)) return outOfWork
  const { before, query, fragment } = parts(uri)
  return `${before}?${query === "" ? "" : `${query}&`}${new URLSearchParams([[name, value]])}${fragment}`
}

/** Gives a name one value, in the place of the first it had, or at the end. */
const setQuery = (frame: Frame, uri: string, name: string, value: string): Outcome => {
  if (!spendUri(frame, uri) || !frame.spend(name.length + value.length)) return outOfWork
  const { before, query, fragment } = parts(uri)
  const params = new URLSearchParams(query)
  params.set(name, value)
  return `${before}?${params}${fragment}`
}

export const networkFunctions = [
  global("isIP", ["string"], "bool", (_, text) => text.length <= maxAddressLength && Ip.parse(text) !== undefined, {
    cost: 20
  }),
  global("isCIDR", ["string"], "bool", (_, text) => text.length <= maxAddressLength && Cidr.parse(text) !== undefined, {
    cost: 50
  }),
  global("ip.isCanonical", ["string"], "bool", (_, text) => isCanonical(text), { cost: 30 }),
  global("ip", ["string"], "ip", (_, text) => ip(text), { cost: 30 }),
  global("ip", ["ip"], "ip", (_, address) => address),
  method("family", ["ip"], "int", (_, address) => BigInt(address.family)),
  method("isUnspecified", ["ip"], "bool", (_, address) => address.isUnspecified),
  method("isLoopback", ["ip"], "bool", (_, address) => address.isLoopback, { cost: 4 }),
  method("isLinkLocalMulticast", ["ip"], "bool", (_, address) => address.isLinkLocalMulticast, { cost: 4 }),
  method("isLinkLocalUnicast", ["ip"], "bool", (_, address) => address.isLinkLocalUnicast, { cost: 4 }),
  method("isGlobalUnicast", ["ip"], "bool", (_, address) => address.isGlobalUnicast, { cost: 12 }),
  global("cidr", ["string"], "cidr", (_, text) => cidr(text), { cost: 50 }),
  global("cidr", ["cidr"], "cidr", (_, block) => block),
  method("containsIP", ["cidr", "ip"], "bool", (_, block, address) => block.containsIp(address), { cost: 8 }),
  method("containsIP", ["cidr", "string"], "bool", (_, block, text) => containsIp(block, text), { cost: 40 }),
  method("containsCIDR", ["cidr", "cidr"], "bool", (_, block, other) => block.containsCidr(other), { cost: 8 }),
  method("containsCIDR", ["cidr", "string"], "bool", (_, block, text) => containsCidr(block, text), { cost: 60 }),
  method("ip", ["cidr"], "ip", (_, block) => block.ip),
  method("masked", ["cidr"], "cidr", (_, block) => block.masked(), { cost: 8 }),
  method("prefixLength", ["cidr"], "int", (_, block) => BigInt(block.prefixLength)),
  method("query", ["string", "string"], "list", query, { cost: 40 }),
  method("addQuery", ["string", "string", "string"], "string", addQuery, { cost: 40 }),
  method("setQuery", ["string", "string", "string"], "string", setQuery, { cost: 50 })
]
