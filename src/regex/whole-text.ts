/** Patterns of the configuration, as routes, header matches and policies use them: they cover the whole text, which is a client's. */
import { Result } from "effect"
import { withoutAnchors } from "./anchors.ts"
import type { Automaton } from "./automaton.ts"
import { compileAutomaton, compileLibrary, type Library } from "./re2.ts"

/** Instructions of a compiled pattern: bounds the work per character where there is no automaton. */
const largestProgram = 1000
/** Work for the construction of the automaton: a millisecond or two, once. */
const mostWork = 100_000

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
  readonly #source: string
  readonly #library: Library
  /** `null` until a text has come as far: of ten thousand patterns of a file few are asked. */
  #automaton: Automaton | undefined | null = null

  constructor(source: string, library: Library) {
    const { prefix, prefixComplete } = library.re2()
    this.literal = prefix
    this.fixed = prefixComplete
    this.#source = source
    this.#library = library
  }

  matches(text: string): boolean {
    if (this.fixed) return text === this.literal
    if (!text.startsWith(this.literal)) return false
    if (this.#automaton === null) this.#automaton = compileAutomaton(`\\A(?:${this.#source})\\z`, mostWork)
    return this.#automaton === undefined ? this.#library.testExact(text) : this.#automaton.test(text)
  }
}

/** Fails with what is wrong, without quoting the pattern. */
export const compilePattern = (source: string): Result.Result<Pattern, string> => {
  const compiled = compileLibrary(withoutAnchors(source))
  if (Result.isFailure(compiled)) return Result.fail(`not a regular expression in RE2 syntax: ${compiled.failure}`)
  const library = compiled.success
  if (library.re2().prog.numInst() > largestProgram) return Result.fail("the regular expression is too large")
  return Result.succeed(new WholeText(source, library))
}
