/** A Gemini answer, read. */
import { Result } from "effect"
import { type LlmError, responseUnreadable } from "../../formats/error.ts"
import { type JsonObject, objectsAt, stringAt } from "../../formats/json.ts"
import type { Exchange } from "../codec.ts"
import type { Choice, Reply, ReplyPart } from "../reply.ts"
import { decodeCandidate, isBlocked } from "./candidate.ts"
import { decodeUsage } from "./usage.ts"

const decodeChoice = (candidate: JsonObject, id: string): Choice => {
  const { text, reasoning, calls, finish } = decodeCandidate(candidate, id, 0)
  const parts: Array<ReplyPart> = []
  if (reasoning !== undefined && reasoning !== "")
    parts.push({ type: "reasoning", text: reasoning, signature: undefined })
  // An answer of calls or thoughts alone has no text; one of nothing has an empty one.
  if (text !== undefined && text !== "") parts.push({ type: "text", text })
  else if (calls.length === 0 && parts.length === 0) parts.push({ type: "text", text: "" })
  for (const call of calls) parts.push({ type: "toolCall", ...call })
  const ended = finish ?? "end"
  return { parts, finish: ended === "end" && calls.length > 0 ? "toolUse" : ended }
}

export const decodeResponse = (body: JsonObject, { call }: Exchange): Result.Result<Reply, LlmError> => {
  if (body["candidates"] !== undefined && !Array.isArray(body["candidates"]))
    return Result.fail(responseUnreadable("invalid field: candidates", "candidates"))
  const id = stringAt(body, "responseId") ?? `vertex-gemini-${call.now}`
  const empty: Choice = { parts: [{ type: "text", text: "" }], finish: isBlocked(body) ? "contentFilter" : "end" }
  const [first = empty, ...rest] = objectsAt(body, "candidates").map((candidate) => decodeChoice(candidate, id))
  return Result.succeed({
    id,
    model: stringAt(body, "modelVersion") ?? call.model,
    serviceTier: undefined,
    choices: [first, ...rest],
    usage: decodeUsage(body["usageMetadata"])
  })
}
