/** Finds the line and column of any value of a loaded file, and makes located problems out of bare ones. */
import { type Outline, walk } from "./outline.ts"
import { formatPath, type Path, parsePath } from "./path.ts"
import type { Problem, Severity } from "./problem.ts"
import type { Position, Source } from "./source.ts"

/** A problem that knows its path but not yet its place. */
export interface Complaint {
  readonly path: Path | string
  readonly message: string
  /** The place in the text that the value holds, where the value alone says too little. */
  readonly within?: { readonly text: string; readonly offset: number } | undefined
  /** Default "error". */
  readonly severity?: Severity
  readonly code?: string
  /** Whether it is about the key or about the value, which is the default. */
  readonly about?: "key" | "value"
  /** Where it is about a name that nothing in a part of the file has. */
  readonly missing?: { readonly among: Path; readonly isName: (word: string) => boolean }
}

/** The places of one loaded file. */
export interface Positions {
  readonly file: string
  /** What they are made from, together with the text. */
  readonly outline: Outline
  /** Where a value begins in the original text. A block below its key is found at the key, a value that is missing at its parent. */
  at(path: Path | string): Position
  /** Where the key of a value begins; for list items where the item begins. */
  keyAt(path: Path | string): Position
  /** Whether a value is written in the file; defaults are not. */
  has(path: Path | string): boolean
  /** Writes a path, without what keys may hold of secrets. */
  show(path: Path): string
  /** Adds place and excerpt. */
  locate(complaint: Complaint): Problem
}

export const positions = (file: string, outline: Outline, source: Source): Positions => {
  const offsetOf = (path: Path, side: "key" | "value"): number => {
    const { start, keyStart, exact } = walk(outline, path)
    if (keyStart === undefined) return start
    if (side === "key" || !exact) return keyStart
    return source.position(keyStart).line === source.position(start).line ? start : keyStart
  }

  const pathOf = (path: Path | string): Path => (typeof path === "string" ? parsePath(path) : path)

  const show = (path: Path) =>
    formatPath(path.map((step) => (typeof step === "string" ? (outline.disguises.get(step) ?? step) : step)))

  return {
    file,
    outline,
    show,
    at: (path) => source.position(offsetOf(pathOf(path), "value")),
    keyAt: (path) => source.position(offsetOf(pathOf(path), "key")),
    has: (path) => walk(outline, pathOf(path)).exact,
    locate: ({ path, message, within, severity = "error", code, about = "value" }) => {
      const where = pathOf(path)
      const { start, exact } = walk(outline, where)
      const inside = within === undefined || !exact ? undefined : source.inside(start, within.text, within.offset)
      const offset = inside ?? offsetOf(where, about)
      return {
        file,
        ...source.position(offset),
        path: show(where),
        message: within === undefined ? message : source.about(message, within.text),
        severity,
        ...(code === undefined ? {} : { code }),
        excerpt: source.excerpt(offset, outline.pieces)
      }
    }
  }
}
