/** How long an answer says that it stays fresh (RFC 9111 4.2.1). */
import type { HeaderList } from "./header-list.ts"

/**
 * Milliseconds from `cache-control: max-age`, else from `expires`; `undefined` when the answer does not say, or forbids to
 * keep it.
 * @param now milliseconds since 1970.
 */
export const freshFor = (headers: HeaderList, now: number): number | undefined => {
  const directives = headers
    .getAll("cache-control")
    .join(",")
    .split(",")
    .map((directive) => directive.trim().toLowerCase())
  if (directives.includes("no-store") || directives.includes("no-cache")) return undefined
  for (const directive of directives) {
    const seconds = /^max-age="?([0-9]{1,10})"?$/.exec(directive)?.[1]
    if (seconds !== undefined) return Number(seconds) * 1000
  }
  const expires = headers.get("expires")
  if (expires === undefined) return undefined
  const until = Date.parse(expires)
  // Anything that is no date has expired already (RFC 9111 5.3).
  return Number.isNaN(until) ? 0 : Math.max(0, until - now)
}
