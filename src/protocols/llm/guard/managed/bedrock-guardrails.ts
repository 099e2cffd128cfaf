/** Guardrails of Amazon Bedrock, applied to texts outside of a model call. */
import { elements, isObject, member, parseJson, stringMember } from "../../formats/json.ts"
import { modelSegment } from "../../providers/model-segment.ts"
import type { GuardPhase } from "../webhook.ts"
import { failed, type GuardCall, isSuccess, type ManagedVerdict, passed, rejected } from "./verdict.ts"

/** Which guardrail, in which version and region. */
export interface BedrockGuardrail {
  readonly guardrailIdentifier: string
  readonly guardrailVersion: string
  readonly region: string
}

/** The call, to be signed for service `bedrock`; `undefined` when there is nothing to look at, which passes. */
export const guardrailCall = (
  guardrail: BedrockGuardrail,
  phase: GuardPhase,
  texts: ReadonlyArray<string>
): GuardCall | undefined => {
  if (texts.length === 0) return undefined
  const [id, version] = [guardrail.guardrailIdentifier, guardrail.guardrailVersion].map(modelSegment)
  return {
    host: `bedrock-runtime.${guardrail.region}.amazonaws.com`,
    path: `/guardrail/${id}/version/${version}/apply`,
    body: JSON.stringify({
      source: phase === "request" ? "INPUT" : "OUTPUT",
      content: texts.map((text) => ({ text: { text } }))
    })
  }
}

const maxDepth = 32

/** The actions that the assessments name. What is nested beyond reach counts as the worst of them. */
const actionsOf = (value: unknown, actions: Set<string>, depth: number): void => {
  if (depth > maxDepth) actions.add("BLOCKED")
  else if (Array.isArray(value)) for (const item of value) actionsOf(item, actions, depth + 1)
  else if (isObject(value))
    for (const [key, inner] of Object.entries(value))
      if (key === "action" && typeof inner === "string") actions.add(inner)
      else actionsOf(inner, actions, depth + 1)
}

/** An intervention that only anonymised is a mask, if there is an output for each of the `sent` texts; any other is a rejection. */
export const readGuardrail = (status: number, body: string, sent: number): ManagedVerdict => {
  const reply = parseJson(body)
  const action = stringMember(reply, "action")
  if (!isSuccess(status) || action === undefined) return failed
  if (action !== "GUARDRAIL_INTERVENED") return passed
  const actions = new Set<string>()
  actionsOf(member(reply, "assessments"), actions, 0)
  const texts = elements(member(reply, "outputs")).flatMap((output) => stringMember(output, "text") ?? [])
  return actions.has("ANONYMIZED") && !actions.has("BLOCKED") && texts.length === sent
    ? { type: "mask", texts }
    : rejected
}
