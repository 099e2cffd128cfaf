/** Port: counters, gauges and histograms of the process. Whoever counts on the request path keeps the series it resolved. */
import { Context } from "effect"

export interface Series {
  /** Adds to a counter, sets a gauge, or observes a value. */
  readonly record: (value: number) => void
}

export interface Family {
  /** The series of these label values, in the order of the label names; an unset one is `unknown`. */
  readonly series: (labels: ReadonlyArray<string | undefined>) => Series
}

/** One sample of a family that is gathered when it is asked for. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export class Metrics extends Context.Service<
  Metrics,
  {
    /** Names are without the common prefix; a family is made once and found by its name. */
    readonly counter: (name: string, help: string, labels: ReadonlyArray<string>) => Family
    readonly gauge: (name: string, help: string, labels: ReadonlyArray<string>) => Family
    readonly histogram: (
      name: string,
      help: string,
      labels: ReadonlyArray<string>,
      buckets: ReadonlyArray<number>
    ) => Family
    /** A family whose samples are computed at every scrape. */
    readonly gathered: (
      name: string,
      help: string,
      type: "counter" | "gauge",
      labels: ReadonlyArray<string>,
      gather: () => Iterable<Sample>
    ) => void
    /** The text of a scrape. */
    readonly scrape: () => Promise<{ readonly contentType: string; readonly text: string }>
  }
>()("headgate/services/Metrics") {}
