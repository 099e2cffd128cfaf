/** delay: waits before the backend is called, to try out what slow answers do. The time of the request goes on meanwhile, and ends the wait. */
import { Effect, Result, Schema } from "effect"
import {
  CelDuration,
  type CelError,
  type CelValue,
  compileExpression,
  Duration,
  next,
  policy,
  preparation,
  slots,
  Uint,
  type Verdict,
  type View
} from "../../src/policy/policy.ts"
import { Delay } from "./schema.ts"

/** Node runs a longer timer at once. */
const longest = 2 ** 31 - 1

const literal = Schema.decodeUnknownResult(Duration)

export const delay = policy({
  name: "delay",
  traceKey: "delay",
  schema: Delay,
  sites: ["route"],
  responds: [],
  reads: slots.expressionSlots,
  writes: [],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ duration }, { site }) =>
    Effect.map(compileWait(duration, site), (wait) => [
      {
        name: "delay",
        phase: "request",
        // The time of its request may be up.
        outcomes: ["next", "fail"],
        run: (x): Effect.Effect<Verdict> => wait(x)
      }
    ])
})

const compileWait = (duration: string, site: "route") =>
  Effect.gen(function* () {
    const fixed = literal(duration)
    if (Result.isSuccess(fixed)) {
      const wait = pause(fixed.success)
      return () => wait
    }
    const expression = yield* compileExpression(duration, site, ["duration"])
    const prepare = preparation([expression])
    return (x: View<never, never>) => {
      const wait = () => pause(millisecondsOf(expression.evaluate(x.variables)))
      return prepare === undefined ? wait() : Effect.matchEffect(prepare(x), { onFailure: () => next, onSuccess: wait })
    }
  })

/** Ends with the request, whatever of it is left. */
const pause = (milliseconds: number): Effect.Effect<Verdict> =>
  milliseconds > 0 ? Effect.andThen(Effect.sleep(Math.min(milliseconds, longest)), next) : next

/** Of a duration, or a number of milliseconds; 0 of anything else. */
const millisecondsOf = (value: CelValue | CelError): number => {
  if (value instanceof CelDuration) return Number(value.nanos) / 1e6
  if (value instanceof Uint) return Number(value.value)
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0
}
