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
  status: "code"
}

/** Not names, so that they can be meant wherever a name stands. */
const always = new Set(["true", "false", "null", "!"])

/** The name of `available`, or the word of the language, that was most likely meant. */
export const meantBy = (name: string, available: ReadonlyArray<string>): string | undefined => {
  const word = Object.hasOwn(elsewhere, name) ? elsewhere[name]! : undefined
  if (word !== undefined && (always.has(word) || available.includes(word))) return word
  return nearest(name, available)
}

/** What is written here in place of an operator of another language. */
export const operatorFor = (found: string): string | undefined =>
  Object.hasOwn(operators, found) ? operators[found] : undefined

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
  "#": "a comment begins with //",
  $: "variables are written without it",
  ";": "an expression is one value, without an end mark",
  "~": "write a.matches(pattern)"
}
