/** An Anthropic message, read. */
import { Result } from "effect"
import { type LlmError, responseUnreadable } from "../../formats/error.ts"
import { type JsonObject, jsonText, objectAt, objectsAt, stringAt } from "../../formats/json.ts"
import type { Exchange } from "../codec.ts"
import type { Reply, ReplyPart } from "../reply.ts"
import { decodeFinish } from "./finish.ts"
import { decodeUsage } from "./usage.ts"

/** Redacted thinking, search results and what else there may be say nothing to a client of another format. */
const decodeBlock = (block: JsonObject): ReadonlyArray<ReplyPart> => {
  switch (block["type"]) {
    case "text":
      return [{ type: "text", text: stringAt(block, "text") ?? "" }]
    case "thinking":
      return [{ type: "reasoning", text: stringAt(block, "thinking") ?? "", signature: stringAt(block, "signature") }]
    case "tool_use":
    case "server_tool_use":
      return [
        {
          type: "toolCall",
          id: stringAt(block, "id") ?? "",
          name: stringAt(block, "name") ?? "",
          arguments: jsonText(block["input"] ?? {}) ?? "{}"
        }
      ]
    default:
      return []
  }
}

export const decodeResponse = (body: JsonObject, { call }: Exchange): Result.Result<Reply, LlmError> => {
  if (!Array.isArray(body["content"])) return Result.fail(responseUnreadable("missing field: content", "content"))
  const usage = objectAt(body, "usage")
  return Result.succeed({
    id: stringAt(body, "id") ?? "",
    model: stringAt(body, "model") ?? call.model,
    serviceTier: usage && stringAt(usage, "service_tier"),
    choices: [{ parts: objectsAt(body, "content").flatMap(decodeBlock), finish: decodeFinish(body["stop_reason"]) }],
    usage: decodeUsage(usage)
  })
}
