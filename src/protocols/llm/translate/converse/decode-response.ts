/** A Bedrock Converse answer, read. */
import { Result } from "effect"
import { type LlmError, responseUnreadable } from "../../formats/error.ts"
import { type JsonObject, jsonText, objectAt, objectsAt, stringAt } from "../../formats/json.ts"
import type { Exchange } from "../codec.ts"
import type { Reply, ReplyPart } from "../reply.ts"
import { decodeFinish } from "./finish.ts"
import { decodeUsage } from "./usage.ts"

const decodeReasoning = (content: JsonObject): ReadonlyArray<ReplyPart> => {
  const redacted = stringAt(content, "redactedContent")
  if (redacted !== undefined) return [{ type: "redacted", data: redacted }]
  const reasoning = objectAt(content, "reasoningText")
  return reasoning === undefined
    ? []
    : [
        {
          type: "reasoning",
          text: stringAt(reasoning, "text") ?? "",
          signature: stringAt(reasoning, "signature") || undefined
        }
      ]
}

const decodeBlock = (block: JsonObject, exchange: Exchange): ReadonlyArray<ReplyPart> => {
  const text = stringAt(block, "text")
  if (text !== undefined) return [{ type: "text", text }]
  const call = objectAt(block, "toolUse")
  if (call !== undefined) {
    const name = stringAt(call, "name") ?? ""
    return [
      {
        type: "toolCall",
        id: stringAt(call, "toolUseId") ?? "",
        name: exchange.toolNames?.original(name) ?? name,
        arguments: jsonText(call["input"] ?? {}) ?? "{}"
      }
    ]
  }
  const reasoning = objectAt(block, "reasoningContent")
  return reasoning === undefined ? [] : decodeReasoning(reasoning)
}

/** Converse names neither the answer nor the model. */
const idOf = ({ call, rules }: Exchange): string =>
  rules.messageIds ? `msg_${call.now.toString(16)}${call.randomHex(8)}` : `bedrock-${call.now}`

export const decodeResponse = (body: JsonObject, exchange: Exchange): Result.Result<Reply, LlmError> => {
  const message = objectAt(objectAt(body, "output") ?? {}, "message")
  if (message === undefined) return Result.fail(responseUnreadable("missing field: output.message", "output.message"))
  return Result.succeed({
    id: idOf(exchange),
    model: exchange.call.model,
    serviceTier: undefined,
    choices: [
      {
        parts: objectsAt(message, "content").flatMap((block) => decodeBlock(block, exchange)),
        finish: decodeFinish(body["stopReason"])
      }
    ],
    usage: decodeUsage(body["usage"])
  })
}
