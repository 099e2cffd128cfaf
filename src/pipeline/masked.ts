/** What is shown of configurations and messages to whoever looks: everything but credentials. */
import { Redacted } from "effect"
import { type Hidden, isHidden, nothingHidden, shownValue } from "./hidden.ts"

const instead = "<redacted>"

const isAddress = /^[a-z][a-z0-9+.-]*:\/\//i

/** A configuration as plain data: its secrets are masked, and so are credentials in what it says of headers. */
export const masked = (value: unknown, hidden: Hidden = nothingHidden): unknown => {
  if (Redacted.isRedacted(value)) return instead
  if (typeof value === "string") return isAddress.test(value) ? shownValue(value, hidden) : value
  if (value instanceof URL) return shownValue(value.href, hidden)
  if (value instanceof Date) return value.toJSON()
  if (value instanceof RegExp) return value.source
  if (value instanceof Uint8Array) return "<bytes>"
  if (Array.isArray(value)) return value.map((each) => masked(each, hidden))
  if (typeof value === "bigint") return value.toString()
  if (typeof value !== "object" || value === null) return value
  // `{ name: authorization, value: … }`, as matches of routes have it.
  const named = "name" in value && typeof value.name === "string" ? value.name.toLowerCase() : undefined
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key === "value" && named !== undefined && isHidden(named, hidden)) return [key, instead]
      const shown = typeof inner === "string" && isHidden(key.toLowerCase(), hidden) ? instead : masked(inner, hidden)
      return [hidden.keys.get(key) ?? key, shown]
    })
  )
}
