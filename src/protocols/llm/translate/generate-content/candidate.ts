/** One candidate of a Gemini answer, or of one event of its stream. */
import { type JsonObject, jsonText, numberAt, objectAt, objectsAt, stringAt } from "../../formats/json.ts"
import type { Finish } from "../reply.ts"
import { writeCallId } from "./call-id.ts"

const finishes: ReadonlyMap<unknown, Finish> = new Map<string, Finish>([
  ["MAX_TOKENS", "maxTokens"],
  ["SAFETY", "contentFilter"],
  ["RECITATION", "contentFilter"],
  ["LANGUAGE", "contentFilter"],
  ["BLOCKLIST", "contentFilter"],
  ["PROHIBITED_CONTENT", "contentFilter"],
  ["SPII", "contentFilter"],
  ["UNEXPECTED_TOOL_CALL", "contentFilter"],
  ["TOO_MANY_TOOL_CALLS", "contentFilter"],
  ["IMAGE_SAFETY", "contentFilter"],
  ["IMAGE_PROHIBITED_CONTENT", "contentFilter"],
  ["IMAGE_RECITATION", "contentFilter"]
])

export interface GeminiCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** What a candidate says; `undefined` text or reasoning = none. */
export interface Candidate {
  readonly text: string | undefined
  readonly reasoning: string | undefined
  readonly calls: ReadonlyArray<GeminiCall>
  /** Without regard to tool calls, which Gemini ends like anything else. */
  readonly finish: Finish | undefined
}

/** `firstCall`: how many calls earlier events of the same candidate had. */
export const decodeCandidate = (candidate: JsonObject, responseId: string, firstCall: number): Candidate => {
  let text: string | undefined
  let reasoning: string | undefined
  const calls: Array<GeminiCall> = []
  const number = numberAt(candidate, "index") ?? 0
  for (const part of objectsAt(objectAt(candidate, "content") ?? {}, "parts")) {
    const said = stringAt(part, "text")
    if (said !== undefined) {
      if (part["thought"] === true) reasoning = (reasoning ?? "") + said
      else text = (text ?? "") + said
    }
    const call = objectAt(part, "functionCall")
    if (call === undefined) continue
    const suffix = number > 0 ? `${number}_` : ""
    const base = stringAt(call, "id") ?? `call_${responseId}_${suffix}${firstCall + calls.length}`
    calls.push({
      id: writeCallId(base, stringAt(part, "thoughtSignature")),
      name: stringAt(call, "name") ?? "",
      arguments: jsonText(call["args"] ?? {}) ?? "{}"
    })
  }
  const reason = stringAt(candidate, "finishReason")
  return { text, reasoning, calls, finish: reason === undefined ? undefined : (finishes.get(reason) ?? "end") }
}

/** Whether the prompt itself was blocked, which leaves an answer without candidates. */
export const isBlocked = (body: JsonObject): boolean =>
  stringAt(objectAt(body, "promptFeedback") ?? {}, "blockReason") !== undefined
