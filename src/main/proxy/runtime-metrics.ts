/** The metrics of the process itself: its configurations, and at each scrape the time of every node, the event loop, and memory. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { Assembled } from "../../compile/assemble.ts"
import type { HeldBytes } from "../../http/held-bytes.ts"
import type { Step } from "../../pipeline/run.ts"
import type { Metrics, Sample, Series } from "../../services/metrics.ts"
import { version } from "../version.ts"

export const buildInfo = (metrics: Metrics["Service"]): Series =>
  metrics.gauge("build_info", "What was built.", ["tag"]).series([version.version])

export const configurationGauges = (metrics: Metrics["Service"]) => ({
  synchronized: metrics.gauge("config_synchronized", "Whether the newest configuration is in force.", []).series([]),
  held: metrics
    .gauge(
      "configurations_held",
      "Configurations in memory: the one in force, and those that requests still run on.",
      []
    )
    .series([]),
  outlived: metrics
    .counter(
      "requests_outlived_total",
      "Requests, streams and upgraded connections that were cut because a reload had replaced their configuration `config.reloadTerminationDeadline` ago.",
      []
    )
    .series([])
})

export const heldBodies = (metrics: Metrics["Service"], of: Pick<HeldBytes, "held" | "refused">): void => {
  const limit = "`config.maxTotalBufferSize`"
  metrics.gathered(
    "held_body_bytes",
    `Bytes of bodies in memory, which ${limit} bounds: read whole, or kept to be sent again.`,
    "gauge",
    [],
    () => [{ labels: {}, value: of.held }]
  )
  metrics.gathered(
    "held_body_refusals_total",
    `How often ${limit} left no room for a part of a body.`,
    "counter",
    [],
    () => [{ labels: {}, value: of.refused }]
  )
}

export const gatherRuntime = (metrics: Metrics["Service"], current: () => Assembled): void => {
  const labels = ["phase", "policy", "node", "path"]
  const perStep = function* (value: (step: Step) => number): Iterable<Sample> {
    const seen = new Set<Step>()
    for (const { listener, route, backends } of current().routes)
      for (const step of [
        ...listener.steps,
        ...route.steps,
        ...route.response,
        ...backends.flatMap((b) => [...b.steps, ...(b.beside ?? []), ...b.backendResponse, ...b.response])
      ]) {
        if (seen.has(step)) continue
        seen.add(step)
        yield {
          labels: { phase: step.phase, policy: step.policy, node: step.node, path: step.path.join(".") },
          value: value(step)
        }
      }
  }
  metrics.gathered("stage_runs_total", "How often each node ran.", "counter", labels, () =>
    perStep((s) => s.latency.count)
  )
  metrics.gathered("stage_seconds_total", "Time spent in each node.", "counter", labels, () =>
    perStep((s) => s.latency.sum / 1000)
  )
  metrics.gathered("stage_failed_open_total", "Failures of nodes that were forgiven.", "counter", labels, () =>
    perStep((s) => s.latency.failedOpen)
  )
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  metrics.gathered(
    "event_loop_lag_seconds",
    "Delay of the event loop since the last scrape.",
    "gauge",
    ["quantile"],
    () => {
      const samples = [0.5, 0.99, 1].map((quantile) => ({
        labels: { quantile: String(quantile) },
        value: delay.percentile(quantile * 100) / 1e9
      }))
      delay.reset()
      return samples
    }
  )
  metrics.gathered("process_memory_bytes", "Memory of the process.", "gauge", ["kind"], () => {
    const usage = process.memoryUsage()
    return [
      { labels: { kind: "rss" }, value: usage.rss },
      { labels: { kind: "heap_used" }, value: usage.heapUsed },
      { labels: { kind: "external" }, value: usage.external }
    ]
  })
}
