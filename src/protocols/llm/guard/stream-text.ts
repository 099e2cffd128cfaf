/** The visible text that one event of a streamed answer adds, in the client's format: what streaming guards collect. */
import { elements, member, parseJson, stringMember } from "../models/json.ts"
import type { GuardedFormat } from "./texts.ts"

type TextOf = (json: unknown) => string

const candidateText = (candidate: unknown): string =>
  elements(member(member(candidate, "content"), "parts"))
    .map((part) => (member(part, "thought") === true ? "" : (stringMember(part, "text") ?? "")))
    .join("")

const formats: Readonly<Record<GuardedFormat, TextOf>> = {
  completions: (json) => stringMember(member(elements(member(json, "choices"))[0], "delta"), "content") ?? "",
  messages: (json) => stringMember(member(json, "delta"), "text") ?? "",
  responses: (json) =>
    stringMember(json, "type") === "response.output_text.delta" ? (stringMember(json, "delta") ?? "") : "",
  generateContent: (json) => elements(member(json, "candidates")).map(candidateText).join("")
}

/** Empty for events without visible text. */
export const streamText = (format: GuardedFormat, data: string): string => formats[format](parseJson(data))
