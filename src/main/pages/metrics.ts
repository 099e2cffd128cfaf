/** The reference page of the metrics: every family that some part of the proxy counts in, as that part registers it. */
import { dnsMetrics } from "../../../layers/dns/layer.ts"
import { poolMetrics } from "../../../layers/http/pools.ts"
import * as ConsoleLog from "../../../layers/log/console.ts"
import { defectCounter } from "../../../layers/log/defects.ts"
import { guardChecks, makeCallSeries } from "../../../stages/backend-llm/series.ts"
import { makeMcpSeries } from "../../../stages/backend-mcp/series.ts"
import type { Assembled } from "../../compile/assemble.ts"
import { callTimes } from "../../pipeline/call-times.ts"
import { stageTimes } from "../../pipeline/latency.ts"
import { mirrorCounter } from "../../pipeline/mirrors.ts"
import { makeRecorder, refusedConnections } from "../../pipeline/record.ts"
import { makeRelayRecorder } from "../../pipeline/relay-record.ts"
import type { Family, Metrics, Series } from "../../services/metrics.ts"
import { reportOverload } from "../proxy/overload-report.ts"
import { buildInfo, configurationGauges, gatherRuntime, heldBodies } from "../proxy/runtime-metrics.ts"
import { lostLines } from "../proxy/starting-log.ts"

interface Described {
  readonly name: string
  readonly help: string
  readonly type: "counter" | "gauge" | "histogram"
  readonly labels: ReadonlyArray<string>
  readonly buckets: ReadonlyArray<number>
}

const uncounted: Series = { record: () => {} }

/** The families that are registered by `register`, which nothing is counted in. */
const registered = (register: (metrics: Metrics["Service"]) => void): ReadonlyArray<Described> => {
  const found: Array<Described> = []
  const family =
    (type: Described["type"]) =>
    (name: string, help: string, labels: ReadonlyArray<string>, buckets: ReadonlyArray<number> = []): Family => {
      found.push({ name, help, type, labels, buckets })
      return { series: () => uncounted }
    }
  register({
    counter: family("counter"),
    gauge: family("gauge"),
    histogram: family("histogram"),
    gathered: (name, help, type, labels) => family(type)(name, help, labels),
    remove: () => {},
    read: () => Promise.resolve([]),
    scrape: () => Promise.resolve({ contentType: "", text: "" })
  })
  return found
}

const quiet = ConsoleLog.make({ filter: "off", format: "text", write: () => {}, now: () => 0 })
const nothing: Assembled = { binds: [], routes: [], streams: [], admission: undefined, listening: {}, choosing: [] }

const sections: ReadonlyArray<readonly [title: string, register: (metrics: Metrics["Service"]) => void]> = [
  [
    "Requests",
    (metrics) => [
      makeRecorder(quiet, metrics, () => 0),
      refusedConnections(metrics, quiet, () => 0),
      reportOverload(metrics, quiet, { connections: 0, lateness: 0 })
    ]
  ],
  ["Connections that are passed on", (metrics) => makeRelayRecorder(quiet, metrics, () => 0)],
  ["Models", (metrics) => [makeCallSeries(metrics), guardChecks(metrics)]],
  ["MCP servers", (metrics) => makeMcpSeries(metrics, uncounted)],
  [
    "Backends",
    (metrics) => [
      callTimes(metrics)("Primary", "Http"),
      mirrorCounter(metrics),
      poolMetrics(metrics, () => 0),
      dnsMetrics(metrics)
    ]
  ],
  [
    "The process",
    (metrics) => [
      defectCounter(metrics),
      lostLines(metrics, () => ({ full: 0, failed: 0 })),
      stageTimes(metrics),
      heldBodies(metrics, { held: 0, refused: 0 }),
      gatherRuntime(metrics, () => nothing)
    ]
  ],
  ["The configuration", (metrics) => [configurationGauges(metrics), buildInfo(metrics)]]
]

const code = (names: ReadonlyArray<string | number>): string => names.map((name) => `\`${name}\``).join(", ")

const row = ({ name, help, type, labels, buckets }: Described): string =>
  `| \`headgate_${name}\` | ${type} | ${help} | ${code(labels)} | ${code(buckets)} |`

export const metricsPage = (): string => `# Metrics

They are served in the Prometheus text format at \`/metrics\` of the stats port (\`config.statsAddr\`, 15020), and sent to the OpenTelemetry
collector that the [OTEL_* variables](environment.md) name. Durations are in seconds, sizes in bytes, costs in US dollars. A label whose value
is not known says \`unknown\`; a histogram also has a bucket without a bound. \`config.metrics.remove\` leaves families out.
${sections
  .map(
    ([title, register]) => `
## ${title}

| Metric | Kind | What it counts | Labels | Buckets |
|---|---|---|---|---|
${registered(register).map(row).join("\n")}
`
  )
  .join("")}`
