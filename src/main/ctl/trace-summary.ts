/** An event of a trace as one line for people. */
import type { McpItem, RuleOutcome, TraceEvent } from "../../../spec/trace-events.ts"
import { printable } from "./printable.ts"
import { eventOf } from "./saved-trace.ts"

/** One line for people: when, how grave, what. An event of a later version is shown as it is. */
export const summary = (json: string): string => {
  const event = eventOf(json)
  if (event._tag === "None") return printable(json)
  const { eventEnd, severity, message } = event.value
  const text = printable(detail(event.value))
  const at = `${(eventEnd / 1000).toFixed(3).padStart(10)} ms`
  return `${at}  ${severity.padEnd(7)}  ${message.type.padEnd(18)} ${text}`.trimEnd()
}

/** What an event says beside its type, after the call that it belongs to, where that is not the one of the backend. */
export const detail = ({ scope, message }: TraceEvent): string =>
  scope === undefined ? said(message) : `${scope.join(" > ")}: ${said(message)}`

const said = (message: TraceEvent["message"]): string => {
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
    case "authorizationResult":
      return `${message.result}${itemText(message.item)}: ${message.rules.map(ruleText).join("; ")}`
    case "llmRouteResolved":
      return `${message.provider}: ${message.routeType}`
    case "llmRequestDetected":
    case "llmStreamingTranslation":
      return `${message.inputFormat} to ${message.provider}${message.upstreamRouteType === null ? "" : ` as ${message.upstreamRouteType}`}`
    case "backendCallStart": {
      const asked = message.call === undefined ? message.target : `${message.call} at ${message.target}`
      return message.by === undefined ? asked : `${asked}, for ${message.by.node}`
    }
    case "backendCallResult": {
      const result = message.error ?? String(message.status)
      return message.call === undefined ? result : `${message.call}: ${result}`
    }
    case "requestFinished":
      return message.error ?? String(message.status)
  }
}

const itemText = (item: McpItem | undefined): string =>
  item === undefined ? "" : ` ${item.kind} ${item.name} of ${item.target} (${item.method})`

const ruleText = ({ mode, name, matched, explanation }: RuleOutcome): string => {
  const cause = explanation?.cause
  const failed = cause === undefined ? "" : `, ${cause.message} (at ${cause.line}:${cause.column})`
  return `${mode} ${name} ${matched ? "holds" : "does not hold"}${failed}`
}
