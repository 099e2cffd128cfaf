/** Rows as a table of aligned columns, the names of the columns above. */
import { printable } from "./printable.ts"

export const table = (rows: ReadonlyArray<Readonly<Record<string, string | number>>>): string => {
  const columns = Object.keys(rows[0] ?? {})
  if (columns.length === 0) return "none"
  const lines = [columns, ...rows.map((row) => columns.map((column) => printable(String(row[column] ?? ""))))]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]!.length)))
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
