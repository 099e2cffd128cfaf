/**
 * Parsing JSON text within the work budget, and telling whether all who read it find the same in it. The engine's parser is fast on long strings and slow on many small values, up to 200 ns for a
 * key; a quick look over the text counts what will be slow before it is done.
 */
import { type Frame, outOfWork } from "./frame.ts"
import { unreadable } from "./function.ts"
import { maxNesting } from "./limits.ts"
import { CelError } from "./problem.ts"

const invalidJson = unreadable("the text is not JSON")
const ambiguousJson = unreadable("the text is JSON with two members of one name")
const deepJson = new CelError("limit", `the text is JSON with more than ${maxNesting} levels`)

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
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d{1,20}$/.test(context?.source ?? "")
    ? BigInt(context!.source!)
    : value
}

/**
 * What is wrong with the parsed text for somebody who decides by it: a name that stands twice in an object, of which readers take the first
 * or the last; or more levels than readers follow. `undefined` when nothing is.
 */
export const ambiguity = (text: string, json: unknown): CelError | undefined => {
  const members = membersOf(json, 0)
  if (members === undefined) return deepJson
  return members === colonsOf(text) ? undefined : ambiguousJson
}

/** Members of all objects in a value; `undefined` when there are too many levels. */
const membersOf = (json: unknown, depth: number): number | undefined => {
  if (typeof json !== "object" || json === null) return 0
  if (depth >= maxNesting) return undefined
  let members = 0
  const values = Array.isArray(json) ? json : Object.values(json)
  if (values !== json) members = values.length
  for (const value of values) {
    if (typeof value !== "object" || value === null) continue
    const inner = membersOf(value, depth + 1)
    if (inner === undefined) return undefined
    members += inner
  }
  return members
}

/** Members as the text of sound JSON has them: each has the one colon that stands outside of strings. */
const colonsOf = (text: string): number => {
  let colons = 0
  let backslash = indexOrEnd(text, 0)
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === colon) colons++
    else if (code === quote) {
      let from = at + 1
      at = text.indexOf('"', from)
      if (backslash < from) backslash = indexOrEnd(text, from)
      while (backslash < at) {
        from = backslash + 2
        backslash = indexOrEnd(text, from)
        if (at < from) at = text.indexOf('"', from)
      }
    }
  }
  return colons
}

const quote = 0x22
const colon = 0x3a

/** What starts a value, a string or an entry. The engine's search for it skips everything else at a tenth of a nanosecond a character. */
const structure = /["[{:,]/g
const price: Readonly<Record<string, number>> = { '"': 1, ":": 5, "[": 3, "{": 3, ",": 1 }

/**
 * Steps that parsing will take, or more than `limit`: for keys, containers, strings and other values, for escapes, and for the characters
 * between them.
 */
const work = (text: string, limit: number): number => {
  let steps = text.length >> 6
  let from = 0
  let escapes = 0
  let backslash = indexOrEnd(text, 0)
  structure.lastIndex = 0
  while (steps <= limit && structure.test(text)) {
    const at = structure.lastIndex - 1
    steps += price[text[at]!]! + ((at - from) >> 4)
    from = at + 1
    if (text[at] !== '"') continue
    // A string ends at the first quote that no backslash stands before; each backslash takes the next character with it.
    let end = text.indexOf('"', from)
    if (backslash < from) backslash = indexOrEnd(text, from)
    while (backslash < end) {
      from = backslash + 2
      backslash = indexOrEnd(text, from)
      if (end < from) end = text.indexOf('"', from)
      // Few escapes are counted one by one; where there are many, the rest of the text is taken to consist of them.
      if (++escapes > manyEscapes) return steps + (escapes >> 1) + ((text.length - from) >> 4)
    }
    if (end === -1) break
    from = end + 1
    structure.lastIndex = from
  }
  return steps + (escapes >> 1) + ((text.length - from) >> 4)
}

/** The next backslash, which may stand far behind the string that is looked at: it is searched for once. */
const indexOrEnd = (text: string, from: number): number => {
  const at = text.indexOf("\\", from)
  return at === -1 ? text.length : at
}

/** Counting them costs some 20 ns each. */
const manyEscapes = 40_000
