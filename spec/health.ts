/** The wire shape of health: when a backend counts as unhealthy, and for how long it is left alone. */
import { object, optional } from "./field.ts"
import { CelExpression, Duration, Fraction, PositiveCount } from "./primitives.ts"

const Eviction = object(
  "Eviction",
  "When an unhealthy endpoint is left alone. Without thresholds one unhealthy answer is enough. Of the endpoints of a service at most half are left alone at once, for five minutes at most, and one that comes back grows to its share over ten seconds.",
  {
    duration: optional(
      Duration,
      "How long, multiplied by the number of times; what the answer asks for, the `backoff` of `retry`, or 3s, when left out."
    ),
    restoreHealth: optional(Fraction, "Health score on return; unchanged when left out."),
    consecutiveFailures: optional(PositiveCount, "Unhealthy answers in a row that are enough."),
    healthThreshold: optional(
      Fraction,
      "Health score, of the answers before, below which an unhealthy answer is enough."
    )
  }
)

/** The health of the endpoints or providers of a backend. */
export const HealthPolicy = object("Health", "Watches the health of endpoints and leaves unhealthy ones alone.", {
  unhealthyExpression: optional(
    CelExpression,
    "Whether an answer is unhealthy; no answer, a status of 500 or more, or a failed gRPC status when left out."
  ),
  eviction: optional(Eviction, "When an unhealthy endpoint is left alone. Without it the score alone changes.")
})
