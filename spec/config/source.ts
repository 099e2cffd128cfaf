/** The original text of a file: lines, columns, and excerpts in which everything that is not known to be harmless is masked. */

import { looksSecret } from "./looks-secret.ts"

/** Keys and scalars of the original text, disjoint and sorted: three numbers each, its start, its end, and 1 if an excerpt may show it. */
export type Pieces = Int32Array

export interface Position {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
}

export interface Source {
  position(offset: number): Position
  /**
   * The line of `offset` with a marker below. Legible are the pieces that are shown, and the punctuation between pieces. Without pieces the
   * line was not parsed, and its key alone is legible.
   */
  excerpt(offset: number, pieces?: Pieces): string
  /**
   * Where the character at `within` of a text stands that is written at `offset`: as it is, in quotes, or as a block.
   * `undefined` where it is written another way, as with a reference to the environment before that character.
   */
  inside(offset: number, value: string, within: number): number | undefined
  /** A sentence about a text, without words of it that are not in the file: a reference to the environment brought them. */
  about(sentence: string, value: string): string
}

const mask = "…"
const punctuation = /[\s\-:,[\]{}"'|>&*?]/
const width = 100

// What may be shown of a line that could not be parsed: its key.
const bareKey = /^(\s*(?:- +)*)(["']?)([A-Za-z_][\w-]*)\2\s*:(?=\s|$)/

const firstEndingAfter = (pieces: Pieces, offset: number): number => {
  let low = 0
  let high = pieces.length / 3
  while (low < high) {
    const middle = (low + high) >>> 1
    if (pieces[middle * 3 + 1]! <= offset) low = middle + 1
    else high = middle
  }
  return low
}

/** For every character of a line whether it may be shown. */
const legibility = (line: string, start: number, pieces: Pieces | undefined): Uint8Array => {
  const legible = new Uint8Array(line.length)
  if (pieces === undefined) {
    const found = bareKey.exec(line)
    const key = found === null || looksSecret(found[3]!) ? 0 : found[0].length
    for (let index = 0; index < line.length; index++) if (index < key || line[index] === " ") legible[index] = 1
    return legible
  }
  let at = 0
  const between = (end: number) => {
    for (; at < end; at++) {
      // A comment may hold anything.
      if (line[at] === "#" && (at === 0 || /\s/.test(line[at - 1]!))) {
        legible.fill(1, at, line[at + 1] === " " ? at + 2 : at + 1)
        at = line.length
        return
      }
      if (punctuation.test(line[at]!)) legible[at] = 1
    }
  }
  for (let index = firstEndingAfter(pieces, start) * 3; index < pieces.length; index += 3) {
    const [from, to, shown] = [pieces[index]!, pieces[index + 1]!, pieces[index + 2]!]
    if (from >= start + line.length) break
    between(from - start)
    const end = Math.min(line.length, to - start)
    if (shown === 1 && !looksSecret(line.slice(Math.max(0, from - start), end))) legible.fill(1, at, end)
    at = Math.max(at, end)
  }
  between(line.length)
  return legible
}

const escaped: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" }

/** Reads the written form and the value side by side, as far as they agree. */
const inside = (text: string, start: number, value: string, within: number): number | undefined => {
  const style = text[start]
  const isBlock = style === "|" || style === ">"
  let at = start + (style === "'" || style === '"' ? 1 : 0)
  let indent = 0
  if (isBlock) {
    at = text.indexOf("\n", start) + 1
    if (at === 0) return undefined
    indent = /^ */.exec(text.slice(at, at + 256))![0].length
    at += indent
  }
  for (let index = 0; index < within; index++) {
    const wanted = value[index]
    let read = 1
    if (style === '"' && text[at] === "\\") {
      const next = text[at + 1] ?? ""
      if ((escaped[next] ?? next) !== wanted) return undefined
      read = 2
    } else if (style === "'" && text[at] === "'") {
      if (text[at + 1] !== "'" || wanted !== "'") return undefined
      read = 2
    } else if (text[at] === "\n" && (wanted === "\n" || wanted === " ")) {
      // A line of a block keeps what it is indented beyond the first; other texts are folded.
      const blank = /^ */.exec(text.slice(at + 1, at + 257))![0].length
      read = 1 + (isBlock ? Math.min(blank, indent) : blank)
    } else if (text[at] === "$" && text[at + 1] === "$" && wanted === "$") read = 2
    else if (text[at] !== wanted) return undefined
    at += read
  }
  return at
}

/** Indexes the lines once. */
export const source = (text: string): Source => {
  const starts = [0]
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1)

  const lineAt = (offset: number): number => {
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (starts[middle]! <= offset) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  const position = (offset: number): Position => {
    const bounded = Math.max(0, Math.min(offset, text.length))
    const line = lineAt(bounded)
    return { line: line + 1, column: bounded - starts[line]! + 1 }
  }

  const excerpt = (offset: number, pieces?: Pieces): string => {
    const { line, column } = position(offset)
    const start = starts[line - 1]!
    const raw = text.slice(start, starts[line] ?? text.length).replace(/\r?\n$/, "")
    const legible = legibility(raw, start, pieces)

    // A window around the column, so that a file of one line stays readable.
    const from = raw.length <= width ? 0 : Math.max(0, Math.min(column - 1 - width / 2, raw.length - width))
    const to = Math.min(raw.length, from + width)
    let out = from > 0 ? mask : ""
    let maskEnd = -1
    let marker = out.length
    for (let index = from; index < to; index++) {
      if (legible[index] === 1) {
        if (index === column - 1) marker = out.length
        out += raw[index]!
        continue
      }
      // One mask for words and the space between them.
      const joined = maskEnd !== -1 && out.slice(maskEnd).trim() === ""
      out = joined ? out.slice(0, maskEnd) : out + mask
      maskEnd = out.length
      if (index === column - 1) marker = maskEnd - 1
    }
    if (column - 1 >= to) marker = out.length
    if (to < raw.length) out += mask
    return `${out.trimEnd()}\n${" ".repeat(marker)}^`
  }

  const about = (sentence: string, value: string): string =>
    sentence.replace(/\w+/g, (word) => (value.includes(word) && !text.includes(word) ? mask : word))

  return { position, excerpt, inside: (offset, value, within) => inside(text, offset, value, within), about }
}
