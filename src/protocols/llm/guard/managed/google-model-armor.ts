/** Google Model Armor. It judges and never masks. */
import { elements, isObject, member, parseJson } from "../../formats/json.ts"
import { modelSegment } from "../../providers/model-segment.ts"
import type { GuardPhase } from "../webhook.ts"
import { failed, type GuardCall, isSuccess, type ManagedVerdict, passed, rejected } from "./verdict.ts"

/** Which template. */
export interface ModelArmorTemplate {
  readonly templateId: string
  readonly projectId: string
  /** Default `us-central1`. */
  readonly location?: string
}

/** Sends all texts as one, joined by line feeds. */
export const modelArmorCall = (
  { templateId, projectId, location = "us-central1" }: ModelArmorTemplate,
  phase: GuardPhase,
  texts: ReadonlyArray<string>
): GuardCall => {
  const [project, place, template] = [projectId, location, templateId].map(modelSegment)
  const [method, data] =
    phase === "request" ? ["sanitizeUserPrompt", "user_prompt_data"] : ["sanitizeModelResponse", "model_response_data"]
  return {
    host: `modelarmor.${location}.rep.googleapis.com`,
    path: `/v1/projects/${project}/locations/${place}/templates/${template}:${method}`,
    body: JSON.stringify({ [data!]: { text: texts.join("\n") } })
  }
}

/** The results whose `matchState` counts, where they stand in a filter's entry. */
const filters: ReadonlyArray<ReadonlyArray<string>> = [
  ["raiFilterResult"],
  ["piAndJailbreakFilterResult"],
  ["maliciousUriFilterResult"],
  ["csamFilterResult"],
  ["virusScanFilterResult"],
  ["sdpFilterResult", "inspectResult"],
  ["sdpFilterResult", "deidentifyResult"]
]

const isMatch = (entry: unknown): boolean =>
  filters.some((path) => member(path.reduce(member, entry), "matchState") === "MATCH_FOUND")

/** Rejects when any filter found a match. */
export const readModelArmor = (status: number, body: string): ManagedVerdict => {
  const result = member(parseJson(body), "sanitizationResult")
  if (!isSuccess(status) || !isObject(result)) return failed
  // A map by filter in the REST API, a list in older answers.
  const entries = member(result, "filterResults")
  const list = isObject(entries) ? Object.values(entries) : elements(entries)
  return list.some(isMatch) ? rejected : passed
}
