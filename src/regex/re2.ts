/**
 * Regular expressions in RE2's syntax, for patterns and texts that somebody else may have written: whatever is accepted is matched in time
 * that grows with the text alone. The library says what is accepted; an automaton of our own, where the pattern allows one, whether a text
 * matches, at a few nanoseconds a character; the library where it does not.
 */
import { Result } from "effect"
import { RE2JS, RE2JSSyntaxException } from "re2js"
import { regexFault } from "../../spec/regex-fault.ts"
import { Automaton } from "./automaton.ts"
import { programOf } from "./program.ts"
import { parseRegex } from "./syntax.ts"

/** A pattern as the library has it. */
export type Library = RE2JS

/** Fails with what is wrong, without quoting the pattern. */
export const compileLibrary = (source: string): Result.Result<Library, string> => {
  try {
    return Result.succeed(RE2JS.compile(source))
  } catch (error) {
    return Result.fail(
      error instanceof RE2JSSyntaxException ? regexFault(source, error.error) : "it cannot be compiled"
    )
  }
}

/** What the library accepts, as an automaton; `undefined` where it would be too large, take more work than given, or needs tables of Unicode. */
export const compileAutomaton = (source: string, work: number): Automaton | undefined => {
  const regex = parseRegex(source)
  const program = regex && programOf(regex)
  return program && Automaton.of(program, work)
}
