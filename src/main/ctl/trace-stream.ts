/** Reads the server-sent events of the admin interface's trace, line by line as they arrive. */
import { Data, Effect, Schema, Stream } from "effect"
import { TraceEvent } from "../../../spec/trace-events.ts"

/** The admin interface did not answer as it should. */
export class AdminUnreachable extends Data.TaggedError("AdminUnreachable")<{ readonly detail: string }> {
  override get message() {
    return this.detail
  }
}

/** Where the admin interface of a proxy on this machine listens. */
export interface AdminEndpoint {
  readonly port: number
}

/** What a trace stream yields: that the watcher is in place, then the JSON of each event exactly as it was sent. */
export type TraceLine = { readonly _tag: "Ready" } | { readonly _tag: "Event"; readonly json: string }

/** Subscribes to the next request. The stream ends when that request is over. */
export const traceLines = (
  admin: AdminEndpoint,
  expression: string | undefined
): Stream.Stream<TraceLine, AdminUnreachable> => {
  const url = new URL(`http://127.0.0.1:${admin.port}/debug/trace`)
  if (expression !== undefined) url.searchParams.set("expression", expression)
  const open = Effect.tryPromise({
    try: (signal) => fetch(url, { method: "POST", signal }),
    catch: (cause) =>
      new AdminUnreachable({ detail: `cannot reach the admin interface at ${url.host}: ${reasonOf(cause)}` })
  }).pipe(
    Effect.flatMap((response) =>
      response.ok && response.body !== null
        ? Effect.succeed(response.body)
        : Effect.flatMap(
            Effect.promise(() => response.text()),
            (text) => Effect.fail(new AdminUnreachable({ detail: text.trim() }))
          )
    )
  )
  return Stream.unwrap(
    Effect.map(open, (body) =>
      Stream.fromReadableStream({
        evaluate: () => body,
        onError: (cause) => new AdminUnreachable({ detail: `the trace broke off: ${reasonOf(cause)}` })
      }).pipe(
        Stream.decodeText(),
        Stream.splitLines,
        Stream.flatMap((line): Stream.Stream<TraceLine> => {
          if (line === ": ready") return Stream.succeed({ _tag: "Ready" })
          return line.startsWith("data: ") ? Stream.succeed({ _tag: "Event", json: line.slice(6) }) : Stream.empty
        })
      )
    )
  )
}

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? cause.cause.message : cause.message
}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(TraceEvent))

/** One line for people: when, how grave, what. An event of a later version is shown as it is. */
export const summary = (json: string): string => {
  const event = decode(json)
  if (event._tag === "None") return json
  const { eventEnd, severity, message } = event.value
  const at = `${(eventEnd / 1000).toFixed(3).padStart(10)} ms`
  return `${at}  ${severity.padEnd(7)}  ${message.type.padEnd(18)} ${detail(message)}`.trimEnd()
}

const detail = (message: TraceEvent["message"]): string => {
  switch (message.type) {
    case "requestStarted":
      return ""
    case "requestSnapshot": {
      const request = message.requestState.request
      return `${message.stage}${request === undefined ? "" : `: ${request.method} ${request.uri}`}`
    }
    case "responseSnapshot":
      return `${message.stage}${message.requestState.response === undefined ? "" : `: ${message.requestState.response.code}`}`
    case "bodySnapshot":
      return `${message.stage}: ${Math.floor((message.body.length * 3) / 4)} bytes`
    case "routeSelection":
      return message.selectedRoute ?? `none of ${message.evaluatedRoutes.length} routes matches`
    case "policySelection": {
      const applied = Object.entries(message.effectivePolicy).flatMap(([key, value]) => (value === null ? [] : [key]))
      return `${message.phase}: ${applied.join(", ") || "none"}`
    }
    case "policy":
      return `${message.node}: ${message.result.type === "skip" ? message.result.reason : message.result.details} (${message.durationUs} µs) ${message.source}`
    case "policyEvent":
      return `${message.kind}: ${JSON.stringify(message.details)}`
    case "backendCallStart":
      return message.target
    case "backendCallResult":
    case "requestFinished":
      return message.error ?? String(message.status)
  }
}
