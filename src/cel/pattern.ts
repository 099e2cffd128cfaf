/**
 * Patterns of the expression language: those of rules, and those that a request brings. Their work is taken from the budget of the
 * expression.
 */
import { Result } from "effect"
import type { Automaton } from "../regex/automaton.ts"
import { compileAutomaton, compileLibrary, type Library } from "../regex/re2.ts"
import { type Frame, outOfWork } from "./frame.ts"
import { CelError } from "./problem.ts"

/** Where a match and its groups lie; -1 for a group that took no part. */
export type Match = ReadonlyArray<readonly [start: number, end: number]>

/** Bounds for a pattern: the text of a rule may be generous, what a request brings may not. */
interface Bounds {
  readonly length: number
  /** Characters times repetitions: an upper bound for the size of the library's program. */
  readonly size: number
  /** Work for the automaton's construction. */
  readonly work: number
}

const ofRules: Bounds = { length: 4_096, size: 100_000, work: 1_000_000 }
const ofRequests: Bounds = { length: 512, size: 5_000, work: 50_000 }

export class Pattern {
  readonly source: string
  readonly #library: Library
  readonly #automaton: Automaton | undefined
  /** Instructions of the library's program: its worst case grows with them. */
  readonly #size: number
  readonly groups: number
  readonly groupNames: Readonly<Record<string, number>>

  private constructor(source: string, library: Library, automaton: Automaton | undefined) {
    this.source = source
    this.#library = library
    this.#automaton = automaton
    this.#size = library.programSize()
    this.groups = library.groupCount()
    this.groupNames = library.namedGroups()
  }

  /** Compiles a pattern that a rule contains. */
  static compile(source: string): Pattern | CelError {
    return Pattern.#compile(source, ofRules)
  }

  /** Compiles a pattern that is known only at run time, and takes the work from the budget; the last ones are kept. */
  static dynamic(source: string, frame: Frame): Pattern | CelError {
    const known = recent.get(source)
    if (known !== undefined) return known
    if (!frame.spend(5_000)) return outOfWork
    const pattern = Pattern.#compile(source, ofRequests)
    // Without an automaton, the library keeps up to 8 MB of states for a pattern: that is not kept for what a request brought.
    if (pattern instanceof CelError || pattern.#automaton === undefined) return pattern
    if (recent.size >= maxRecent) recent.delete(recent.keys().next().value!)
    recent.set(source, pattern)
    return pattern
  }

  static #compile(source: string, bounds: Bounds): Pattern | CelError {
    if (source.length > bounds.length) return invalidPattern(`is longer than ${bounds.length} characters`)
    if (source.length * (1 + repetitions(source)) > bounds.size) return invalidPattern("repeats too much")
    const library = compileLibrary(source)
    if (Result.isSuccess(library)) return new Pattern(source, library.success, compileAutomaton(source, bounds.work))
    // What a request brought is not quoted: errors are logged.
    return invalidPattern(bounds === ofRules ? `is not valid: ${library.failure}` : "is not valid")
  }

  /** Whether a part of the text matches. */
  test(text: string, frame: Frame): boolean | CelError {
    if (this.#automaton !== undefined)
      return frame.spend(1 + (text.length >> 3)) ? this.#automaton.test(text) : outOfWork
    return frame.spend(20 + text.length * this.#size * 2) ? this.#library.test(text) : outOfWork
  }

  /** The first match at or after an offset. */
  find(text: string, from: number, frame: Frame): Match | undefined | CelError {
    if (!frame.spend(40 + (text.length - from) * this.#size * 2)) return outOfWork
    const matcher = this.#library.matcher(text)
    if (!matcher.find(from)) return undefined
    return Array.from({ length: this.groups + 1 }, (_, group) => [matcher.start(group), matcher.end(group)] as const)
  }
}

const maxRecent = 64
const recent = new Map<string, Pattern>()

const invalidPattern = (reason: string) => new CelError("invalid_argument", `the pattern ${reason}`)

/** The sum of all counted repetitions. */
const repetitions = (source: string): number => {
  let sum = 0
  for (const [, low, high] of source.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) sum += Math.max(Number(low), Number(high ?? 0))
  return sum
}
