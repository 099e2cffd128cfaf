/**
 * Prepares the text of an expression for the parser: finds the forms that the parser does not know (optional entries, quoted fields, raw
 * literals, a leading dot), writes forms of the same length in their place, and remembers where they stood. Every offset of the tree is
 * thereby an offset of the original. It also bounds length and nesting before any recursion starts.
 */
import { maxExpressionLength, maxNesting } from "./limits.ts"
import { type CelProblem, problemAt } from "./problem.ts"

export interface Scanned {
  /** The text for the parser, as long as the original. */
  readonly text: string
  /** Offsets of the `?` of optional list elements and map entries, ascending. */
  readonly optionalEntries: ReadonlyArray<number>
  /** Field names written between backquotes, by the offset of the first backquote. */
  readonly quotedFields: ReadonlyMap<number, string>
  /** Raw and bytes literals, whose value the source alone tells, by the offset of the prefix that the parser sees. */
  readonly literals: ReadonlyMap<number, PrefixedLiteral>
  /** Doubles without digits before the point. */
  readonly bareDoubles: ReadonlySet<number>
  /** Identifiers with a dot before them. */
  readonly absolute: ReadonlySet<number>
}

/** A literal with a prefix: the text between its quotes. */
export interface PrefixedLiteral {
  readonly text: string
  readonly from: number
  readonly raw: boolean
  readonly bytes: boolean
}

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" }
const word = /[A-Za-z_][A-Za-z0-9_]*/y
const number = /0[xX][0-9a-fA-F]*[uU]?|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?[uU]?/y
const quotedField = /`[A-Za-z0-9_.\-/ ]+`/y
const stringPrefix = /^(?:[rR]|[bB][rR]?)$/

interface Bracket {
  readonly at: number
  /** Whether entries, which can be optional, stand between the brackets. */
  readonly entries: boolean
}

