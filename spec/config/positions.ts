/** Finds the line and column of any value of a loaded file, and makes located problems out of bare ones. */
import type { Node } from "./document.ts"
import { type Expanded, replacementIn, toSource } from "./expand.ts"
import { formatPath, type Path, parsePath } from "./path.ts"
import type { Problem, Severity } from "./problem.ts"
import type { Piece, Position, Source } from "./source.ts"

/** A problem that knows its path but not yet its place. */
export interface Complaint {
  readonly path: Path | string
  readonly message: string
  /** Default "error". */
  readonly severity?: Severity
  readonly code?: string
  /** Whether it is about the key or about the value, which is the default. */
  readonly about?: "key" | "value"
}

/** The places of one loaded file. */
export interface Positions {
  readonly file: string
  /** Where a value begins in the original text. A block below its key is found at the key, a value that is missing at its parent. */
  at(path: Path | string): Position
  /** Where the key of a value begins; for list items where the item begins. */
  keyAt(path: Path | string): Position
  /** Whether a value is written in the file; defaults are not. */
  has(path: Path | string): boolean
  /** Adds place and excerpt. */
  locate(complaint: Complaint): Problem
}

interface Place {
  readonly node: Node
  readonly keyStart: number | undefined
  /** The whole path was found. */
  readonly exact: boolean
}

export const positions = (
  file: string,
  root: Node,
  expanded: Expanded,
  source: Source,
  quotable: ReadonlySet<Node>
): Positions => {
  let pieces: ReadonlyArray<Piece> | undefined

  const find = (path: Path): Place => {
    let place: Place = { node: root, keyStart: undefined, exact: true }
    for (const step of path) {
      const entry = place.node.entries?.get(String(step))
      if (entry !== undefined) place = { node: entry.node, keyStart: entry.keyStart, exact: true }
      else {
        const item = typeof step === "number" ? place.node.items?.[step] : undefined
        if (item === undefined) return { ...place, exact: false }
        place = { node: item, keyStart: undefined, exact: true }
      }
    }
    return place
  }

  const offsetOf = (path: Path, side: "key" | "value"): number => {
    const { node, keyStart, exact } = find(path)
    const value = toSource(expanded, node.start)
    if (keyStart === undefined) return value
    const key = toSource(expanded, keyStart)
    if (side === "key" || !exact) return key
    return source.position(key).line === source.position(value).line ? value : key
  }

  const pathOf = (path: Path | string): Path => (typeof path === "string" ? parsePath(path) : path)

  return {
    file,
    at: (path) => source.position(offsetOf(pathOf(path), "value")),
    keyAt: (path) => source.position(offsetOf(pathOf(path), "key")),
    has: (path) => find(pathOf(path)).exact,
    locate: ({ path, message, severity = "error", code, about = "value" }) => {
      pieces ??= piecesOf(root, expanded, quotable)
      const where = pathOf(path)
      const offset = offsetOf(where, about)
      return {
        file,
        ...source.position(offset),
        path: formatPath(where),
        message,
        severity,
        ...(code === undefined ? {} : { code }),
        excerpt: source.excerpt(offset, pieces)
      }
    }
  }
}

/** Keys and scalars of the original text in its order. Shown are keys, harmless values, and references that only name a variable. */
const piecesOf = (root: Node, expanded: Expanded, quotable: ReadonlySet<Node>): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  const seen = new Set<object>()
  const add = (start: number, end: number, shown: boolean) => {
    // What comes from the environment is shown by its reference, never by its value.
    const replacement = replacementIn(expanded, start, end)
    const whole = replacement !== undefined && replacement.start <= start && replacement.end >= end
    if (replacement === undefined || (!shown && !whole))
      pieces.push({ start: toSource(expanded, start), end: toSource(expanded, end, "end"), shown })
  }
  const visit = (node: Node): void => {
    const content = node.entries ?? node.items
    if (content === undefined) add(node.start, node.end, quotable.has(node))
    if (content === undefined || seen.has(content)) return
    seen.add(content)
    if (node.entries !== undefined)
      for (const entry of node.entries.values()) {
        add(entry.keyStart, entry.keyEnd, true)
        visit(entry.node)
      }
    else for (const item of node.items ?? []) visit(item)
  }
  visit(root)
  for (const { sourceStart, sourceEnd, nameOnly } of expanded.replacements)
    pieces.push({ start: sourceStart, end: sourceEnd, shown: nameOnly })
  return pieces.sort((a, b) => a.start - b.start)
}
