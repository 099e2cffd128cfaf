/**
 * Tells values apart that have secrets in them, and without showing those: two secrets print alike. A digest under a key of this
 * process.
 */
import { createHmac, randomBytes } from "node:crypto"
import { Redacted } from "effect"

let key: Buffer | undefined

/** Of plain data and `Redacted`; members that are `undefined`, and functions, count as left out. */
export const keyedDigest = (value: unknown): string => {
  key ??= randomBytes(32)
  return createHmac("sha256", key)
    .update(JSON.stringify(revealed(value)) ?? "")
    .digest("base64")
}

/** A copy with the texts of its secrets. It is hashed, and goes nowhere else. */
const revealed = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return { secret: revealed(Redacted.value(value)) }
  if (Array.isArray(value)) return value.map(revealed)
  if (typeof value !== "object" || value === null) return value
  return Object.entries(value)
    .filter(([, field]) => field !== undefined && typeof field !== "function")
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, field]) => [name, revealed(field)])
}
