/** How the endpoints do that one is chosen from: for whoever looks, and in the terms in which they are chosen. */
import { type Candidate, usualLatency } from "./choice.ts"

/** @param now of the clock that their calls are timed by. */
export const statesOf = (candidates: ReadonlyArray<Candidate>, now: number) => {
  const usual = usualLatency(candidates)
  return candidates.map(({ key, capacity = 1, health }) => {
    // First: one that may be called again is back from this moment on.
    const isActive = health.active(now)
    const latency = health.latency(now, 0) * 1000
    return {
      endpoint: key,
      capacity,
      health: health.health,
      score: health.score(now, usual),
      share: health.grown(now),
      latencyMs: health.sampled === undefined && latency === 0 ? null : latency,
      requests: health.answers,
      inFlight: health.pending,
      evictedMs: isActive ? null : health.evictedUntil! - now
    }
  })
}
