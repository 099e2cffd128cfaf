/** Finish reasons of chat completions, both ways. */
import type { CompletionsFinishReason } from "../../formats/completions.ts"
import type { Finish } from "../reply.ts"

const reasons: { readonly [F in Finish]: CompletionsFinishReason } = {
  end: "stop",
  stopSequence: "stop",
  pause: "stop",
  toolUse: "tool_calls",
  maxTokens: "length",
  contextWindow: "length",
  refusal: "content_filter",
  contentFilter: "content_filter"
}

export const encodeFinish = (finish: Finish | undefined): CompletionsFinishReason => reasons[finish ?? "end"]

const finishes: ReadonlyMap<unknown, Finish> = new Map([
  ["stop", "end"],
  ["tool_calls", "toolUse"],
  ["function_call", "toolUse"],
  ["length", "maxTokens"],
  ["content_filter", "contentFilter"]
])

/** `undefined` while there is none; a word that nobody knows is an ordinary end. */
export const decodeFinish = (reason: unknown): Finish | undefined =>
  reason === undefined || reason === null ? undefined : (finishes.get(reason) ?? "end")
