/** The documented order of the events of a request, and how a trace departs from it. */
import { Result, Schema } from "effect"
import { llmBodyStages, TraceEvent } from "../../../spec/trace-events.ts"

/** Every kind of event in its order. Those of nodes may come several times, all others once. */
const order = [
  "requestStarted",
  "requestSnapshot initial request",
  "policySelection connection",
  "policy connection",
  "policySelection gateway",
  "policy gateway",
  "requestSnapshot gateway policies",
  "routeSelection",
  "policySelection route",
  "policy route",
  "requestSnapshot route policies",
  "policySelection backend",
  "policy backend",
  "requestSnapshot final request",
  "backendCallStart",
  "bodySnapshot final request",
  "backendCallResult",
  "responseSnapshot raw response",
  "policy backendResponse",
  "responseSnapshot backend response ready",
  "policy response",
  "responseSnapshot final response",
  "bodySnapshot response",
  "requestFinished"
]
/** What stages tell by themselves has no place of its own. */
const anywhere: ReadonlySet<string> = new Set([
  "policyEvent",
  "authorizationResult",
  "llmRouteResolved",
  "llmRequestDetected",
  "llmStreamingTranslation",
  // Beside the call, and as long as anything comes of it.
  "policy call",
  ...llmBodyStages.map((stage) => `bodySnapshot ${stage}`)
])
/** What comes again for each attempt at the backend comes behind this. */
const beforeAttempts = order.indexOf("requestSnapshot route policies")

/** What runs once more for the pieces of an answer comes again behind this. */
const whileItPasses = order.indexOf("responseSnapshot final response")

const rank = new Map(order.map((kind, index) => [kind, index]))

const kindOf = ({ message }: TraceEvent): string =>
  "stage" in message
    ? `${message.type} ${message.stage}`
    : "phase" in message
      ? `${message.type} ${message.phase}`
      : message.type

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(TraceEvent), { onExcessProperty: "error" })

/** What is wrong with the events of one request, in their order; empty when they are a trace. */
export const traceProblems = (events: ReadonlyArray<TraceEvent>): ReadonlyArray<string> => {
  const problems: Array<string> = []
  /** Of each scope, how many are under way. */
  const calls = new Map<string, number>()
  let last = -1
  let time = 0
  for (const event of events) {
    const decoded = decode(JSON.stringify(event))
    if (Result.isFailure(decoded)) problems.push(`${event.message.type} is no event: ${decoded.failure.message}`)
    if ((event.eventStart !== null) !== (event.message.type === "backendCallResult"))
      problems.push(`${event.message.type}: eventStart is ${event.eventStart}`)
    if (event.eventEnd < time) problems.push(`${event.message.type} is earlier than the event before it`)
    time = event.eventEnd
    // Calls beside that of the backend come in any number, and each of them ends.
    if (event.scope !== undefined) {
      const whose = event.scope.join(" ")
      const begun = event.message.type === "backendCallStart"
      const open = (calls.get(whose) ?? 0) + (begun ? 1 : -1)
      if (open < 0) problems.push(`${event.message.type} of ${whose} ended what did not begin`)
      calls.set(whose, open)
      continue
    }
    const kind = kindOf(event)
    if (event.message.type === "policyEvent" && event.message.kind === "attempt") last = beforeAttempts
    if (anywhere.has(kind) || (kind === "policy backendResponse" && last >= whileItPasses)) continue
    const place = rank.get(kind)
    if (place === undefined) problems.push(`${kind} has no place in the order`)
    else if (place < last) problems.push(`${kind} came after ${order[last]}`)
    else if (place === last && event.message.type !== "policy") problems.push(`${kind} came twice`)
    last = Math.max(last, place ?? last)
  }
  const kinds = new Set(events.map(kindOf))
  // Over a connection that was refused comes no request.
  const refused = kinds.has("policy connection") && !kinds.has("requestStarted") && kinds.has("requestFinished")
  if (!refused && events[0]?.message.type !== "requestStarted") problems.push("requestStarted is not the first event")
  if (events.at(-1)?.message.type !== "requestFinished") problems.push("requestFinished is not the last event")
  for (const [whose, open] of calls) if (open > 0) problems.push(`a call of ${whose} has no end`)
  if (kinds.has("backendCallStart") !== kinds.has("backendCallResult"))
    problems.push("backendCallStart and backendCallResult do not come together")
  return problems
}
