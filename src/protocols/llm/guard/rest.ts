/**
 * What a guard that is shown a list of messages or choices would not see of a document: tools, schemas, thoughts, shapes that nobody
 * knows. It is shown as further entries, one for each scope, a line or more for each string.
 */
import type { JsonObject } from "../formats/json.ts"
import type { ContentScope } from "./assignment.ts"
import { type Document, type GuardedFormat, rewriteTexts, TextUnreadable } from "./texts.ts"

/** Everything of one scope. */
export interface Rest {
  readonly scope: ContentScope
  readonly text: string
}

const stringsOf = (
  format: GuardedFormat,
  document: Document,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>
): ReadonlyArray<Rest> | TextUnreadable => {
  const strings: Array<Rest> = []
  const walked = rewriteTexts(
    format,
    document,
    body,
    scopes,
    (text, scope) => {
      strings.push({ text, scope })
      return text
    },
    "strings"
  )
  return walked instanceof TextUnreadable ? walked : strings
}

/** @param blank the same body without the texts that the list shows. */
export const restOf = (
  format: GuardedFormat,
  document: Document,
  blank: JsonObject,
  scopes: ReadonlySet<ContentScope>
): ReadonlyArray<Rest> | TextUnreadable => {
  const strings = stringsOf(format, document, blank, scopes)
  if (strings instanceof TextUnreadable) return strings
  return [...scopes].flatMap((scope) => {
    const texts = strings.filter((string) => string.scope === scope && string.text !== "").map(({ text }) => text)
    return texts.length === 0 ? [] : [{ scope, text: texts.join("\n") }]
  })
}

/** The body with a changed rest, or `undefined` where its lines do not tell which string they belong to. */
export const withRest = (
  format: GuardedFormat,
  document: Document,
  body: JsonObject,
  blank: JsonObject,
  scopes: ReadonlySet<ContentScope>,
  rest: ReadonlyArray<Rest>
): JsonObject | undefined => {
  const strings = stringsOf(format, document, blank, scopes)
  const before = restOf(format, document, blank, scopes)
  if (strings instanceof TextUnreadable || before instanceof TextUnreadable) return undefined
  if (before.every(({ text }, i) => text === rest[i]?.text)) return body
  const lines = new Map<ContentScope, { readonly all: ReadonlyArray<string>; taken: number }>()
  for (const [i, { scope, text }] of before.entries()) {
    const after = (rest[i]?.text ?? "").split("\n")
    if (after.length !== text.split("\n").length) return undefined
    lines.set(scope, { all: after, taken: 0 })
  }
  let at = 0
  const changed = rewriteTexts(
    format,
    document,
    body,
    scopes,
    (text, scope) => {
      // Both bodies have the same strings at the same places.
      const shown = strings[at++]?.text === ""
      if (shown) return text
      const left = lines.get(scope)!
      const from = left.taken
      left.taken += text.split("\n").length
      return left.all.slice(from, left.taken).join("\n")
    },
    "strings"
  )
  return changed instanceof TextUnreadable ? undefined : changed
}
