/** The time of a request, kept wherever it waits: for a node of a policy, or for its backend. */
import { Effect, Exit, Fiber } from "effect"
import { Timer } from "../services/timer.ts"
import { TimedOut } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import { timeouts } from "./slots.ts"
import type { Reading } from "./view.ts"

export const requestTimedOut = new TimedOut()
const late = Exit.fail(requestTimedOut)

/**
 * The same work, which fails when the time of its request is up. Work that answers at once need not be asked.
 * @param clock the monotonic clock that `exchange.arrived` was read from.
 */
export const within = <A, E>(
  x: Pick<Exchange, "arrived"> & Reading<typeof timeouts>,
  clock: () => number,
  work: Effect.Effect<A, E>
): Effect.Effect<A, E | TimedOut> => {
  const limit = x.get(timeouts)?.request
  if (limit === undefined) return work
  const left = limit - (clock() - x.arrived)
  return left > 0 ? bounded(left, work) : late
}

/** By hand: `Effect.timeoutOrElse` costs several times as much, and calls of backends that do not keep the time come this way. */
const bounded = <A, E>(milliseconds: number, work: Effect.Effect<A, E>): Effect.Effect<A, E | TimedOut> =>
  Effect.withFiber((parent) =>
    Effect.callback((resume) => {
      const fiber = Effect.runForkWith(parent.context)(work)
      let over = false
      const callOff = parent.getRef(Timer)(milliseconds, () => {
        over = true
        // First: what the work holds is released before anybody answers.
        fiber.interruptUnsafe()
        resume(late)
      })
      fiber.addObserver((exit) => {
        if (over) return
        callOff()
        resume(exit)
      })
      return Effect.suspend(() => {
        callOff()
        return Fiber.interrupt(fiber)
      })
    })
  )
