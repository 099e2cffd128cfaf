/**
 * Parsing JSON text within the work budget. The engine's parser is fast on long strings and slow on many small values, up to 200 ns for a
 * key; a quick look over the text counts what will be slow before it is done.
 */
import { type Frame, outOfWork } from "./frame.ts"
import { CelError } from "./problem.ts"

const invalidJson = new CelError("invalid_argument", "the text is not JSON")

/** Shorter texts cannot hold enough values to matter: their length alone is counted. */
const shortText = 8_192

/** Integers that a double does not hold exactly have at least sixteen digits. */
const longInteger = /\d{16}/

/** What the text says, in a box because any value is possible; the error where it is no JSON or too much work. */
export const parseJson = (frame: Frame, text: string): { readonly json: unknown } | CelError => {
  if (!frame.spend(text.length <= shortText ? 2 + (text.length >> 1) : work(text, frame.steps))) return outOfWork
  try {
    return { json: longInteger.test(text) ? JSON.parse(text, exactIntegers) : JSON.parse(text) }
  } catch {
    return invalidJson
  }
}

/** The engine tells a reviver the text of a primitive. */
const exactIntegers = function (
  this: unknown,
  _key: string,
  value: unknown,
  context?: { readonly source?: string }
): unknown {
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
    ? BigInt(context!.source!)
    : value
}

/**
 * Steps that parsing will take, or more than `limit`: five for a key, three for a container, one for any other value, and the length.
 * Strings are skipped by searching for their closing quote.
 */
const work = (text: string, limit: number): number => {
  let steps = text.length >> 6
  for (let at = 0; at < text.length && steps <= limit; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at)
        steps += 2
        break
      case 0x3a:
        steps += 5
        break
      case 0x5b:
      case 0x7b:
        steps += 3
        break
      case 0x2c:
        steps += 1
    }
  }
  return steps
}

const endOfString = (text: string, from: number): number => {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return at
  }
  return text.length
}
