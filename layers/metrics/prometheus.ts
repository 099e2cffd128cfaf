/** The metrics of the process in the Prometheus text format, by prom-client. */
import { Layer } from "effect"
import { Counter, Gauge, Histogram, Registry } from "prom-client"
import { type Family, type FamilyReading, Metrics } from "../../src/services/metrics.ts"

const prefix = "headgate_"

/** @param removed families to leave out, by any spelling of their name: with or without prefix and `_total`. */
export const make = (removed: ReadonlyArray<string> = []): Metrics["Service"] => {
  const registry = new Registry()
  const families = new Map<string, Family>()
  const wanted = (name: string) =>
    ![name, `${prefix}${name}`, name.replace(/_total$/, ""), `${prefix}${name.replace(/_total$/, "")}`].some(
      (spelling) => removed.includes(spelling)
    )
  const nothing: Family = { series: () => ({ record: () => {} }) }
  const family = (name: string, make: () => Family): Family => {
    const known = families.get(name)
    if (known !== undefined) return known
    const made = wanted(name) ? make() : nothing
    families.set(name, made)
    return made
  }
  const valuesOf = (labels: ReadonlyArray<string | undefined>) => labels.map((value) => value ?? "unknown")
  const common = (name: string, help: string, labelNames: ReadonlyArray<string>) => ({
    name: `${prefix}${name}`,
    help,
    labelNames: [...labelNames],
    registers: [registry]
  })
  return {
    counter: (name, help, labels) =>
      family(name, () => {
        const counter = new Counter(common(name, help, labels))
        return {
          series: (values) => {
            const child = counter.labels(...valuesOf(values))
            return { record: (value) => child.inc(value) }
          }
        }
      }),
    gauge: (name, help, labels) =>
      family(name, () => {
        const gauge = new Gauge(common(name, help, labels))
        return {
          series: (values) => {
            const child = gauge.labels(...valuesOf(values))
            return { record: (value) => child.set(value) }
          }
        }
      }),
    histogram: (name, help, labels, buckets) =>
      family(name, () => {
        const histogram = new Histogram({ ...common(name, help, labels), buckets: [...buckets] })
        return {
          series: (values) => {
            const child = histogram.labels(...valuesOf(values))
            return { record: (value) => child.observe(value) }
          }
        }
      }),
    gathered: (name, help, type, labels, gather) => {
      if (!wanted(name) || families.has(name)) return
      families.set(name, nothing)
      // A counter of prom-client cannot be set, and what is gathered is a total already.
      if (type === "gauge") {
        const gauge: Gauge = new Gauge({
          ...common(name, help, labels),
          collect: () => {
            gauge.reset()
            for (const { labels, value } of gather()) gauge.set(labels, value)
          }
        })
      } else {
        const counter: Counter = new Counter({
          ...common(name, help, labels),
          collect: () => {
            counter.reset()
            for (const { labels, value } of gather()) counter.inc(labels, value)
          }
        })
      }
    },
    read: async () => (await registry.getMetricsAsJSON()).map(reading),
    scrape: async () => ({ contentType: registry.contentType, text: await registry.metrics() })
  }
}

type Exported = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number]

/** prom-client lists a histogram as cumulative bucket samples beside its sum and count. */
const reading = ({ name, help, type, values }: Exported): FamilyReading => {
  const points = values.map((value) => ({
    metric: "metricName" in value ? String(value.metricName) : name,
    labels: Object.fromEntries(Object.entries(value.labels).map(([key, label]) => [key, String(label)])),
    value: value.value
  }))
  if (String(type) !== "histogram") return { type: String(type) === "gauge" ? "gauge" : "counter", name, help, points }
  const series = new Map<
    string,
    {
      labels: Record<string, string>
      sum: number
      count: number
      cumulative: Array<readonly [bound: number, count: number]>
    }
  >()
  for (const { metric, labels, value } of points) {
    const { le, ...own } = labels
    const key = JSON.stringify(own)
    let point = series.get(key)
    if (point === undefined) {
      point = { labels: own, sum: 0, count: 0, cumulative: [] }
      series.set(key, point)
    }
    if (metric.endsWith("_sum")) point.sum = value
    else if (metric.endsWith("_count")) point.count = value
    else if (le !== undefined) point.cumulative.push([le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), value])
  }
  return {
    type: "histogram",
    name,
    help,
    points: [...series.values()].map(({ labels, sum, count, cumulative }) => {
      cumulative.sort(([a], [b]) => a - b)
      return {
        labels,
        sum,
        count,
        bounds: cumulative.map(([bound]) => bound).filter(Number.isFinite),
        counts: cumulative.map(([, total], index) => total - (cumulative[index - 1]?.[1] ?? 0))
      }
    })
  }
}

export const layer = (removed: ReadonlyArray<string> = []): Layer.Layer<Metrics> =>
  Layer.sync(Metrics, () => make(removed))
