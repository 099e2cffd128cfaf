/**
 * Fields of HTTP/2 as the runtime gives and takes them (a flat list of names and values, pseudo-fields first), and the header
 * lists of messages. Written once for clients and backends, requests and answers; what no field may be is refused both ways.
 */
import { isHopByHop } from "../../src/http/framing.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { isText, isToken } from "../http/field-characters.ts"
import type { UnsendableHeader } from "../http/response-head.ts"
import { mayTrail } from "../http/trailers.ts"

/** What a message of HTTP/2 says beside its header lines; each is there once, or not at all. */
export interface PseudoFields {
  readonly ":method"?: string
  readonly ":scheme"?: string
  readonly ":authority"?: string
  readonly ":path"?: string
  /** Of an extended CONNECT (RFC 8441). */
  readonly ":protocol"?: string
  readonly ":status"?: string
}

/** The two parts of a list of fields. */
export interface ReadFields {
  readonly pseudo: PseudoFields
  /** Names, which are in lower case, and values. Crumbs of cookies are one line again (RFC 9113 8.2.3). */
  readonly flat: Array<string>
}

/** What of a list of fields makes its message malformed (RFC 9113 8.2, 8.3). */
export type FieldFault = "a pseudo-field" | "a field name" | "a field of the connection" | "te"

const capital = /[A-Z]/
const known: ReadonlySet<string> = new Set([":method", ":scheme", ":authority", ":path", ":protocol", ":status"])

/**
 * Takes a list apart. The runtime has refused what its library knows of; this does not rely on it, since a name in capitals
 * or a second authority would come past everybody behind.
 */
export const readFields = (raw: ReadonlyArray<string>): ReadFields | FieldFault => {
  const pseudo: Record<string, string> = {}
  const flat: Array<string> = []
  let cookie = -1
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const value = raw[i + 1]!
    if (name.charCodeAt(0) === colon) {
      if (flat.length > 0 || !known.has(name) || pseudo[name] !== undefined) return "a pseudo-field"
      pseudo[name] = value
      continue
    }
    if (name === "" || capital.test(name)) return "a field name"
    if (isOfConnection(name)) return "a field of the connection"
    if (name === "te" && value.toLowerCase() !== "trailers") return "te"
    if (name === "cookie") {
      if (cookie >= 0) {
        flat[cookie] += `; ${value}`
        continue
      }
      cookie = flat.length + 1
    }
    flat.push(name, value)
  }
  return { pseudo, flat }
}

const colon = 58

/** Fields that speak of a connection of HTTP/1.1: whoever sends one in HTTP/2 has passed on what was not its own (RFC 9113 8.2.2). */
const isOfConnection = (name: string): boolean => {
  switch (name.length) {
    case 7:
      return name === "upgrade"
    case 10:
      return name === "connection" || name === "keep-alive"
    case 16:
      return name === "proxy-connection"
    case 17:
      return name === "transfer-encoding"
    default:
      return false
  }
}

/** Trailers as they came, without those that may not pass on; `undefined`: there are none. */
export const readTrailers = (raw: ReadonlyArray<string>): HeaderList | undefined => {
  const read = readFields(raw)
  if (typeof read === "string") return undefined
  const list = new HeaderList()
  for (let i = 0; i < read.flat.length; i += 2)
    if (mayTrail(read.flat[i]!)) list.flat.push(read.flat[i]!, read.flat[i + 1]!)
  return list.size === 0 ? undefined : list
}

/**
 * Appends the lines of a message to a list that begins with its pseudo-fields, but for those in `without`: what is of the
 * connection stays behind, `te: trailers` excepted. Tells what cannot be sent.
 */
export const appendFields = (
  list: Array<string>,
  headers: HeaderList,
  without?: (name: string) => boolean
): UnsendableHeader | undefined => {
  const { flat } = headers
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    const value = flat[i + 1]!
    if (!isToken(name) || !isText(value)) return { unsendable: String(name) }
    if (without?.(name) === true) continue
    if (isHopByHop(name) || name === "http2-settings") {
      if (name === "te" && value === "trailers") list.push(name, value)
      continue
    }
    // Peers take a value with blanks around it for malformed.
    list.push(name, isTrimmed(value) ? value : value.trim())
  }
  return undefined
}

const isTrimmed = (value: string): boolean =>
  value === "" || (!isBlank(value.charCodeAt(0)) && !isBlank(value.charCodeAt(value.length - 1)))
const isBlank = (code: number): boolean => code === 32 || code === 9

/** Without a prototype: a field may be called `constructor`. */
const noFields = (): Record<string, string | Array<string>> => Object.create(null)

/** Trailers as the runtime takes them; those that cannot be sent, or may not, stay behind. `undefined`: there are none. */
export const trailerFields = (trailers: HeaderList | undefined): Record<string, string | Array<string>> | undefined => {
  if (trailers === undefined) return undefined
  const fields = noFields()
  let some = false
  for (const [name, value] of trailers) {
    if (!mayTrail(name) || !isToken(name) || !isText(value)) continue
    const before = fields[name]
    const trimmed = isTrimmed(value) ? value : value.trim()
    fields[name] =
      before === undefined ? trimmed : typeof before === "string" ? [before, trimmed] : [...before, trimmed]
    some = true
  }
  return some ? fields : undefined
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

/** Whether the runtime takes flat lists, which cost less; the first versions of Node 24 want objects. */
const takesLists = major > 24 || (major === 24 && minor >= 7)

/** A flat list in the form that the runtime takes for heads. */
export const forRuntime = (list: Array<string>): Array<string> | Record<string, string | Array<string>> =>
  takesLists ? list : asObject(list)

/** The form that it takes for all others. */
export const asObject = (list: ReadonlyArray<string>): Record<string, string | Array<string>> => {
  const fields = noFields()
  for (let i = 0; i < list.length; i += 2) {
    const before = fields[list[i]!]
    const value = list[i + 1]!
    fields[list[i]!] = before === undefined ? value : typeof before === "string" ? [before, value] : [...before, value]
  }
  return fields
}
