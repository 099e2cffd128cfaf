/**
 * Regular expressions of the configuration: RE2 syntax alone, whole-text anchored, and matched in time linear in the text,
 * because the text is a client's. Node's own engine backtracks, and its linear mode is slower than this automaton.
 */
import { RE2JS, RE2JSSyntaxException } from "@bufbuild/re2"
import { Result } from "effect"
import { regexFault } from "../../spec/regex-fault.ts"
import { literalBeginning, withoutAnchors } from "./pattern-text.ts"

/** Instructions of a compiled pattern: bounds the work per character where the automaton has too many states to keep. */
const largestProgram = 1000
/** Characters beyond latin-1 after which the automaton is built anew: it remembers each one that it has seen. */
const mostForeign = 65_536
const foreign = /[^\x00-\xff]/

/** A compiled pattern. */
export interface Pattern {
  /** What every text that matches begins with. */
  readonly literal: string
  /** Whether `literal` is the only text that matches. */
  readonly fixed: boolean
  /** Whether the whole text matches. */
  matches(text: string): boolean
}

class WholeText implements Pattern {
  readonly literal: string
  readonly fixed: boolean
  readonly #rest: string
  /** Where in the text the rest begins. */
  readonly #start: number
  #automaton: RE2JS
  #foreignSeen = 0

  /** @param rest what follows `beginning` in the pattern, and what `automaton` was made from. */
  constructor(beginning: string, rest: string, automaton: RE2JS) {
    const { prefix, prefixComplete } = automaton.re2()
    this.literal = beginning + prefix
    this.fixed = prefixComplete
    this.#rest = rest
    this.#start = beginning.length
    this.#automaton = automaton
  }

  matches(text: string): boolean {
    if (this.fixed) return text === this.literal
    if (!text.startsWith(this.literal)) return false
    if (foreign.test(text)) this.#countForeign(text.length)
    return this.#automaton.testExact(this.#start === 0 ? text : text.slice(this.#start))
  }

  #countForeign(characters: number): void {
    this.#foreignSeen += characters
    if (this.#foreignSeen < mostForeign) return
    this.#foreignSeen = 0
    this.#automaton = new RE2JS(this.#rest)
  }
}

/** Fails with what is wrong, without quoting the pattern. */
export const compilePattern = (source: string): Result.Result<Pattern, string> => {
  const { literal, rest } = literalBeginning(withoutAnchors(source))
  try {
    const automaton = new RE2JS(rest)
    if (automaton.re2().prog.numInst() > largestProgram) return Result.fail("the regular expression is too large")
    return Result.succeed(new WholeText(literal, rest, automaton))
  } catch (error) {
    const detail = error instanceof RE2JSSyntaxException ? regexFault(source, error.error) : "it cannot be compiled"
    return Result.fail(`not a regular expression in RE2 syntax: ${detail}`)
  }
}
