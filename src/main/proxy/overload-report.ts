/**
 * What is told of clients that were turned away because there was too much to do: a count of each, and a line of the log for
 * all of a second, since a line for each would be more to do.
 */
import type { Overload, TurnedAway } from "../../../layers/http/overload.ts"
import { contained, nobody } from "../../services/contained.ts"
import type { RecordLog } from "../../services/log.ts"
import type { Metrics, Series } from "../../services/metrics.ts"

type What = "request" | "connection"

/** Milliseconds that one line stands for. */
const interval = 1000

export const reportOverload = (
  metrics: Metrics["Service"],
  log: RecordLog,
  overload: Pick<Overload, "connections" | "lateness">
) => {
  const counters = {
    request: metrics.counter(
      "requests_turned_away_total",
      "Requests that were refused before any policy, because there was too much to do.",
      ["bind", "cause"]
    ),
    connection: metrics.counter(
      "connections_turned_away_total",
      "Connections of clients that were closed, because there were too many or too much to do.",
      ["bind", "cause"]
    )
  }
  metrics.gathered("client_connections", "Open connections of clients.", "gauge", [], () => [
    { labels: {}, value: overload.connections }
  ])
  const series = new Map<string, Series>()
  /** What the next line tells; `undefined` while nobody is turned away. */
  let untold: Map<string, number> | undefined
  const tell = contained(nobody, () => {
    const counts = untold
    untold = undefined
    if (counts === undefined) return
    const told = Object.fromEntries([...counts].map(([key, count]) => [key, String(count)]))
    log.log("warn", "overload", "clients were turned away", { ...told, turn: `${Math.round(overload.lateness)}ms` })
  })
  return (bind: string, what: What, cause: TurnedAway): void => {
    const key = `${what} ${bind} ${cause}`
    let counted = series.get(key)
    if (counted === undefined) {
      counted = counters[what].series([bind, cause])
      series.set(key, counted)
    }
    counted.record(1)
    if (untold === undefined) {
      untold = new Map()
      setTimeout(tell, interval).unref()
    }
    const kind = `${what}s.${cause}`
    untold.set(kind, (untold.get(kind) ?? 0) + 1)
  }
}
