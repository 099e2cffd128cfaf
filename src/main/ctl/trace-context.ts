/** What a saved trace knows of its request, as the context of an expression: a snapshot, and the bodies that went with it. */
import { Buffer } from "node:buffer"
import { Option } from "effect"
import type { TraceMessage } from "../../../spec/trace-events.ts"
import type { Phase } from "../../cel/expression.ts"
import { eventOf } from "./saved-trace.ts"

/** Where expressions of a phase stand when the phase is over. */
const stages: Readonly<Record<Phase, string>> = {
  network: "initial request",
  gateway: "gateway policies",
  route: "route policies",
  backend: "final request",
  mcp: "final request",
  llm: "final request",
  response: "backend response ready",
  log: "final response"
}

type Snapshot = Extract<TraceMessage, { readonly type: "requestSnapshot" | "responseSnapshot" }>

const isSnapshot = (message: TraceMessage | undefined): message is Snapshot =>
  message?.type === "requestSnapshot" || message?.type === "responseSnapshot"

/** The first body of the request that the trace tells, and the last one of the response: those that the client saw. */
const bodiesOf = (messages: ReadonlyArray<TraceMessage | undefined>) => {
  const bodies = messages.filter((message) => message?.type === "bodySnapshot")
  return {
    request: bodies.find(({ stage }) => stage.includes("request"))?.body,
    response: bodies.findLast(({ stage }) => stage.includes("response"))?.body
  }
}

const parsed = (base64: string): unknown => {
  try {
    return JSON.parse(Buffer.from(base64, "base64").toString())
  } catch {
    return undefined
  }
}

/**
 * The variables that a trace knows, in the JSON form of a context; a text when it has no such snapshot. Of a request that was stopped
 * early, the last snapshot knows the most.
 * @param phase whose expressions ask.
 * @param event counted from 1: the last snapshot up to it is taken.
 */
export const contextOfTrace = (
  lines: ReadonlyArray<string>,
  phase: Phase | undefined,
  event: number | undefined
): Readonly<Record<string, unknown>> | string => {
  const messages = lines.map((line) => Option.getOrUndefined(eventOf(line))?.message)
  if (event !== undefined && event > lines.length) return `the trace has ${lines.length} events`
  const snapshots = messages.slice(0, event).filter(isSnapshot)
  const wanted = event !== undefined || phase === undefined ? undefined : stages[phase]
  const snapshot = snapshots.findLast(({ stage }) => stage === wanted) ?? snapshots.at(-1)
  if (snapshot === undefined) return "the trace has no snapshot of its request there"
  const { request, response, ...state } = snapshot.requestState
  const bodies = bodiesOf(messages)
  const withBody = (message: object | undefined, base64: string | undefined) =>
    message && { ...message, ...(base64 === undefined ? {} : { body: { base64 }, bodyPrefix: { base64 } }) }
  const model = phase === "llm" && bodies.request !== undefined ? parsed(bodies.request) : undefined
  return Object.fromEntries(
    Object.entries({
      ...state,
      request: withBody(request, bodies.request),
      response: withBody(response, bodies.response),
      llmRequest: model
    }).filter(([, value]) => value !== undefined)
  )
}
