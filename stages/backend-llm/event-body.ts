/** A streamed answer that is decoded while it passes: whoever stands behind it is told its events, and need not decode its bytes again. */
import type { BodySource } from "../../src/policy/policy.ts"

export interface EventBody extends BodySource {
  /** Told each event that the client will read, before the chunk in which it ends. What cannot be decoded then ends the stream. */
  heard: ((event: string | undefined, data: string) => void) | undefined
  /** How many of the bytes handed over belong to events that are over. */
  readonly boundary: number
}
