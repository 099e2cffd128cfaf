/** Draws the terminal view of a trace: a screen and a size become the lines of a terminal. */
import type { Size } from "effect/Terminal"
import { printable } from "../printable.ts"
import type { Row } from "./row.ts"
import { detailLines, type Screen, statusLine } from "./screen.ts"

export type Style = "green" | "yellow" | "red" | "dim" | "bold" | "inverse" | "plain"

/** Adds colour to a text; plain text when the reader wants none. */
export type Paint = (style: Style, text: string) => string

const styles: Readonly<Record<Row["severity"], Style>> = {
  success: "green",
  info: "plain",
  warn: "yellow",
  error: "red"
}

const help = "tab pane · ↑ ↓ scroll · e event · s snapshot · d diff · f yaml/json · c copy · q quit"

/** Lines of the boxes' frames and of the help below them. */
const frame = 2
const footer = 3
/** Below this width only the pane in use is shown. */
const narrow = 80

/** The lines that a pane can show at once. */
export const pageOf = ({ rows }: Size): number => Math.max(1, rows - frame - footer)

/** The lines of the whole terminal, each exactly as wide as it is. */
export const paintScreen = (screen: Screen, size: Size, paint: Paint): ReadonlyArray<string> => {
  const height = pageOf(size)
  const left = size.columns < narrow ? size.columns : Math.floor(size.columns / 2)
  const events = () =>
    box(paint, `Events ${screen.resource}`, screen.pane === "events", left, table(screen, height, left - 2, paint))
  const detail = (width: number) =>
    box(paint, detailTitle(screen), screen.pane === "detail", width, detailPane(screen, height, width - 2, paint))
  const panes =
    size.columns >= narrow
      ? events().map((line, index) => `${line}${detail(size.columns - left)[index]}`)
      : screen.pane === "events"
        ? events()
        : detail(size.columns)
  return [
    ...panes,
    ...box(paint, statusLine(screen), false, size.columns, [paint("dim", fitted(help, size.columns - 2))])
  ]
}

const detailTitle = ({ rows, selected, detail }: Screen): string => {
  const duration = rows[selected]?.duration
  const name = { event: "Event", snapshot: "Snapshot", diff: "Diff to the snapshot before" }[detail]
  return duration === undefined ? name : `${name} (${(duration / 1000).toFixed(3)} ms)`
}

/** The rows around the selected one: the last page of those before it. */
const table = ({ rows, selected }: Screen, height: number, width: number, paint: Paint): ReadonlyArray<string> => {
  const digits = Math.max(2, String(rows.length).length)
  const head = paint("bold", fitted(`${"#".padStart(digits)} ${"Type".padEnd(typeWidth)} Summary`, width))
  const visible = Math.max(1, height - 1)
  const first = Math.max(0, Math.min(selected - visible + 1, rows.length - visible))
  const lines = rows.slice(first, first + visible).map((row, index) => {
    const number = first + index
    const text = fitted(`${String(number + 1).padStart(digits)} ${row.type.padEnd(typeWidth)} ${row.summary}`, width)
    return paint(number === selected ? "inverse" : "plain", paint(styles[row.severity], text))
  })
  return filled([head, ...lines], height, width)
}

const typeWidth = "backendCallResult".length

const detailPane = (screen: Screen, height: number, width: number, paint: Paint): ReadonlyArray<string> => {
  const style = (line: string): Style =>
    screen.detail !== "diff" ? "plain" : line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : "plain"
  const lines = detailLines(screen)
    .slice(screen.scroll, screen.scroll + height)
    .map((line) => paint(style(line), fitted(printable(line), width)))
  return filled(lines, height, width)
}

const filled = (lines: ReadonlyArray<string>, height: number, width: number): ReadonlyArray<string> => [
  ...lines.slice(0, height),
  ...Array.from({ length: Math.max(0, height - lines.length) }, () => " ".repeat(width))
]

/** A frame around lines that are two cells narrower than it. */
const box = (paint: Paint, title: string, active: boolean, width: number, lines: ReadonlyArray<string>) => {
  const style = active ? "bold" : "dim"
  const name = fitted(` ${title} `, Math.min(width - 3, cells(title) + 2))
  return [
    paint(style, `┌─${name}${"─".repeat(Math.max(0, width - 3 - cells(name)))}┐`),
    ...lines.map((line) => `${paint(style, "│")}${line}${paint(style, "│")}`),
    paint(style, `└${"─".repeat(width - 2)}┘`)
  ]
}

const graphemes = new Intl.Segmenter()
/** East Asian wide characters and pictures take two cells. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u

const widthOf = (grapheme: string) => (wide.test(grapheme) ? 2 : 1)
const cells = (text: string): number =>
  Array.from(graphemes.segment(text)).reduce((sum, { segment }) => sum + widthOf(segment), 0)

/** A text cut or filled with spaces to `width` cells. */
const fitted = (text: string, width: number): string => {
  if (width <= 0) return ""
  let kept = ""
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    const next = used + widthOf(segment)
    if (next > width) break
    kept += segment
    used = next
  }
  return kept + " ".repeat(width - used)
}
