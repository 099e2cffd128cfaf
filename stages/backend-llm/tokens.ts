/** How many tokens a request has: counted as its model does, or told from the size of its texts. */
import { Effect, Exit } from "effect"
import type { StageError } from "../../src/policy/policy.ts"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import { conversationOf } from "../../src/protocols/llm/guard/conversation.ts"
import { everyScope, type GuardedFormat, rewriteRequest } from "../../src/protocols/llm/guard/texts.ts"
import { chatTokens } from "../../src/protocols/llm/tokens/chat.ts"
import { encodingOf } from "../../src/protocols/llm/tokens/encoding.ts"
import { estimateTokens } from "../../src/protocols/llm/tokens/estimate.ts"
import type { Engine } from "./engine.ts"
import { invalid, LlmFailed } from "./refused.ts"

/** The exact count of a conversation's tokens. */
export const counted = (
  { tokenizer }: Pick<Engine, "tokenizer">,
  format: GuardedFormat,
  model: string,
  body: JsonObject
): Effect.Effect<number, StageError> => {
  const encoding = encodingOf(model)
  if (encoding === undefined) return Exit.fail(invalid(`unsupported model: ${model}`))
  const messages = conversationOf(format, body)
  return Effect.mapBothEager(
    tokenizer.count(
      encoding,
      messages.map(({ content }) => content)
    ),
    {
      onSuccess: (tokens) => chatTokens(messages.length, tokens),
      onFailure: ({ message }) =>
        new LlmFailed({ side: "request", status: 503, detail: message, reason: "UpstreamFailure" })
    }
  )
}

/** By the size of the texts; of the whole body where its format is not known. */
export const estimated = (format: GuardedFormat | undefined, json: JsonObject): number => {
  if (format === undefined) return estimateTokens([JSON.stringify(json)])
  const texts: Array<string> = []
  rewriteRequest(format, json, everyScope, (text) => {
    texts.push(text)
    return text
  })
  return estimateTokens(texts)
}
