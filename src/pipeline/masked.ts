/** What is shown of configurations and messages to whoever looks: everything but credentials. */
import { Redacted } from "effect"

const hidden = "<redacted>"

/** Headers whose values are credentials, whoever sends them. */
const credentials = new Set(["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key"])

const isHidden = (name: string, further: ReadonlySet<string>) => credentials.has(name) || further.has(name)

/** The value of a header as it may be shown. `further`: lower-case names of headers that are hidden, too. */
export const shownHeader = (name: string, value: string, further: ReadonlySet<string>): string =>
  isHidden(name, further) ? hidden : value

const none: ReadonlySet<string> = new Set()

/** A configuration as plain data: its secrets are masked, and so are credentials in what it says of headers. */
export const masked = (value: unknown, further: ReadonlySet<string> = none): unknown => {
  if (Redacted.isRedacted(value)) return hidden
  if (value instanceof URL || value instanceof Date) return value.toJSON()
  if (value instanceof RegExp) return value.source
  if (value instanceof Uint8Array) return "<bytes>"
  if (Array.isArray(value)) return value.map((each) => masked(each, further))
  if (typeof value === "bigint") return value.toString()
  if (typeof value !== "object" || value === null) return value
  // `{ name: authorization, value: … }`, as matches of routes have it.
  const named = "name" in value && typeof value.name === "string" ? value.name.toLowerCase() : undefined
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key === "value" && named !== undefined && isHidden(named, further)) return [key, hidden]
      return [key, typeof inner === "string" ? shownHeader(key.toLowerCase(), inner, further) : masked(inner, further)]
    })
  )
}
