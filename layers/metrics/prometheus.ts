/**
 * The metrics of the process in the Prometheus text format (version 0.0.4). Counting is an addition to a series that was
 * resolved before: no label is looked at, and nothing is hashed, until somebody scrapes.
 */
import { Layer } from "effect"
import { type Family, type FamilyReading, Metrics, type Sample } from "../../src/services/metrics.ts"

const prefix = "headgate_"

/** A family as it is kept: what it is, and how its points are read. */
interface Kept {
  readonly family: Family
  readonly reading: () => FamilyReading
}

type Labels = Readonly<Record<string, string>>

const nothing: Family = { series: () => ({ record: () => {} }) }

/** The series of a family by their label values. */
class SeriesTable<A> {
  readonly #names: ReadonlyArray<string>
  readonly #make: () => A
  readonly #byValues = new Map<string, { readonly labels: Labels; readonly point: A }>()
  constructor(names: ReadonlyArray<string>, make: () => A) {
    this.#names = names
    this.#make = make
  }
  at(values: ReadonlyArray<string | undefined>): A {
    const labels = Object.fromEntries(this.#names.map((name, index) => [name, values[index] ?? "unknown"]))
    const key = JSON.stringify(Object.values(labels))
    let entry = this.#byValues.get(key)
    if (entry === undefined) {
      entry = { labels, point: this.#make() }
      this.#byValues.set(key, entry)
    }
    return entry.point
  }
  points(): ReadonlyArray<{ readonly labels: Labels; readonly point: A }> {
    return [...this.#byValues.values()]
  }
}

const scalars = (
  type: "counter" | "gauge",
  name: string,
  help: string,
  labels: ReadonlyArray<string>,
  apply: (point: { value: number }, value: number) => void
): Kept => {
  const table = new SeriesTable(labels, () => ({ value: 0 }))
  return {
    family: {
      series: (values) => {
        const point = table.at(values)
        return { record: (value) => apply(point, value) }
      }
    },
    reading: () => ({
      type,
      name,
      help,
      points: table.points().map(({ labels, point }) => ({ labels, value: point.value }))
    })
  }
}

const histogram = (name: string, help: string, labels: ReadonlyArray<string>, bounds: ReadonlyArray<number>): Kept => {
  const table = new SeriesTable(labels, () => ({ sum: 0, count: 0, counts: new Float64Array(bounds.length + 1) }))
  return {
    family: {
      series: (values) => {
        const point = table.at(values)
        return {
          record: (value) => {
            let bucket = 0
            while (bucket < bounds.length && value > bounds[bucket]!) bucket++
            point.counts[bucket]!++
            point.sum += value
            point.count++
          }
        }
      }
    },
    reading: () => ({
      type: "histogram",
      name,
      help,
      points: table
        .points()
        .map(({ labels, point: { sum, count, counts } }) => ({ labels, sum, count, bounds, counts: [...counts] }))
    })
  }
}

export const make = (): Metrics["Service"] => {
  const families = new Map<string, Kept>()
  let removed: ReadonlyArray<string> = []
  const isWanted = (name: string) => {
    const bare = name.replace(/_total$/, "")
    return ![name, bare, `${prefix}${name}`, `${prefix}${bare}`].some((spelling) => removed.includes(spelling))
  }
  const family = (name: string, make: (full: string) => Kept): Family => {
    if (!isWanted(name)) return nothing
    let known = families.get(name)
    if (known === undefined) {
      known = make(`${prefix}${name}`)
      families.set(name, known)
    }
    return known.family
  }
  const read = () => [...families.values()].map(({ reading }) => reading())
  return {
    counter: (name, help, labels) =>
      family(name, (full) =>
        scalars("counter", full, help, labels, (point, value) => {
          point.value += value
        })
      ),
    gauge: (name, help, labels) =>
      family(name, (full) =>
        scalars("gauge", full, help, labels, (point, value) => {
          point.value = value
        })
      ),
    histogram: (name, help, labels, buckets) => family(name, (full) => histogram(full, help, labels, buckets)),
    gathered: (name, help, type, _, gather: () => Iterable<Sample>) => {
      family(name, (full) => ({ family: nothing, reading: () => ({ type, name: full, help, points: [...gather()] }) }))
    },
    remove: (names) => {
      removed = names
      for (const name of [...families.keys()]) if (!isWanted(name)) families.delete(name)
    },
    read: () => Promise.resolve(read()),
    scrape: () =>
      Promise.resolve({
        contentType: "text/plain; version=0.0.4; charset=utf-8",
        text: read().map(exposition).join("\n")
      })
  }
}

const escapeHelp = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")
const escapeValue = (text: string) => escapeHelp(text).replaceAll('"', '\\"')

const number = (value: number): string =>
  value === Number.POSITIVE_INFINITY
    ? "+Inf"
    : value === Number.NEGATIVE_INFINITY
      ? "-Inf"
      : Number.isNaN(value)
        ? "NaN"
        : String(value)

const line = (name: string, labels: Labels, value: number): string => {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeValue(text)}"`)
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${number(value)}\n`
}

/** The lines of a family: buckets are cumulative, and the last one has no bound. */
const exposition = (family: FamilyReading): string => {
  const { name, help, type } = family
  let text = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`
  if (family.type !== "histogram") {
    for (const { labels, value } of family.points) text += line(name, labels, value)
    return text
  }
  for (const { labels, sum, count, bounds, counts } of family.points) {
    let total = 0
    for (const [index, inBucket] of counts.entries()) {
      total += inBucket
      text += line(`${name}_bucket`, { ...labels, le: number(bounds[index] ?? Number.POSITIVE_INFINITY) }, total)
    }
    text += line(`${name}_sum`, labels, sum) + line(`${name}_count`, labels, count)
  }
  return text
}

export const layer = (): Layer.Layer<Metrics> => Layer.sync(Metrics, make)
