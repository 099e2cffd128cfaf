/**
 * What tells two sets of connections apart: everything that decides whom they reach, as whom, and how they are kept. As a
 * digest under a key of this process, since there are secrets in it, and two different ones print alike.
 */
import { createHmac, randomBytes } from "node:crypto"
import { Redacted } from "effect"
import type { Address } from "../../../spec/target.ts"
import type { ConnectionSettings } from "../connection-settings.ts"

let key: Buffer | undefined

export const identityOf = (target: Address, settings: ConnectionSettings): string => {
  key ??= randomBytes(32)
  return createHmac("sha256", key)
    .update(JSON.stringify(revealed([target, settings])))
    .digest("base64")
}

/** A copy with the texts of its secrets. It is hashed, and goes nowhere else. */
const revealed = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return { secret: revealed(Redacted.value(value)) }
  if (Array.isArray(value)) return value.map(revealed)
  if (typeof value !== "object" || value === null) return value
  return Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, field]) => [name, revealed(field)])
}
