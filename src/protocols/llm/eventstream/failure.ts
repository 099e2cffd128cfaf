/** Why a binary event stream cannot be read any further. */
import { Data } from "effect"

/**
 * `length`: a frame claims less than its own overhead or more than the limit; `checksum`: prelude or message CRC; `headers`: unreadable
 * header block; `truncated`: the stream ended inside a frame.
 */
export class EventStreamBroken extends Data.TaggedError("EventStreamBroken")<{
  readonly reason: "length" | "checksum" | "headers" | "truncated"
}> {
  readonly status = 502
  readonly source = "backend"
  override get message() {
    return `event stream frame is broken: ${this.reason}`
  }
}
