/** A chat completions answer, read. */
import { Result } from "effect"
import { type LlmError, responseUnreadable } from "../../formats/error.ts"
import { isObject, type JsonObject, objectAt, objectsAt, stringAt } from "../../formats/json.ts"
import type { Exchange } from "../codec.ts"
import type { Choice, Reply, ReplyPart } from "../reply.ts"
import { decodeFinish } from "./finish.ts"
import { decodeUsage } from "./usage.ts"

/** The visible text. Some servers of this API answer with a list of parts. */
const decodeText = (message: JsonObject): string | undefined => {
  const { content } = message
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return stringAt(message, "refusal")
  const texts = content.flatMap((part) =>
    isObject(part) && part["type"] === "text" ? (stringAt(part, "text") ?? []) : []
  )
  return texts.length > 0 ? texts.join("") : undefined
}

const decodeChoice = (choice: JsonObject): Choice => {
  const message = objectAt(choice, "message") ?? {}
  const parts: Array<ReplyPart> = []
  const text = decodeText(message)
  if (text !== undefined) parts.push({ type: "text", text })
  for (const call of objectsAt(message, "tool_calls")) {
    const called = objectAt(call, "function")
    if (called === undefined) continue
    parts.push({
      type: "toolCall",
      id: stringAt(call, "id") ?? "",
      name: stringAt(called, "name") ?? "",
      arguments: stringAt(called, "arguments") || "{}"
    })
  }
  const refused = typeof message["content"] !== "string" && typeof message["refusal"] === "string"
  const finish = decodeFinish(choice["finish_reason"])
  return { parts, finish: refused && finish === "end" ? "refusal" : finish }
}

export const decodeResponse = (body: JsonObject, { call }: Exchange): Result.Result<Reply, LlmError> => {
  const [first, ...rest] = objectsAt(body, "choices").map(decodeChoice)
  if (first === undefined) return Result.fail(responseUnreadable("no choices in response", "choices"))
  return Result.succeed({
    id: stringAt(body, "id") ?? "",
    model: stringAt(body, "model") ?? call.model,
    serviceTier: stringAt(body, "service_tier"),
    choices: [first, ...rest],
    usage: decodeUsage(body["usage"])
  })
}