/** Scans an expression; gives the first lexical problem, if there is one. */
export const scan = (source: string): Scanned | CelProblem => {
  const length = source.length
  const problem = (start: number, end: number, message: string) =>
    problemAt(source, start, Math.min(end, length), message)
  if (length > maxExpressionLength)
    return problem(maxExpressionLength, length, `the expression is longer than ${maxExpressionLength} characters`)

  const optionalEntries: Array<number> = []
  const quotedFields = new Map<number, string>()
  const literals = new Map<number, PrefixedLiteral>()
  const bareDoubles = new Set<number>()
  const absolute = new Set<number>()
  const replaced: Array<readonly [at: number, text: string]> = []
  const open: Array<Bracket> = []
  /** The last token: tells an index from a list, a selection from a leading dot, an optional entry from a conditional. */
  let previous: "" | "operand" | "operator" | "." | "," | "(" | "[" | "{" = ""
  let prefixes = 0
  let at = 0

  while (at < length) {
    const char = source[at]!
    if (char === " " || char === "\t" || char === "\n" || char === "\r" || char === "\f") {
      if (char === "\f") replaced.push([at, " "])
      at++
      continue
    }
    if (char === "/" && source[at + 1] === "/") {
      const newline = source.indexOf("\n", at)
      at = newline === -1 ? length : newline
      continue
    }
    const start = at
    const operandBefore = previous === "operand"
    prefixes = char === "!" || char === "-" ? prefixes + 1 : 0
    if (prefixes > maxNesting) return problem(start, start + 1, `the expression nests deeper than ${maxNesting}`)

    if (char === '"' || char === "'") {
      const close = closingQuote(source, at, false)
      if (typeof close === "string") return problem(start, length, close)
      at = close.end
      previous = "operand"
    } else if (isDigit(char) || (char === "." && !operandBefore && isDigit(source[at + 1]))) {
      number.lastIndex = at
      at += number.exec(source)![0].length
      if (char === ".") {
        bareDoubles.add(start)
        replaced.push([start, "0"])
      }
      previous = "operand"
    } else if (isWordStart(char)) {
      word.lastIndex = at
      const text = word.exec(source)![0]
      at += text.length
      if ((source[at] === '"' || source[at] === "'") && stringPrefix.test(text)) {
        const raw = /[rR]/.test(text)
        const close = closingQuote(source, at, raw)
        if (typeof close === "string") return problem(start, length, close)
        const content = source.slice(close.from, close.to)
        literals.set(at - 1, { text: content, from: close.from, raw, bytes: /[bB]/.test(text) })
        if (text.length === 2) replaced.push([start, " "])
        replaced.push([close.from, "_".repeat(content.length)])
        at = close.end
      }
      previous = text === "in" && source[start - 1] !== "." ? "operator" : "operand"
    } else if (char === "`") {
      quotedField.lastIndex = at
      const text = quotedField.exec(source)?.[0]
      if (text === undefined || previous !== ".")
        return problem(start, start + 1, "backquotes may only enclose the name of a field after a dot")
      at += text.length
      quotedFields.set(start, text.slice(1, -1))
      replaced.push([start, "_".repeat(text.length)])
      previous = "operand"
    } else if (char === "(" || char === "[" || char === "{") {
      if (open.push({ at, entries: char === "{" || (char === "[" && !operandBefore) }) > maxNesting)
        return problem(start, start + 1, `the expression nests deeper than ${maxNesting}`)
      at++
      previous = char
    } else if (char === ")" || char === "]" || char === "}") {
      const from = open.pop()
      const opener = from === undefined ? undefined : source[from.at]!
      if (opener === undefined) return problem(start, start + 1, `'${char}' closes nothing`)
      if (closing[opener] !== char)
        return problem(start, start + 1, `'${char}' cannot close '${opener}': expected '${closing[opener]}'`)
      at++
      previous = "operand"
    } else if (
      char === "?" &&
      open.at(-1)?.entries === true &&
      (previous === "[" || previous === "{" || previous === ",")
    ) {
      optionalEntries.push(start)
      replaced.push([start, " "])
      at++
      previous = "operator"
    } else if (char === "." && !operandBefore && previous !== "." && isWordStart(source[at + 1] ?? "")) {
      absolute.add(start + 1)
      replaced.push([start, " "])
      at++
      previous = "operator"
    } else {
      at++
      if (char === "." || char === ",") previous = char
      else if (!(char === "?" && previous === ".")) previous = "operator"
    }
  }
  const unclosed = open.pop()
  if (unclosed !== undefined) {
    const opener = source[unclosed.at]!
    return problem(unclosed.at, unclosed.at + 1, `'${opener}' is not closed: expected '${closing[opener]}'`)
  }
  return { text: rewrite(source, replaced), optionalEntries, quotedFields, literals, bareDoubles, absolute }
}

const isDigit = (char: string | undefined) => char !== undefined && char >= "0" && char <= "9"

const isWordStart = (char: string) => (char >= "a" && char <= "z") || (char >= "A" && char <= "Z") || char === "_"

/** Where the content of the literal whose first quote is at `at` lies, and where the literal ends; or what is wrong with it. */
export const closingQuote = (
  source: string,
  at: number,
  raw: boolean
): { readonly from: number; readonly to: number; readonly end: number } | string => {
  const quote = source[at]!
  const triple = source.startsWith(quote.repeat(3), at)
  const close = triple ? quote.repeat(3) : quote
  const from = at + close.length
  for (let to = from; to < source.length; to++) {
    const char = source[to]
    if (char === "\\" && !raw) to++
    else if (!triple && (char === "\n" || char === "\r")) return "the string is not closed on its line"
    else if (source.startsWith(close, to)) return { from, to, end: to + close.length }
  }
  return "the string is not closed"
}

const rewrite = (source: string, replaced: ReadonlyArray<readonly [number, string]>): string => {
  let text = ""
  let from = 0
  for (const [at, by] of replaced) {
    text += source.slice(from, at) + by
    from = at + by.length
  }
  return from === 0 ? source : text + source.slice(from)
}
