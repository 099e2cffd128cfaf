/** The events of streamed answers, as parsers hand them over and as encoders want them back. */

/** One server-sent event. `event` is its name where it has one. */
export interface SseEvent {
  readonly event?: string | undefined
  readonly data: string
}

/** One message of an AWS event stream: its headers (`:event-type`, `:message-type` …) and its parsed JSON body. */
export interface EventStreamMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** What the stream of a provider is made of. */
export type UpstreamEvent = SseEvent | EventStreamMessage

/** Looks a header up by its lower-case name. */
export type HeaderLookup = (name: string) => string | undefined
