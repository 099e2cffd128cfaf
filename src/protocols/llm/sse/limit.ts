/** What one line and one event of a server-sent event stream may weigh, and the failure when a stream goes beyond. */
import { Data } from "effect"

/** Both in bytes of UTF-8, line terminators not counted. */
export interface SseLimits {
  /** Longest single line. */
  readonly maxLineBytes: number
  /** Most data that the lines of one event may add up to. */
  readonly maxEventBytes: number
}

/** The default body buffer limit of the proxy, applied to one event. */
export const defaultSseLimits: SseLimits = { maxLineBytes: 2_097_152, maxEventBytes: 2_097_152 }

/** A line or an event of the stream is larger than this proxy is willing to hold. */
export class SseTooLarge extends Data.TaggedError("SseTooLarge")<{
  readonly what: "line" | "event"
  readonly limit: number
}> {
  readonly status = 502
  readonly source = "backend"
  override get message() {
    return `${this.what} of the event stream is over ${this.limit} bytes`
  }
}
