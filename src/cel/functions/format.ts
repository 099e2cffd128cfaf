/** `format` and `quote` of the strings extension. */
import { elementAt, lengthOf } from "../compare.ts"
import { type Frame, outOfWork, tooLarge } from "../frame.ts"
import { invalid } from "../function.ts"
import { entriesOf, toText } from "../json.ts"
import { kindOf, typeNameOf } from "../kind.ts"
import { maxNesting, maxTextLength } from "../limits.ts"
import { CelError } from "../problem.ts"
import { type CelValue, type ListValue, type MapValue, Uint } from "../value.ts"

const clause = /%(?:(\.(\d{0,3}))?(.)|$)/gsu

/** `"%s is %d".format([name, age])`: the clauses of Go's fmt that the extension names. */
export const format = (frame: Frame, template: string, args: ListValue): string | CelError => {
  if (!frame.spend(30 + (template.length >> 3))) return outOfWork
  let result = ""
  let from = 0
  let next = 0
  for (const match of template.matchAll(clause)) {
    const [all, , precision, letter] = match
    result += template.slice(from, match.index)
    from = match.index + all.length
    if (letter === "%" && precision === undefined) {
      result += "%"
      continue
    }
    if (letter === undefined || !"sdfebxXo".includes(letter)) return invalid(`unrecognized formatting clause: ${all}`)
    if (next >= lengthOf(args)) return invalid(`index ${next} out of range`)
    const digits = precision === undefined ? undefined : Number(precision)
    if (digits !== undefined && digits > 100) return invalid(`the precision ${digits} is too high`)
    const text = formatted(frame, letter, elementAt(args, next++), digits)
    if (text instanceof CelError) return text
    if (!frame.spend(1 + (text.length >> 4))) return outOfWork
    result += text
    if (result.length > maxTextLength) return tooLarge
  }
  return result + template.slice(from)
}

const misfit = (letter: string, value: CelValue) => invalid(`%${letter} cannot format a ${typeNameOf(value)}`)

const formatted = (frame: Frame, letter: string, value: CelValue, digits: number | undefined): string | CelError => {
  if (!frame.spend(letter === "f" || letter === "e" ? 40 + (digits ?? 6) : 4)) return outOfWork
  const integer = typeof value === "bigint" ? value : value instanceof Uint ? value.value : undefined
  switch (letter) {
    case "s":
      return textOf(frame, value, 0)
    case "d":
      if (integer !== undefined) return String(integer)
      return typeof value === "number" && !Number.isFinite(value) ? String(value) : misfit(letter, value)
    case "f":
    case "e": {
      const number = typeof value === "number" ? value : integer === undefined ? undefined : Number(integer)
      if (number === undefined) return misfit(letter, value)
      if (!Number.isFinite(number)) return String(number)
      return letter === "f" ? fixed(number, digits ?? 6) : scientific(number, digits ?? 6)
    }
    case "b":
      return typeof value === "boolean" ? String(Number(value)) : (integer?.toString(2) ?? misfit(letter, value))
    case "o":
      return integer?.toString(8) ?? misfit(letter, value)
    default: {
      const hex = integer?.toString(16) ?? hexOf(frame, value)
      if (hex instanceof CelError) return hex
      if (hex === undefined) return misfit(letter, value)
      return letter === "X" ? hex.toUpperCase() : hex
    }
  }
}

const encoder = new TextEncoder()

const hexOf = (frame: Frame, value: CelValue): string | CelError | undefined => {
  const octets = typeof value === "string" ? encoder.encode(value) : value
  if (!(octets instanceof Uint8Array)) return undefined
  return frame.spend(octets.length)
    ? Array.from(octets, (octet) => octet.toString(16).padStart(2, "0")).join("")
    : outOfWork
}

/** Fixed digits, rounded half to even as Go rounds; JavaScript rounds exact halves up. */
const fixed = (value: number, digits: number): string => {
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${digits > 0 ? `.${"0".repeat(digits)}` : ""}`
  const rounded = value.toFixed(digits)
  const exact = value.toFixed(Math.min(100, digits + 30))
  const isHalf = digits < 70 && /^5(?:0*)$/.test(exact.slice(exact.length - 30))
  if (!isHalf || Number(rounded.at(-1)) % 2 === 0) return rounded
  // The last digit is odd, so the number that the half was rounded from ends in the even digit below.
  return rounded.slice(0, -1) + String(Number(rounded.at(-1)) - 1)
}

const scientific = (value: number, digits: number): string =>
  value.toExponential(digits).replace(/e([+-])(\d)$/, "e$10$2")

/** How `%s` shows a value: containers element by element, keys of maps in order. */
const textOf = (frame: Frame, value: CelValue, depth: number): string | CelError => {
  if (depth > maxNesting || !frame.spend(1)) return outOfWork
  const kind = kindOf(value)
  if (kind === "list") {
    const parts: Array<string> = []
    for (let i = 0; i < lengthOf(value as ListValue); i++) {
      const part = textOf(frame, elementAt(value as ListValue, i), depth + 1)
      if (part instanceof CelError) return part
      parts.push(part)
    }
    return `[${parts.join(", ")}]`
  }
  if (kind !== "map") return frame.spendText(typeof value === "string" ? value.length : 64) ? toText(value) : outOfWork
  const entries: Array<readonly [string, string]> = []
  for (const [key, entry] of entriesOf(value as MapValue)) {
    if (!frame.spend(12)) return outOfWork
    const text = textOf(frame, entry, depth + 1)
    if (text instanceof CelError) return text
    entries.push([toText(key), text])
  }
  if (!frame.spend(entries.length)) return outOfWork
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${entries.map(([key, text]) => `${key}: ${text}`).join(", ")}}`
}

const escapes: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"'
}

/** The text as a literal: in double quotes, control characters escaped; a lone surrogate becomes the replacement character. */
export const quote = (text: string): string =>
  `"${text.toWellFormed().replace(/[\x07-\r\\"]/g, (character) => escapes[character] ?? character)}"`
