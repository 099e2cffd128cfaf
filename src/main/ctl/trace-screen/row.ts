/** An event of a trace as the screen holds it: a row of the table, and what the detail pane shows of it. */
import { Option, Result, Schema } from "effect"
import type { TraceEvent } from "../../../../spec/trace-events.ts"
import { printable } from "../printable.ts"
import { eventOf } from "../saved-trace.ts"
import { detail } from "../trace-summary.ts"

export interface Row {
  readonly type: string
  readonly severity: TraceEvent["severity"]
  /** At most `summaryLength` characters. */
  readonly summary: string
  /** The event as it came, bodies made readable. */
  readonly event: unknown
  /** All that was known of the request, where the event is a snapshot. */
  readonly state: unknown
  /** Microseconds, where the event has a beginning and an end. */
  readonly duration: number | undefined
}

const summaryLength = 120
const cut = (text: string) => (text.length > summaryLength ? `${text.slice(0, summaryLength - 1)}…` : text)

const parse = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Unknown))

export const rowOf = (json: string): Row =>
  Option.match(eventOf(json), {
    onSome: (event) => ({
      type: event.message.type,
      severity: event.severity,
      summary: cut(printable(detail(event))),
      event: readable(event),
      state: "requestState" in event.message ? event.message.requestState : undefined,
      duration: event.eventStart === null ? undefined : event.eventEnd - event.eventStart
    }),
    onNone: () => ({
      type: "unknown",
      severity: "info",
      summary: cut(printable(json)),
      event: Result.getOrElse(parse(json), () => json),
      state: undefined,
      duration: undefined
    })
  })

/** What went wrong while the trace was read, as a row of its own. */
export const failureRow = (message: string): Row => ({
  type: "message",
  severity: "error",
  summary: cut(printable(message)),
  event: { message },
  state: undefined,
  duration: undefined
})

/** The same event with its body as text, parsed where that text is JSON. A body that is no text stays base64. */
const readable = (event: TraceEvent): unknown => {
  if (event.message.type !== "bodySnapshot") return event
  const text = utf8(event.message.body)
  if (text === undefined) return event
  return { ...event, message: { ...event.message, body: Result.getOrElse(parse(text), () => text) } }
}

const utf8 = (base64: string): string | undefined => {
  const text = Buffer.from(base64, "base64").toString()
  return text.includes("\ufffd") ? undefined : text
}
