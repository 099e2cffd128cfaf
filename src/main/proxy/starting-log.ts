/** How the process logs until the configuration says more, and how its log is written: to standard output, in the background. */
import { setTimeout as sleep } from "node:timers/promises"
import type { ConsoleOptions } from "../../../layers/log/console.ts"
import { Output } from "../../../layers/log/output.ts"
import { ignore } from "../../services/contained.ts"
import type { Logger } from "../../services/log.ts"
import type { Metrics } from "../../services/metrics.ts"

/** Milliseconds that the last lines of a process may take which ends without having waited for them. */
const lastMoment = 250

export interface StartingLog extends ConsoleOptions {
  /** Counts lines that are lost, and tells of them. */
  readonly watched: (metrics: Metrics["Service"], log: Logger) => void
  /** Waits until standard output and standard error have all lines, or take no more, or have had their time. */
  readonly drained: (millis: number) => Promise<void>
}

export const lostLines = (metrics: Metrics["Service"], lost: () => Output["lost"]): void =>
  metrics.gathered(
    "log_lines_lost_total",
    "Lines of the log that were not written: `full`, because more than 8 MiB waited for a slow reader or disk, or `failed`, because the system refused them.",
    "counter",
    ["reason"],
    () => Object.entries(lost()).map(([reason, value]) => ({ labels: { reason }, value }))
  )

export const startingLog = (env: Readonly<Record<string, string | undefined>>): StartingLog => {
  const output = new Output()
  const { stdout } = process
  // What others print to a full disk, or to a reader that went away, must not take the proxy with it.
  stdout.on("error", ignore)
  let last = lastMoment
  process.once("exit", () => output.flush(last))
  return {
    filter: env["RUST_LOG"] ?? "info",
    format: env["LOG_FORMAT"] === "json" ? "json" : "text",
    write: output.write,
    record: output.record,
    now: () => Date.now(),
    watched: (metrics, { log }) => {
      lostLines(metrics, () => output.lost)
      output.onLost((lines) => log("warn", "log", "lines of the log were lost", { lines }))
    },
    drained: async (millis) => {
      await output.drained(millis)
      // They had their time.
      last = 0
      // Their callbacks are called once what was printed before has left, or failed to.
      const printed = [stdout, process.stderr.on("error", ignore)].map(
        (stream) => new Promise<void>((resolve) => stream.write("", () => resolve()))
      )
      await Promise.race([Promise.all(printed), sleep(millis)])
    }
  }
}
