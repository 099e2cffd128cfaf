/** OpenAI's moderation endpoint as a request guard. */
import { elements, member, parseJson } from "../../formats/json.ts"
import { failed, type GuardCall, isSuccess, type ManagedVerdict, passed, rejected } from "./verdict.ts"

/** Used where configuration names none. */
export const defaultModerationModel = "omni-moderation-latest"

/** Sends all texts at once. */
export const moderationCall = (texts: ReadonlyArray<string>, model: string = defaultModerationModel): GuardCall => ({
  host: "api.openai.com",
  path: "/v1/moderations",
  body: JSON.stringify({ input: texts, model })
})

/** Rejects when any text was flagged. */
export const readModeration = (status: number, body: string): ManagedVerdict => {
  const results = member(parseJson(body), "results")
  if (!isSuccess(status) || !Array.isArray(results)) return failed
  return elements(results).some((result) => member(result, "flagged") === true) ? rejected : passed
}
