/** Stop reasons of Anthropic messages, both ways. */
import type { MessagesStopReason } from "../../formats/messages.ts"
import type { Finish } from "../reply.ts"

const reasons: { readonly [F in Finish]: MessagesStopReason } = {
  end: "end_turn",
  stopSequence: "stop_sequence",
  pause: "pause_turn",
  toolUse: "tool_use",
  maxTokens: "max_tokens",
  contextWindow: "model_context_window_exceeded",
  refusal: "refusal",
  contentFilter: "refusal"
}

export const encodeFinish = (finish: Finish | undefined): MessagesStopReason => reasons[finish ?? "end"]

const finishes: ReadonlyMap<unknown, Finish> = new Map([
  ["end_turn", "end"],
  ["stop_sequence", "stopSequence"],
  ["pause_turn", "pause"],
  ["tool_use", "toolUse"],
  ["max_tokens", "maxTokens"],
  ["model_context_window_exceeded", "contextWindow"],
  ["refusal", "refusal"]
])

/** `undefined` while there is none; a word that nobody knows is an ordinary end. */
export const decodeFinish = (reason: unknown): Finish | undefined =>
  reason === undefined || reason === null ? undefined : (finishes.get(reason) ?? "end")
