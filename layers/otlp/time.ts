/** Times as the exporters want them. */
import type { HrTime } from "@opentelemetry/api"

/** Milliseconds, with fractions, as seconds and nanoseconds. */
export const hrTime = (milliseconds: number): HrTime => {
  const seconds = Math.floor(milliseconds / 1000)
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)]
}
