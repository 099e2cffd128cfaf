/** Steps of no configuration, for tests of the engine itself: each is where the test says and may do whatever a step may. */
import { Latency } from "../../pipeline/latency.ts"
import type { Step } from "../../pipeline/run.ts"

export const stepOf = (run: Step["run"], own: Partial<Omit<Step, "run">> = {}): Step => ({
  policy: "test",
  node: "test",
  site: "route",
  phase: "route",
  path: [],
  failOpen: false,
  outcomes: ["next", "respond", "fail"],
  reads: [],
  writes: [],
  condition: undefined,
  holds: undefined,
  latency: new Latency(),
  run,
  ...own
})
