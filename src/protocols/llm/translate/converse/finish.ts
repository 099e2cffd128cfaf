/** Stop reasons of Bedrock Converse. */
import type { Finish } from "../reply.ts"

const finishes: ReadonlyMap<unknown, Finish> = new Map([
  ["end_turn", "end"],
  ["stop_sequence", "stopSequence"],
  ["tool_use", "toolUse"],
  ["max_tokens", "maxTokens"],
  ["model_context_window_exceeded", "contextWindow"],
  ["content_filtered", "contentFilter"],
  ["guardrail_intervened", "contentFilter"]
])

/** `undefined` while there is none; a word that nobody knows is an ordinary end. */
export const decodeFinish = (reason: unknown): Finish | undefined =>
  reason === undefined || reason === null ? undefined : (finishes.get(reason) ?? "end")
