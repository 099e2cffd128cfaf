/** How long an answer asks to be left alone: `retry-after` and what providers send in its place. */

type Header = (name: string) => string | undefined

const resets = [
  "x-ratelimit-reset-requests",
  "x-ratelimit-reset-tokens",
  "x-ratelimit-reset-requests-day",
  "x-ratelimit-reset-tokens-minute"
]

/** A plain reset of less than thirty days is in seconds; what is larger is a time. */
const longestSeconds = 30 * 24 * 3600

const number = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `6m0s`, `20ms`, or plain seconds. */
const span = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const seconds = number(text)
  if (seconds !== undefined) return seconds * 1000
  if (!/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) return undefined
  let total = 0
  for (const [, value, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)) total += Number(value) * units[unit!]!
  return total
}

const after = (until: number, now: number): number | undefined => (until > now ? until - now : undefined)

/**
 * Milliseconds, of an answer with status 429.
 * @param now milliseconds since 1970.
 */
export const retryHint = (header: Header, now: number): number | undefined => {
  const retryAfter = header("retry-after")
  if (retryAfter !== undefined) {
    const seconds = number(retryAfter)
    if (seconds !== undefined) return seconds * 1000
    const date = Date.parse(retryAfter)
    if (!Number.isNaN(date)) return after(date, now)
  }
  const millis = number(header("retry-after-ms"))
  if (millis !== undefined) return millis
  const reset = number(header("x-ratelimit-reset"))
  if (reset !== undefined) return reset < longestSeconds ? reset * 1000 : after(reset * 1000, now)
  const spans = resets.map((name) => span(header(name))).filter((each) => each !== undefined)
  return spans.length === 0 ? undefined : Math.min(...spans)
}
