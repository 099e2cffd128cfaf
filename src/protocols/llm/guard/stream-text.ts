/** The visible texts that one event of a streamed answer adds, in the client's format: what streaming guards collect. */
import { elements, member, parseJson, stringMember } from "../formats/json.ts"
import type { GuardedFormat } from "./texts.ts"

/** A piece of text, and which of the answers that come side by side it belongs to. */
export interface StreamedText {
  readonly choice: number
  readonly text: string
}

/** More than any provider offers; all that claim to be further share one, so that a stream cannot make a guard keep more. */
const maxChoices = 128

const choiceOf = (json: unknown, position: number): number => {
  const index = member(json, "index") ?? position
  return typeof index === "number" && Number.isInteger(index) && index >= 0 && index < maxChoices ? index : maxChoices
}

const choices = (list: unknown, textOf: (choice: unknown) => string): ReadonlyArray<StreamedText> =>
  elements(list).map((json, position) => ({ choice: choiceOf(json, position), text: textOf(json) }))

const only = (text: string | undefined): ReadonlyArray<StreamedText> =>
  text === undefined ? [] : [{ choice: 0, text }]

const candidateText = (candidate: unknown): string =>
  elements(member(member(candidate, "content"), "parts"))
    .map((part) => (member(part, "thought") === true ? "" : (stringMember(part, "text") ?? "")))
    .join("")

const formats: Readonly<Record<GuardedFormat, (json: unknown) => ReadonlyArray<StreamedText>>> = {
  completions: (json) =>
    choices(member(json, "choices"), (choice) => stringMember(member(choice, "delta"), "content") ?? ""),
  messages: (json) => only(stringMember(member(json, "delta"), "text")),
  responses: (json) =>
    only(stringMember(json, "type") === "response.output_text.delta" ? stringMember(json, "delta") : undefined),
  generateContent: (json) => choices(member(json, "candidates"), candidateText)
}

/** None, or empty ones, for events without visible text. */
export const streamTexts = (format: GuardedFormat, data: string): ReadonlyArray<StreamedText> =>
  formats[format](parseJson(data))
