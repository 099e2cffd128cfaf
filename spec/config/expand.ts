/**
 * Environment expansion over the whole text of a file, comments included, before it is parsed: `$X`, `${X}`, `${X:-default}`, `$$`, and a
 * leading `~`. Every replacement is remembered, so that a place in the expanded text is found again in the original.
 */

import { looksSecret } from "./looks-secret.ts"

/** One replaced piece of text. Offsets are UTF-16 units; ends are exclusive. */
export interface Replacement {
  readonly sourceStart: number
  readonly sourceEnd: number
  readonly start: number
  readonly end: number
  /** The reference shows a name and nothing else, so it may be quoted in a message. */
  readonly nameOnly: boolean
}

/** A reference that has no value. Its text stays as it is. */
export interface Unresolved {
  readonly sourceStart: number
  readonly sourceEnd: number
  readonly message: string
}

export interface Expanded {
  readonly text: string
  readonly replacements: ReadonlyArray<Replacement>
  readonly unresolved: ReadonlyArray<Unresolved>
}

/** Reads one variable; `undefined` where it is not set. */
export type Environment = Readonly<Record<string, string | undefined>>

// The comment that names the schema holds a `$` of its own, hence its place as the first alternative.
const reference =
  /# yaml-language-server: \$schema|\$\$|\$\{([^}\n]*)\}|\$\{|\$([A-Za-z_][A-Za-z0-9_]*)|(?<=(?:^\s*|[:\-,]\s+|[[{]\s*)["']?)~(?=\/)/gmu

const braced = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

/** A password may hold a dollar sign, and then what follows is no name. */
const named = (name: string, before: string | undefined): string => {
  const isMeant = /^[A-Z_][A-Z0-9_]*$/.test(name) || before === undefined || !/[A-Za-z0-9]/.test(before)
  return isMeant && !looksSecret(name) ? `environment variable ${name}` : "the environment variable"
}

/** Replaces every reference. As in a shell, `:-` also covers a variable that is set to nothing. */
export const expand = (source: string, env: Environment, home: string | undefined): Expanded => {
  const replacements: Array<Replacement> = []
  const unresolved: Array<Unresolved> = []
  let text = ""
  let copied = 0

  const lookup = (name: string) => (Object.hasOwn(env, name) ? env[name] : undefined)

  for (const match of source.matchAll(reference)) {
    const sourceStart = match.index
    const sourceEnd = sourceStart + match[0].length
    const fail = (message: string) => unresolved.push({ sourceStart, sourceEnd, message })
    const replace = (value: string, nameOnly: boolean) => {
      text += source.slice(copied, sourceStart)
      const start = text.length
      text += value
      copied = sourceEnd
      replacements.push({ sourceStart, sourceEnd, start, end: text.length, nameOnly })
    }
    const substitute = (name: string, fallback: string | undefined) => {
      const value = lookup(name)
      if (fallback !== undefined) replace(value === undefined || value === "" ? fallback : value, false)
      else if (value !== undefined) replace(value, true)
      else fail(`${named(name, source[sourceStart - 1])} is not set (a literal dollar sign is written $$)`)
    }

    if (match[0] === "$$") replace("$", false)
    else if (match[0] === "~") {
      if (home !== undefined) replace(home, true)
    } else if (match[2] !== undefined) substitute(match[2], undefined)
    else if (match[1] !== undefined) {
      const parts = braced.exec(match[1])
      if (parts === null) fail("expected a variable name in the braces (a literal dollar sign is written $$)")
      else substitute(parts[1]!, parts[2])
    } else if (match[0].endsWith("{")) fail("the brace is not closed on its line (a literal dollar sign is written $$)")
  }
  return { text: text + source.slice(copied), replacements, unresolved }
}

/** The last replacement that begins at or before `offset`. */
const replacementBefore = (expanded: Expanded, offset: number): Replacement | undefined => {
  const { replacements } = expanded
  let low = 0
  let high = replacements.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (replacements[middle]!.start <= offset) low = middle + 1
    else high = middle
  }
  return replacements[low - 1]
}

/** The place in the original text from which the character at `offset` of the expanded text came. */
export const toSource = (expanded: Expanded, offset: number, side: "start" | "end" = "start"): number => {
  const last = replacementBefore(expanded, offset)
  if (last === undefined) return offset
  if (offset < last.end) return side === "start" ? last.sourceStart : last.sourceEnd
  return offset - last.end + last.sourceEnd
}

/** The place in the expanded text of a character of the original one that was not replaced. */
export const toExpanded = ({ replacements }: Expanded, sourceOffset: number): number => {
  const last = replacements.findLast(({ sourceEnd }) => sourceEnd <= sourceOffset)
  return last === undefined ? sourceOffset : sourceOffset - last.sourceEnd + last.end
}

/** The last replacement that put text into a range of the expanded text. */
export const replacementIn = (expanded: Expanded, start: number, end: number): Replacement | undefined => {
  const last = replacementBefore(expanded, end - 1)
  return last !== undefined && last.end > start ? last : undefined
}
