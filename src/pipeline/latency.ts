/** How long a node takes, for every request: its own sums, and the distribution that all nodes of its kind share. */
import { Context } from "effect"
import type { Metrics, Series } from "../services/metrics.ts"

/** Where the durations of a kind of node are observed, in seconds. */
export type StageTimes = (phase: string, policy: string, node: string) => Series

const unobserved: Series = { record: () => {} }

/** Asked when a configuration is compiled. Without a process around it, nothing is observed. */
export const StageTimes = Context.Reference<StageTimes>("headgate/pipeline/StageTimes", {
  defaultValue: () => () => unobserved
})

/** Upper bounds in seconds: most nodes take microseconds, those that ask somebody else take longer. */
const bounds = [
  0.000_001, 0.000_002, 0.000_005, 0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.001, 0.005, 0.025, 0.1, 0.5, 2,
  10
]

/** One series for each kind of node, whatever number of routes has it. */
export const stageTimes = (metrics: Metrics["Service"]): StageTimes => {
  const family = metrics.histogram(
    "stage_duration_seconds",
    "How long nodes of a policy take.",
    ["phase", "policy", "node"],
    bounds
  )
  const known = new Map<string, Series>()
  return (phase, policy, node) => {
    const key = `${phase} ${policy} ${node}`
    let series = known.get(key)
    if (series === undefined) {
      series = family.series([phase, policy, node])
      known.set(key, series)
    }
    return series
  }
}

export class Latency {
  count = 0
  /** Milliseconds. */
  sum = 0
  /** Declared failures that were forgiven because the policy fails open. */
  failedOpen = 0
  readonly #distribution: Series

  constructor(distribution: Series = unobserved) {
    this.#distribution = distribution
  }

  /** @param elapsed milliseconds, with fractions. */
  record(elapsed: number): void {
    this.count++
    this.sum += elapsed
    this.#distribution.record(elapsed / 1000)
  }
}
