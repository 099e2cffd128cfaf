/** A trace that was saved: JSON lines, or the event stream as it came. */
import { readFile } from "node:fs/promises"
import { text } from "node:stream/consumers"
import { Data, Effect, Schema } from "effect"
import { TraceEvent } from "../../../spec/trace-events.ts"

/** There is no trace to read. */
export class UnreadableTrace extends Data.TaggedError("UnreadableTrace")<{ readonly detail: string }> {
  override get message() {
    return this.detail
  }
}

/** The JSON of every event, one a line; `-` reads standard input. */
export const readTrace = (name: string): Effect.Effect<ReadonlyArray<string>, UnreadableTrace> =>
  Effect.tryPromise({
    try: () => (name === "-" ? text(process.stdin) : readFile(name, "utf8")),
    catch: () => new UnreadableTrace({ detail: `cannot read ${name}` })
  }).pipe(
    Effect.map((saved) =>
      saved
        .split("\n")
        .map((line) => (line.startsWith("data: ") ? line.slice(6) : line))
        .filter((line) => line.startsWith("{"))
    )
  )

/** The event of a line; none for what a later version sends. */
export const eventOf = Schema.decodeUnknownOption(Schema.fromJsonString(TraceEvent))
