/** The state of one evaluation, and the shape of everything that is compiled: a closure from that state to a value or an error. */
import type { Bindings } from "./bindings.ts"
import { maxSteps } from "./limits.ts"
import { CelError, isUnreadable } from "./problem.ts"
import type { CelValue } from "./value.ts"

/** A value, or the error that took its place. */
export type Outcome = CelValue | CelError

/** A compiled expression or part of one. */
export type Run = (frame: Frame) => Outcome

export const noBindings: Bindings = Object.freeze({})

export class Frame {
  bindings: Bindings = noBindings
  /** Variables of macros and parameters of functions, each in the slot that the compiler gave it. */
  readonly locals: Array<Outcome>
  /** Work left, in steps. */
  steps = maxSteps
  /** Whether the value decides about a request: JSON that readers understand differently is not read then. */
  deciding = false
  /** The first value that could not be read and that an operator made do without: what decides must not. */
  unread: CelError | undefined = undefined

  constructor(slots: number) {
    this.locals = new Array<Outcome>(slots).fill(null)
  }

  /** An operator, a macro or a function goes on without a part that failed. */
  pass(error: CelError): void {
    if (this.unread === undefined && isUnreadable(error)) this.unread = error
  }

  /** The outcome for somebody who decides by it: what could not be read, whatever became of the rest. */
  decided(outcome: Outcome): Outcome {
    return outcome instanceof CelError && isUnreadable(outcome) ? outcome : (this.unread ?? outcome)
  }

  /** Takes work from the budget; false when it is used up. */
  spend(steps: number): boolean {
    this.steps -= steps
    return this.steps >= 0
  }

  /** Takes the work of passing once over so many characters or bytes with a native operation. */
  spendText(length: number): boolean {
    return this.spend(length >> 6)
  }
}

export const outOfWork = new CelError("limit", "the expression needs more work than one evaluation may do")
export const tooLarge = new CelError("limit", "the result is larger than an evaluation may build")
