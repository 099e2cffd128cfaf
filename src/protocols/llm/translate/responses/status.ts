/** How an OpenAI response ended, both ways. */
import { type JsonObject, objectAt, stringAt } from "../../formats/json.ts"
import type { ItemStatus, ResponsesResponse, ResponsesStatus } from "../../formats/responses.ts"
import type { Finish } from "../reply.ts"
import type { PairRules } from "../rules.ts"

/** The members of a finished response that say how it ended. */
export type Ending = Pick<ResponsesResponse, "status" | "incomplete_details" | "error"> & {
  readonly status: Exclude<ResponsesStatus, "in_progress">
}

export const encodeEnding = (finish: Finish | undefined, filteredMessage: string): Ending => {
  switch (finish) {
    case "maxTokens":
    case "contextWindow":
      return { status: "incomplete", incomplete_details: { reason: "max_tokens" } }
    case "refusal":
    case "contentFilter":
      return { status: "failed", error: { code: "content_filter", message: filteredMessage } }
    default:
      return { status: "completed" }
  }
}

/** The status of the items in a response that ended so. */
export const itemStatus = (ending: Ending, rules: PairRules): ItemStatus =>
  ending.status !== "completed" && rules.incompleteItems ? "incomplete" : "completed"

/** What made a response end before it was complete. */
export const decodeIncomplete = (response: JsonObject): Finish => {
  const reason = stringAt(objectAt(response, "incomplete_details") ?? {}, "reason") ?? "max"
  if (reason.includes("context")) return "contextWindow"
  return reason.includes("max") || reason.includes("token") ? "maxTokens" : "contentFilter"
}
