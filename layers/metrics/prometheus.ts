/** The metrics of the process in the Prometheus text format, by prom-client. */
import { Layer } from "effect"
import { Counter, Gauge, Histogram, Registry } from "prom-client"
import { type Family, Metrics } from "../../src/services/metrics.ts"

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
    scrape: async () => ({ contentType: registry.contentType, text: await registry.metrics() })
  }
}

export const layer = (removed: ReadonlyArray<string> = []): Layer.Layer<Metrics> =>
  Layer.sync(Metrics, () => make(removed))
