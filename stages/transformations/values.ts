/** What values of expressions become in a message: lines of headers, and bodies. */
import { Buffer } from "node:buffer"
import {
  CelError,
  type CelValue,
  elementsIn,
  entriesIn,
  isHeaderName,
  isHeaderValue,
  isHopByHop,
  toJson,
  toText
} from "../../src/policy/policy.ts"

/** Characters of a value, and lines of headers, that a message may get from one expression. */
const longest = 65_536
const mostLines = 1024

/** Why a part of a message stays as it is, or is taken out of it: without anything of the value. */
export interface Unusable {
  readonly because: string
}

const unusable = (because: string): Unusable => ({ because })
const tooLong = unusable(`more than ${longest} characters`)
const noText = unusable("neither text nor bytes")
const noValue = unusable("no header value")

/** The text of a header. A text has characters up to U+00FF, of which each is a byte; bytes are bytes. */
export const headerText = (value: CelValue | CelError): string | Unusable => {
  if (typeof value === "string") return checked(value)
  if (value instanceof CelError) return unusable(value.code)
  if (!(value instanceof Uint8Array)) return noText
  if (value.length > longest) return tooLong
  return checked(Buffer.from(value.buffer, value.byteOffset, value.length).toString("latin1"))
}

/** The text of a pseudo-header, which whoever sets it looks into. A status may be written as the number that it is. */
export const plainText = (value: CelValue | CelError): string | Unusable => {
  if (typeof value === "string") return value.length > longest ? tooLong : value
  if (typeof value === "bigint") return String(value)
  if (value instanceof CelError) return unusable(value.code)
  if (!(value instanceof Uint8Array)) return noText
  return value.length > longest ? tooLong : toText(value)
}

const checked = (text: string): string | Unusable => {
  if (text.length > longest) return tooLong
  if (!isHeaderValue(text)) return noValue
  return isSpace(text, 0) || isSpace(text, text.length - 1) ? trimmed(text) : text
}

const isSpace = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return code === 0x20 || code === 0x09
}

/** Space around a value is no part of it. */
const trimmed = (text: string): string => {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text, start)) start++
  while (end > start && isSpace(text, end - 1)) end--
  return text.slice(start, end)
}

/** Whether a header frames the message or belongs to one connection: the proxy alone says what it is. */
export const isFraming = (name: string): boolean => name === "content-length" || isHopByHop(name)

/** The lines of a map: name in lower case, value, name, value … Pseudo-headers and what frames a message are left out. */
export const linesOf = (value: CelValue | CelError): ReadonlyArray<string> | Unusable => {
  if (value instanceof CelError) return unusable(value.code)
  const entries = entriesIn(value)
  if (entries === undefined) return unusable("no map")
  const lines: Array<string> = []
  for (const [key, held] of entries) {
    const name = typeof key === "string" ? key.toLowerCase() : ""
    if (name.startsWith(":") || isFraming(name)) continue
    if (!isHeaderName(name) || name.length > 256) return unusable("a name that no header has")
    for (const each of elementsIn(held) ?? [held]) {
      const line = isPlain(each) ? checked(toText(each)) : unusable("a value that is no text, number or boolean")
      if (typeof line !== "string") return line
      if (lines.push(name, line) > 2 * mostLines) return unusable(`more than ${mostLines} lines`)
    }
  }
  return lines
}

const plain: ReadonlySet<string> = new Set(["string", "number", "bigint", "boolean"])
const isPlain = (value: CelValue): boolean => plain.has(typeof value)

/** Texts and bytes as they are, anything else as JSON; `undefined` where there is no value. */
export const bodyOf = (value: CelValue | CelError): string | Uint8Array | undefined => {
  if (value instanceof CelError) return undefined
  if (typeof value === "string" || value instanceof Uint8Array) return value
  const json = toJson(value)
  return json instanceof CelError ? undefined : json
}
