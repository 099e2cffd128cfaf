/** A trace that was saved: JSON lines, or the event stream as it came. */
import { readFile } from "node:fs/promises"
import { text } from "node:stream/consumers"
import { Effect, Schema } from "effect"
import { TraceEvent } from "../../../spec/trace-events.ts"
import { Unable } from "./failure.ts"

/** The JSON of every event, one a line; `-` reads standard input. */
export const readTrace = (name: string): Effect.Effect<ReadonlyArray<string>, Unable> =>
  Effect.tryPromise({
    try: () => (name === "-" ? text(process.stdin) : readFile(name, "utf8")),
    catch: () => new Unable({ detail: `cannot read ${name}` })
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
