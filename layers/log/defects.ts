/** The port `Defects` over log and metrics: every defect is counted, and at most one line a second tells of them. */
import { Cause, Effect, Layer } from "effect"
import { Defects, type TellDefect } from "../../src/services/defects.ts"
import { Log, type Logger } from "../../src/services/log.ts"
import { type Family, Metrics } from "../../src/services/metrics.ts"
import { Monotonic } from "../../src/services/monotonic.ts"

/** Milliseconds between two lines. Whoever finds a way to cause defects must not fill a disk with them. */
const between = 1000

export const defectCounter = (metrics: Metrics["Service"]): Family =>
  metrics.counter("defects_total", "Failures of the proxy itself that were contained, by where they were caught.", [
    "place"
  ])

export const makeDefects = ({ log }: Logger, counter: Family, now: () => number): TellDefect => {
  let told = Number.NEGATIVE_INFINITY
  let held = 0
  return (place, cause) => {
    counter.series([place]).record(1)
    const time = now()
    if (time - told < between) {
      held++
      return
    }
    told = time
    const since = held === 0 ? undefined : held
    held = 0
    log("error", place, "a defect was contained", { error: Cause.pretty(Cause.die(cause)), "defects.untold": since })
  }
}

export const layer: Layer.Layer<never, never, Log | Metrics> = Layer.effect(
  Defects,
  Effect.gen(function* () {
    const log = yield* Log
    const metrics = yield* Metrics
    return makeDefects(log, defectCounter(metrics), yield* Monotonic)
  })
)
