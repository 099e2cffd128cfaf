/** One canonical authority per request: what routing, policies and the backend see is the same string. */
import type { Scheme } from "./message.ts"

// No user info, no percent-encoding, no empty host: a name two parsers could read differently is refused.
const authority = /^(?:[a-z0-9_](?:[a-z0-9._-]*)|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?$/

/** Lower-case host and, unless it is the scheme's default, port. `undefined` for anything that is not an authority. */
export const canonicalAuthority = (raw: string, scheme: Scheme): string | undefined => {
  const lower = raw.toLowerCase()
  const match = authority.exec(lower)
  if (match === null) return undefined
  const port = match[1]
  if (port === undefined) return lower
  const number = Number(port)
  if (number > 65_535) return undefined
  const host = lower.slice(0, lower.length - port.length - 1)
  return number === (scheme === "https" ? 443 : 80) ? host : `${host}:${number}`
}
