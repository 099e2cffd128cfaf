/** One canonical authority per request: what routing, policies and the backend see is the same string. */
import type { Scheme } from "./message.ts"

// No user info, no percent-encoding, no empty host: a name two parsers could read differently is refused.
const authority = /^(?:[a-z0-9_](?:[a-z0-9._-]*)|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?$/

/**
 * Lower-case host and, unless it is the scheme's default, port. A name of the absolute form, `example.com.`, is the same
 * host as the one without the dot, and is written without it. `undefined` for anything that is not an authority.
 */
export const canonicalAuthority = (raw: string, scheme: Scheme): string | undefined => {
  const lower = raw.toLowerCase()
  const match = authority.exec(lower)
  if (match === null) return undefined
  const port = match[1]
  if (port === undefined) return withoutRoot(lower)
  const number = Number(port)
  if (number > 65_535) return undefined
  const host = withoutRoot(lower.slice(0, lower.length - port.length - 1))
  if (host === undefined) return undefined
  return number === (scheme === "https" ? 443 : 80) ? host : `${host}:${number}`
}

/** The host without the dot of the root; one with several at its end is none. */
export const withoutRoot = (host: string): string | undefined => {
  if (!host.endsWith(".")) return host
  return host.endsWith("..") ? undefined : host.slice(0, -1)
}

/** Where a tunnel is to lead: a host and a port, which is always there (RFC 9110 9.3.6). */
export const canonicalDestination = (raw: string): string | undefined => {
  const port = /:([0-9]{1,5})$/.exec(raw)?.[1]
  if (port === undefined || Number(port) === 0) return undefined
  const host = canonicalAuthority(raw, "http")
  return host === undefined || Number(port) !== 80 ? host : `${host}:80`
}
