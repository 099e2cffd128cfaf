/**
 * Hedging: a call that has no answer after a while is made once more, elsewhere, and the first answer of the two counts. The other
 * call is given up, and says nothing of how its endpoint does.
 */
import { Effect, Exit, type Fiber } from "effect"
import { type Answer, isSource, type StageError } from "../../src/policy/policy.ts"
import { mostRepeated, Timer } from "../../src/policy/terminal.ts"

export type Sent = Effect.Effect<Answer, StageError>

/** Requests of one service that may be hedged, and how many of them are. */
export class Hedging {
  #requests = 0
  #hedged = 0

  /**
   * @param after milliseconds until the other call.
   * @param other the call of another endpoint; `undefined` where there is none.
   * @param won told which of them counts.
   */
  call(first: Sent, after: number, other: () => Sent | undefined, won: (which: "first" | "other") => void): Sent {
    return Effect.withFiber((parent) =>
      Effect.callback((resume) => {
        const open = new Map<"first" | "other", Fiber.Fiber<Answer, StageError>>()
        let over = false
        let hedged = false
        const end = () => {
          over = true
          callOff()
          this.#requests--
          if (hedged) this.#hedged--
          for (const fiber of open.values()) fiber.interruptUnsafe()
        }
        const run = (which: "first" | "other", sent: Sent) => {
          const fiber = Effect.runForkWith(parent.context)(sent)
          open.set(which, fiber)
          fiber.addObserver((exit) => {
            open.delete(which)
            // Both had an answer at once, and one of them is too many.
            if (over) return release(exit)
            // One that failed leaves it to the other, unless the time of both is up.
            if (Exit.isFailure(exit) && open.size > 0 && !isLate(exit)) return
            won(which)
            end()
            resume(exit)
          })
        }
        this.#requests++
        const callOff = parent.getRef(Timer)(after, () => {
          if (over || this.#hedged >= mostRepeated(this.#requests)) return
          const sent = other()
          if (sent === undefined) return
          hedged = true
          this.#hedged++
          run("other", sent)
        })
        run("first", first)
        return Effect.sync(() => {
          if (!over) end()
        })
      })
    )
  }
}

const release = (exit: Exit.Exit<Answer, StageError>): void => {
  if (Exit.isSuccess(exit) && isSource(exit.value.body)) exit.value.body.cancel()
}

const isLate = (exit: Exit.Exit<Answer, StageError>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error.reason === "Timeout")
