/** What can go wrong with an expression: a problem found when it is compiled, and an error as the value of an evaluation. */

/** A fault in the text of an expression. Offsets count UTF-16 units from 0; line and column count from 1. */
export interface CelProblem {
  readonly message: string
  readonly start: number
  readonly end: number
  readonly line: number
  readonly column: number
  /** The names that could have stood at this place, sorted; empty where that question makes no sense. */
  readonly available: ReadonlyArray<string>
}

export type CelErrorCode =
  /** A map, view or list has no such key, field or index. */
  | "no_such_key"
  /** No variable of this name exists here. */
  | "undeclared"
  /** No form of the operator or function takes these types. */
  | "no_such_overload"
  /** The result of an operation does not fit its type. */
  | "overflow"
  | "divide_by_zero"
  /** The types fit, the value does not: a position outside of a text, a bad pattern. */
  | "invalid_argument"
  /** A text or bytes do not say what they are read as: JSON, UTF-8, base64, a number, an address, a time. */
  | "unreadable"
  /** The work or the size allowed to one evaluation is used up. */
  | "limit"
  /** The expression called `fail`. */
  | "failed"

/**
 * A failed evaluation. It is a value, not an exception: a missing key is an ordinary outcome of a rule, so it must cost nothing.
 * `start` and `end` point at the part of the expression that failed first (-1 while unknown).
 */
export class CelError {
  readonly _tag = "CelError"
  readonly code: CelErrorCode
  readonly message: string
  readonly start: number
  readonly end: number

  constructor(code: CelErrorCode, message: string, start = -1, end = -1) {
    this.code = code
    this.message = message
    this.start = start
    this.end = end
  }

  /** The same error, placed; an error that already has a place keeps it, because the first cause is the one to show. */
  at(start: number, end: number): CelError {
    return this.start >= 0 ? this : new CelError(this.code, this.message, start, end)
  }

  toString(): string {
    return this.message
  }
}

/** Not told apart from a request that says nothing: what is absent, of another type, outside of a text, or failed by `fail`. */
const ordinary: ReadonlySet<string> = new Set<CelErrorCode>([
  "no_such_key",
  "undeclared",
  "no_such_overload",
  "invalid_argument",
  "failed"
])

/** Whether a value was there and could not be read or computed, so that nobody can tell what the expression would have said. */
export const isUnreadable = ({ code }: { readonly code: string }): boolean => !ordinary.has(code)

/** Builds a problem from offsets into the text. */
export const problemAt = (
  source: string,
  start: number,
  end: number,
  message: string,
  available: ReadonlyArray<string> = []
): CelProblem => ({ message, start, end, ...positionOf(source, start), available })

/** Line and column, both from 1, of an offset. */
export const positionOf = (source: string, offset: number): { readonly line: number; readonly column: number } => {
  let line = 1
  let lineStart = 0
  for (let i = source.indexOf("\n"); i !== -1 && i < offset; i = source.indexOf("\n", i + 1)) {
    line++
    lineStart = i + 1
  }
  return { line, column: offset - lineStart + 1 }
}
