/** Functions on strings: the standard ones and those of the strings extension. Positions count code points. */
import { elementAt, lengthOf } from "../compare.ts"
import { type Frame, type Outcome, outOfWork, tooLarge } from "../frame.ts"
import { global, invalid, method } from "../function.ts"
import { maxElements, maxTextLength } from "../limits.ts"
import { noOverload } from "../operators.ts"
import { CelError } from "../problem.ts"
import { findLastText, findText } from "../search.ts"
import { CelList, type ListValue } from "../value.ts"
import { codePointLength, codePointsBefore, offsetOf } from "./code-points.ts"
import { format, quote } from "./format.ts"

const outOfRange = (index: bigint) => invalid(`index out of range: ${index}`)

/** Counting code points may mean one look at every character. */
const spendPositions = (frame: Frame, text: string): boolean => frame.spend(1 + (text.length >> 4))

const size = (frame: Frame, text: string): Outcome =>
  spendPositions(frame, text) ? BigInt(codePointLength(text)) : outOfWork

const containsText = (frame: Frame, text: string, part: string): Outcome => {
  const at = findText(text, part, 0, frame)
  return at instanceof CelError ? at : at !== -1
}

const startsWith = (frame: Frame, text: string, prefix: string): Outcome =>
  frame.spend(prefix.length >> 3) ? text.startsWith(prefix) : outOfWork

const endsWith = (frame: Frame, text: string, suffix: string): Outcome =>
  frame.spend(suffix.length >> 3) ? text.endsWith(suffix) : outOfWork

const ascii = /^[\x00-\x7f]*$/

/** Changes ASCII letters alone; the engine's own conversion is fast where there are no others. */
const convertAscii =
  (letters: RegExp, convert: (text: string) => string) =>
  (frame: Frame, text: string): Outcome => {
    if (!frame.spendText(text.length)) return outOfWork
    if (ascii.test(text)) return frame.spendText(text.length) ? convert(text) : outOfWork
    return frame.spend(10 + (text.length >> 1)) ? text.replace(letters, convert) : outOfWork
  }

const charAt = (frame: Frame, text: string, index: bigint): Outcome => {
  if (!spendPositions(frame, text)) return outOfWork
  const offset = offsetOf(text, index)
  if (offset === undefined) return outOfRange(index)
  const code = text.codePointAt(offset)
  return code === undefined ? "" : String.fromCodePoint(code)
}

const position = (text: string, offset: number | CelError): Outcome =>
  offset instanceof CelError ? offset : BigInt(offset === -1 ? -1 : codePointsBefore(text, offset))

const indexOf = (frame: Frame, text: string, part: string, from: bigint): Outcome => {
  if (!spendPositions(frame, text)) return outOfWork
  const offset = offsetOf(text, from)
  return offset === undefined ? outOfRange(from) : position(text, findText(text, part, offset, frame))
}

const lastIndexOf = (frame: Frame, text: string, part: string, from: bigint): Outcome => {
  if (!spendPositions(frame, text)) return outOfWork
  const offset = offsetOf(text, from)
  return offset === undefined ? outOfRange(from) : position(text, findLastText(text, part, offset, frame))
}

const substring = (frame: Frame, text: string, start: bigint, end: bigint | undefined): Outcome => {
  if (!spendPositions(frame, text)) return outOfWork
  const from = offsetOf(text, start)
  if (from === undefined) return outOfRange(start)
  if (end === undefined) return text.slice(from)
  const to = offsetOf(text, end)
  if (to === undefined) return outOfRange(end)
  return from > to ? invalid(`invalid range: ${start} is after ${end}`) : text.slice(from, to)
}

const join = (frame: Frame, list: ListValue, separator: string): Outcome => {
  const length = lengthOf(list)
  if (!frame.spend(length)) return outOfWork
  const parts: Array<string> = []
  let total = 0
  for (let i = 0; i < length; i++) {
    const part = elementAt(list, i)
    if (typeof part !== "string") return noOverload("join", part)
    total += part.length + separator.length
    if (total > maxTextLength + separator.length) return tooLarge
    parts.push(part)
  }
  return frame.spendText(total) ? parts.join(separator) : outOfWork
}

