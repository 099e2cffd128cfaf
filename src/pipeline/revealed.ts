/** Configurations with their credentials: to be compared or hashed, never to be shown. */
import { Redacted } from "effect"
import { type Hidden, nothingHidden } from "./hidden.ts"
import { masked } from "./masked.ts"

/** A value as plain data. Members without a value are left out. */
export const revealed = (value: unknown, hidden: Hidden = nothingHidden): unknown => {
  if (Redacted.isRedacted(value)) return { credential: revealed(Redacted.value(value)) }
  if (value instanceof URL || value instanceof Date) return value.toJSON()
  if (value instanceof RegExp) return value.source
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
  if (typeof value === "bigint") return value.toString()
  if (Array.isArray(value)) return value.map((each) => revealed(each, hidden))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      inner === undefined ? [] : [[hidden.keys.get(key) ?? key, revealed(inner, hidden)]]
    )
  )
}

/** A value as text, the same for the same members in any order. */
export const revealedText = (value: unknown): string =>
  JSON.stringify(revealed(value), (_, part: unknown) =>
    typeof part !== "object" || part === null || Array.isArray(part)
      ? part
      : Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  )

/** What of a configuration is not shown, and where it stands there. */
export const credentialsIn = (
  value: unknown,
  hidden: Hidden
): ReadonlyArray<readonly [place: string, value: unknown]> => {
  const found: Array<readonly [string, unknown]> = []
  const visit = (whole: unknown, shown: unknown, place: string): void => {
    if (typeof whole !== "object" || whole === null || typeof shown !== "object" || shown === null) {
      if (whole !== shown) found.push([place, whole])
      return
    }
    const parts = shown as Readonly<Record<string, unknown>>
    for (const [key, inner] of Object.entries(whole)) visit(inner, parts[key], `${place}/${key}`)
  }
  visit(revealed(value, hidden), masked(value, hidden), "")
  return found
}
