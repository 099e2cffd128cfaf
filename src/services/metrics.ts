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

type Labels = Readonly<Record<string, string>>

/** What a family holds now. The counts of a histogram are those of each bucket alone, the last one without a bound. */
export type FamilyReading =
  | {
      readonly type: "counter" | "gauge"
      readonly name: string
      readonly help: string
      readonly points: ReadonlyArray<{ readonly labels: Labels; readonly value: number }>
    }
  | {
      readonly type: "histogram"
      readonly name: string
      readonly help: string
      readonly points: ReadonlyArray<{
        readonly labels: Labels
        readonly sum: number
        readonly count: number
        readonly bounds: ReadonlyArray<number>
        readonly counts: ReadonlyArray<number>
      }>
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
    /** Leaves families out, now and later, by any spelling of their name: with or without prefix and `_total`. */
    readonly remove: (names: ReadonlyArray<string>) => void
    /** Every family with what it holds now. */
    readonly read: () => Promise<ReadonlyArray<FamilyReading>>
    /** The text of a scrape. */
    readonly scrape: () => Promise<{ readonly contentType: string; readonly text: string }>
  }
>()("headgate/services/Metrics") {}
