/** What the mock makes of a chat request, whichever API asked: the same words, counts and times for completions and responses. */

import type { JsonObject } from "../formats/json.ts"
import { conversationOf } from "../guard/conversation.ts"
import { estimateTokens } from "../tokens/estimate.ts"
import { hash, hex } from "./random.ts"
import type { MockSettings } from "./settings.ts"
import { generate } from "./text.ts"

/** The words, and when they are there. */
export interface MockAnswer {
  /** Eight hexadecimal digits that depend on the request. */
  readonly id: string
  readonly model: string
  readonly tokens: ReadonlyArray<string>
  readonly text: string
  /** The client's limit ended it. */
  readonly cut: boolean
  readonly promptTokens: number
  /** When the n-th token is there, counted from 0; the answer is complete with the last one. */
  readonly tokenAt: (index: number) => number
  readonly endsAt: number
}

const limitOf = (body: JsonObject): number | undefined => {
  for (const key of ["max_completion_tokens", "max_output_tokens", "max_tokens"]) {
    const limit = body[key]
    if (typeof limit === "number" && limit >= 0) return Math.floor(limit)
  }
  return undefined
}

/** The answer to a chat request in either format. */
export const answer = (settings: MockSettings, format: "completions" | "responses", body: JsonObject): MockAnswer => {
  const model = typeof body["model"] === "string" ? body["model"] : "mock"
  const conversation = conversationOf(format, body)
  const seed = hash(JSON.stringify([model, conversation]), settings.seed)
  const { tokens, cut } = generate(seed, limitOf(body))
  const perToken = settings.tokensPerSecond > 0 ? 1000 / settings.tokensPerSecond : 0
  const tokenAt = (index: number) => settings.latencyMs + Math.max(0, index + 1) * perToken
  return {
    id: hex(seed),
    model,
    tokens,
    text: tokens.join(""),
    cut,
    promptTokens: estimateTokens(conversation.map(({ content }) => content)),
    tokenAt,
    endsAt: tokenAt(tokens.length - 1)
  }
}
