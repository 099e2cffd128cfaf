/** What the terminal view of a trace shows, and what a key or a new event makes of it: plain data and pure functions. */
import { stringify } from "yaml"
import { changes } from "./changes.ts"
import type { Row } from "./row.ts"

export type Detail = "event" | "snapshot" | "diff"

export interface Screen {
  /** What is traced. */
  readonly resource: string
  readonly rows: ReadonlyArray<Row>
  readonly selected: number
  readonly pane: "events" | "detail"
  readonly detail: Detail
  readonly format: "yaml" | "json"
  /** Lines of the detail pane above its first visible one. */
  readonly scroll: number
  readonly status: Status
}

/** `waiting`: nothing came yet. `sent`: the tool's own request is on its way. */
export type Status = "waiting" | "sent" | "complete"

export const opened = (resource: string, status: Status): Screen => ({
  resource,
  rows: [],
  selected: 0,
  pane: "events",
  detail: "event",
  format: "yaml",
  scroll: 0,
  status
})

/** A new event: the selection follows while it is on the last row. */
export const withRow = (screen: Screen, row: Row): Screen => {
  const rows = [...screen.rows, row]
  const follows = screen.selected >= screen.rows.length - 1
  return follows ? { ...screen, rows, selected: rows.length - 1, scroll: 0 } : { ...screen, rows }
}

export const completed = (screen: Screen): Screen => ({ ...screen, status: "complete" })

/** A key by the name that the terminal gives it. Keys without a meaning change nothing. */
export const withKey = (screen: Screen, key: string, page: number): Screen => {
  switch (key) {
    case "tab":
      return { ...screen, pane: screen.pane === "events" ? "detail" : "events" }
    case "up":
      return moved(screen, -1)
    case "down":
      return moved(screen, 1)
    case "pageup":
      return moved(screen, -page)
    case "pagedown":
      return moved(screen, page)
    case "home":
      return moved(screen, Number.NEGATIVE_INFINITY)
    case "end":
      return moved(screen, Number.POSITIVE_INFINITY)
    case "e":
      return { ...screen, detail: "event", scroll: 0 }
    case "s":
      return { ...screen, detail: "snapshot", scroll: 0 }
    case "d":
      return { ...screen, detail: "diff", scroll: 0 }
    case "f":
      return { ...screen, format: screen.format === "yaml" ? "json" : "yaml", scroll: 0 }
    default:
      return screen
  }
}

const within = (value: number, last: number) => Math.max(0, Math.min(value, last))

const moved = (screen: Screen, by: number): Screen => {
  if (screen.pane === "detail") return { ...screen, scroll: within(screen.scroll + by, detailLines(screen).length - 1) }
  const selected = within(screen.selected + by, screen.rows.length - 1)
  return selected === screen.selected ? screen : { ...screen, selected, scroll: 0 }
}

/** The text of the detail pane. */
export const detailText = (screen: Screen): string => {
  const row = screen.rows[screen.selected]
  if (row === undefined) return ""
  switch (screen.detail) {
    case "event":
      return written(screen, row.event)
    case "snapshot":
      return written(screen, snapshots(screen)[0] ?? "no snapshot yet")
    case "diff": {
      const [now, before] = snapshots(screen)
      if (now === undefined || before === undefined) return "no earlier snapshot"
      const lines = changes(before, now).flatMap(({ path, before, after }) => [
        ...(before === undefined ? [] : [`- ${path}: ${JSON.stringify(before)}`]),
        ...(after === undefined ? [] : [`+ ${path}: ${JSON.stringify(after)}`])
      ])
      return lines.join("\n") || "nothing changed"
    }
  }
}

export const detailLines = (screen: Screen): ReadonlyArray<string> => detailText(screen).trimEnd().split("\n")

/** The snapshots up to the selected row, the latest first. */
const snapshots = (screen: Screen): ReadonlyArray<unknown> =>
  screen.rows
    .slice(0, screen.selected + 1)
    .flatMap(({ state }) => (state === undefined ? [] : [state]))
    .reverse()

const written = ({ format }: Screen, value: unknown): string =>
  format === "json" ? JSON.stringify(value, null, 2) : stringify(value, { lineWidth: 0 })

export const statusLine = ({ rows, status }: Screen): string => {
  const events = `${rows.length} event${rows.length === 1 ? "" : "s"}`
  if (status === "complete") return `${events}, stream complete, press q to exit`
  if (status === "sent") return `${events}, request sent, waiting for trace to complete`
  return rows.length === 0 ? "waiting for trace data" : events
}
