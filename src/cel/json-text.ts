/**
 * Parsing JSON text within the work budget, and telling whether all who read it find the same in it. The engine's parser is fast on long strings and slow on many small values, up to 200 ns for a
 * key; a quick look over the text counts what will be slow before it is done.
 */
import { type Frame, outOfWork } from "./frame.ts"
import { unreadable } from "./function.ts"
import { maxNesting } from "./limits.ts"
import { CelError } from "./problem.ts"
import type { JsonObject } from "./value.ts"

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

/** Why readers may find different things in a text that is JSON. */
type Doubt = "levels" | "names" | "escapes"

/**
 * Whether there is a doubt that everybody reads a text as it was parsed here: more levels than readers follow; a name that stands twice in an
 * object, of which they take the first or the last; or a name with a backslash, which may be none.
 */
export const doubtOf = (text: string, json: unknown): Doubt | undefined => {
  const census = new Census()
  if (!census.count(json, 0)) return "levels"
  if (census.escaped) return "escapes"
  return census.members === colonsOf(text) ? undefined : "names"
}

/** The parsed text for somebody who decides by it, without a doubt. */
export const certain = (frame: Frame, text: string, json: unknown): { readonly json: unknown } | CelError => {
  switch (doubtOf(text, json)) {
    case "levels":
      return deepJson
    case "names":
      return ambiguousJson
    case "escapes":
      return frame.spend(text.length >> 1) ? reread(text) : outOfWork
    case undefined:
      return { json }
  }
}

/** The members of all objects in a value. */
class Census {
  members = 0
  /** Whether one of their names has a backslash. */
  escaped = false

  /** Whether there are no more levels than allowed. */
  count(json: unknown, depth: number): boolean {
    if (typeof json !== "object" || json === null) return true
    if (depth >= maxNesting) return false
    if (Array.isArray(json)) return json.every((item) => this.count(item, depth + 1))
    for (const name of Object.keys(json)) {
      this.members++
      this.escaped ||= name.includes("\\")
      if (!this.count((json as JsonObject)[name], depth + 1)) return false
    }
    return true
  }
}

/** Members as sound JSON has them: each has the one colon that stands outside of strings. */
const colonsOf = (text: string): number => {
  let colons = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === colon) colons++
    else if (code === quote) at = endOfString(text, at)
  }
  return colons
}

const quote = 0x22
const colon = 0x3a
const backslash = 0x5c

/** Where the string ends that begins at a quote: at the first one that an even number of backslashes stands before. */
const endOfString = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at
    while (text.charCodeAt(before - 1) === backslash) before--
    if ((at - before) % 2 === 0) return at
  }
  return text.length
}

/**
 * The same text, read member by member. The engine's parser may take an escaped name for one with a backslash that it has met before
 * (https://github.com/nodejs/node/issues/63785), so that a client could hide a member from a rule; what it says of a name with a backslash is
 * not believed.
 */
const reread = (text: string): { readonly json: unknown } | CelError => {
  let at = 0
  let ambiguous = false
  /** The next character that is no white space. */
  const next = () => {
    while (" \t\r\n".includes(text[at] ?? "none")) at++
    return text[at]
  }
  /** Moves over a character that must be one of these. */
  const over = (characters: string) => {
    const character = next()
    if (character === undefined || !characters.includes(character)) throw new SyntaxError(`expected ${characters}`)
    at++
    return character
  }
  const goesOn = () => next() === "," && over(",") === ","
  const scalar = () => {
    const start = at
    if (text[at] === '"') at = endOfString(text, at) + 1
    else while (at < text.length && !" \t\r\n,:]}".includes(text[at]!)) at++
    return JSON.parse(text.slice(start, at), exactIntegers) as unknown
  }
  const array = () => {
    const items: Array<unknown> = []
    over("[")
    for (let more = next() !== "]"; more; more = goesOn()) items.push(value())
    over("]")
    return items
  }
  const object = () => {
    const members = new Map<string, unknown>()
    over("{")
    for (let more = next() !== "}"; more; more = goesOn()) {
      const name = next() === '"' ? String(scalar()) : over('"')
      over(":")
      ambiguous ||= members.has(name)
      members.set(name, value())
    }
    over("}")
    return Object.fromEntries(members)
  }
  const value = (): unknown => {
    const first = next()
    return first === "{" ? object() : first === "[" ? array() : scalar()
  }
  try {
    const json = value()
    if (next() !== undefined) return invalidJson
    return ambiguous ? ambiguousJson : { json }
  } catch {
    return invalidJson
  }
}

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