const split = (frame: Frame, text: string, separator: string, limit: bigint): Outcome => {
  if (limit === 0n) return new CelList([])
  const wanted = limit < 0n || limit > BigInt(maxElements) ? maxElements + 1 : Number(limit)
  const parts: Array<string> = []
  for (let from = 0; ; ) {
    if (!frame.spend(1)) return outOfWork
    if (separator === "" && from >= text.length) break
    const at =
      parts.length + 1 === wanted
        ? -1
        : separator === ""
          ? nextCharacter(text, from)
          : findText(text, separator, from, frame)
    if (at instanceof CelError) return at
    const end = at === -1 || at >= text.length + (separator === "" ? 0 : 1) ? text.length : at
    parts.push(text.slice(from, at === -1 ? undefined : end))
    if (parts.length > maxElements) return tooLarge
    if (at === -1) break
    from = at + separator.length
  }
  return new CelList(parts)
}

const nextCharacter = (text: string, at: number): number => at + (text.codePointAt(at)! > 0xffff ? 2 : 1)

const replace = (frame: Frame, text: string, part: string, by: string, limit: bigint): Outcome => {
  let result = ""
  let from = 0
  const wanted = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit)
  for (let count = 0; count < wanted; count++) {
    if (!frame.spend(1)) return outOfWork
    const at =
      part === "" && count > 0
        ? from < text.length
          ? nextCharacter(text, from)
          : -1
        : findText(text, part, from, frame)
    if (at instanceof CelError) return at
    if (at === -1) break
    result += text.slice(from, at) + by
    if (result.length > maxTextLength) return tooLarge
    from = at + part.length
  }
  result += text.slice(from)
  return result.length > maxTextLength ? tooLarge : frame.spendText(result.length) ? result : outOfWork
}

/** White space of Unicode, as the strings extension lists it: without the zero-width characters that JavaScript trims, too. */
const white = "[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]"
const leadingWhite = new RegExp(`^${white}+`)
const whiteCharacter = new RegExp(white)

const trim = (text: string): string => {
  const start = leadingWhite.exec(text)?.[0].length ?? 0
  let end = text.length
  while (end > start && whiteCharacter.test(text[end - 1]!)) end--
  return text.slice(start, end)
}

const reverse = (text: string): string => Array.from(text).reverse().join("")

export const textFunctions = [
  global("size", ["string"], "int", size),
  method("size", ["string"], "int", size),
  method("startsWith", ["string", "string"], "bool", startsWith),
  method("endsWith", ["string", "string"], "bool", endsWith),
  method("contains", ["string", "string"], "bool", containsText),
  method("charAt", ["string", "int"], "string", charAt),
  method("indexOf", ["string", "string"], "int", (frame, text, part) => indexOf(frame, text, part, 0n)),
  method("indexOf", ["string", "string", "int"], "int", indexOf),
  method("lastIndexOf", ["string", "string"], "int", (frame, text, part) =>
    position(text, findLastText(text, part, text.length, frame))
  ),
  method("lastIndexOf", ["string", "string", "int"], "int", lastIndexOf),
  method("substring", ["string", "int"], "string", (frame, text, start) => substring(frame, text, start, undefined)),
  method("substring", ["string", "int", "int"], "string", substring),
  method("join", ["list"], "string", (frame, list) => join(frame, list, "")),
  method("join", ["list", "string"], "string", join),
  method("split", ["string", "string"], "list", (frame, text, separator) => split(frame, text, separator, -1n)),
  method("split", ["string", "string", "int"], "list", split),
  method("replace", ["string", "string", "string"], "string", (frame, text, part, by) =>
    replace(frame, text, part, by, -1n)
  ),
  method("replace", ["string", "string", "string", "int"], "string", replace),
  method(
    "lowerAscii",
    ["string"],
    "string",
    convertAscii(/[A-Z]+/g, (text) => text.toLowerCase()),
    { cost: 3 }
  ),
  method(
    "upperAscii",
    ["string"],
    "string",
    convertAscii(/[a-z]+/g, (text) => text.toUpperCase()),
    { cost: 3 }
  ),
  method("trim", ["string"], "string", (frame, text) => (frame.spend(text.length >> 3) ? trim(text) : outOfWork)),
  method("reverse", ["string"], "string", (frame, text) => (frame.spend(text.length) ? reverse(text) : outOfWork)),
  method("stripPrefix", ["string", "string"], "string", (frame, text, prefix) =>
    startsWith(frame, text, prefix) === true ? text.slice(prefix.length) : text
  ),
  method("stripSuffix", ["string", "string"], "string", (frame, text, suffix) =>
    endsWith(frame, text, suffix) === true ? text.slice(0, text.length - suffix.length) : text
  ),
  global("strings.quote", ["string"], "string", (frame, text) =>
    frame.spend(text.length >> 2) ? quote(text) : outOfWork
  ),
  method("format", ["string", "list"], "string", format)
]
