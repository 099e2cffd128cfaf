/** What somebody means who writes an expression as in another language: the names and operators of this one. */
import { nearest } from "../../spec/config/nearest.ts"

/** Words of other languages and products, by what they are here. */
const elsewhere: Readonly<Record<string, string>> = {
  True: "true",
  TRUE: "true",
  False: "false",
  FALSE: "false",
  nil: "null",
  None: "null",
  undefined: "null",
  not: "!",
  len: "size",
  length: "size",
  includes: "contains",
  indexOf: "contains",
  test: "matches",
  match: "matches",
  lower: "lowerAscii",
  toLowerCase: "lowerAscii",
  upper: "upperAscii",
  toUpperCase: "upperAscii",
  claims: "jwt",
  token: "jwt",
  auth: "jwt",
  req: "request",
  http: "request",
  res: "response",
  resp: "response",
  client: "source",
  remote: "source",
  ip: "address",
  url: "uri",
  status: "code",
  query: "uri",
  model: "requestModel",
  toolName: "tool"
}

/** Not names, so that they can be meant wherever a name stands. */
const always = new Set(["true", "false", "null", "!"])

/** The name of `available`, or the word of the language, that was most likely meant. */
export const meantBy = (name: string, available: ReadonlyArray<string>): string | undefined => {
  const word = Object.hasOwn(elsewhere, name) ? elsewhere[name]! : undefined
  if (word !== undefined && (always.has(word) || available.includes(word))) return word
  return nearest(name, available)
}

/** What is written here in place of what another language has at an offset of a text that cannot be parsed. */
export const writtenInstead = (source: string, offset: number, found: string | undefined): string | undefined => {
  if (found !== undefined && Object.hasOwn(pairs, source.slice(offset - 1, offset + 1)))
    return pairs[source.slice(offset - 1, offset + 1)]
  if (source.startsWith("=~", offset)) return patterns
  if (source.trimStart().startsWith("{{")) return "an expression stands without {{ }}"
  if (found === "," && inParentheses.test(source.slice(0, offset))) return "a list is written in [ ]"
  return found !== undefined && Object.hasOwn(operators, found) ? operators[found] : undefined
}

const patterns = "write a.matches(pattern)"

const inParentheses = /\bin\s*\([^()]*$/

/** Operators of two characters, of which the second is not understood. */
const pairs: Readonly<Record<string, string>> = {
  "<>": "inequality is !=",
  "??": "write default(a, b)"
}

const operators: Readonly<Record<string, string>> = {
  "=": "equality is ==",
  and: "write &&",
  AND: "write &&",
  "&": "write &&",
  or: "write ||",
  OR: "write ||",
  "|": "write ||",
  not: "write !",
  is: "write ==",
  eq: "write ==",
  ne: "write !=",
  like: patterns,
  LIKE: patterns,
  matches: patterns,
  contains: "write a.contains(b)",
  "#": "a comment begins with //",
  $: "variables are written without it",
  ";": "an expression is one value, without an end mark",
  "~": patterns,
  "/": "a pattern is a text, in quotes",
  "\u201c": "a text is written in plain quotes",
  "\u201d": "a text is written in plain quotes",
  "\u2018": "a text is written in plain quotes",
  "\u2019": "a text is written in plain quotes",
  if: "a choice is written condition ? a : b"
}
