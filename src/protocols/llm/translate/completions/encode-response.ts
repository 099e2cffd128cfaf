/** An answer as a chat completions body. */
import type { CompletionsChoice, CompletionsResponse, CompletionsToolCall } from "../../formats/completions.ts"
import { defined } from "../../formats/json.ts"
import type { Exchange } from "../codec.ts"
import type { Choice, Reply } from "../reply.ts"
import type { PairRules } from "../rules.ts"
import { encodeFinish } from "./finish.ts"
import { encodeUsage } from "./usage.ts"

const encodeChoice = (choice: Choice, index: number, rules: PairRules): CompletionsChoice => {
  let content: string | null = null
  let reasoning: string | undefined
  let signature: string | undefined
  const calls: Array<CompletionsToolCall> = []
  for (const part of choice.parts) {
    if (part.type === "text") content = (content ?? "") + part.text
    else if (part.type === "reasoning") {
      reasoning = (reasoning ?? "") + part.text
      if (part.signature) signature = part.signature
    } else if (part.type === "redacted") reasoning = `${reasoning ?? ""}[REDACTED]`
    else if (part.type === "toolCall")
      calls.push({ id: part.id, type: "function", function: { name: part.name, arguments: part.arguments } })
  }
  return {
    index,
    message: defined({
      role: "assistant",
      content,
      reasoning_content: reasoning,
      reasoning_signature: rules.reasoningSignature ? signature : undefined,
      tool_calls: calls.length > 0 ? calls : undefined
    }),
    finish_reason: encodeFinish(choice.finish)
  }
}

export const encodeResponse = (reply: Reply, { call, rules }: Exchange): CompletionsResponse =>
  defined({
    id: reply.id,
    object: "chat.completion",
    created: Math.floor(call.now / 1000),
    model: reply.model,
    choices: reply.choices.map((choice, index) => encodeChoice(choice, index, rules)),
    usage: reply.usage && encodeUsage(reply.usage),
    service_tier: reply.serviceTier
  })
