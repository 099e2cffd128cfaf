/** Which text of a request or an answer a guard sees, by format, and how a changed text gets back into place. */
import { Data } from "effect"
import type { JsonObject } from "../formats/json.ts"
import { type ContentScope, contentScopes, type Rewrite, TextWalk } from "./text-walk.ts"
import { completionsRequest, completionsResponse } from "./texts-completions.ts"
import { geminiRequest, geminiResponse } from "./texts-gemini.ts"
import { messagesRequest, messagesResponse } from "./texts-messages.ts"
import { responsesRequest, responsesResponse } from "./texts-responses.ts"

/** The formats that guards understand. Requests of other formats are not guarded. */
export const guardedFormats = ["completions", "messages", "responses", "generateContent"] as const
export type GuardedFormat = (typeof guardedFormats)[number]

/** The body nests tool traffic deeper than is looked at: a guard that must see all of it fails. */
export class TextTooDeep extends Data.TaggedError("TextTooDeep") {
  readonly status = 400
  readonly source = "client"
  readonly retryable = false
  override get message() {
    return "tool traffic is nested too deeply to be guarded"
  }
}

type Walk = (walk: TextWalk, body: JsonObject) => JsonObject

const requests: Readonly<Record<GuardedFormat, Walk>> = {
  completions: completionsRequest,
  messages: messagesRequest,
  responses: responsesRequest,
  generateContent: geminiRequest
}
const responses: Readonly<Record<GuardedFormat, Walk>> = {
  completions: completionsResponse,
  messages: messagesResponse,
  responses: responsesResponse,
  generateContent: geminiResponse
}

const everything: ReadonlySet<ContentScope> = new Set(contentScopes)

const run = (walkBody: Walk, body: JsonObject, scopes: ReadonlySet<ContentScope>, rewrite: Rewrite) => {
  const walk = new TextWalk(rewrite, scopes)
  const changed = walkBody(walk, body)
  return walk.tooDeep ? new TextTooDeep() : changed
}

/** Offers every text of the scopes to `rewrite`, in document order. The very same body when nothing changed. */
export const rewriteRequest = (
  format: GuardedFormat,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>,
  rewrite: Rewrite
): JsonObject | TextTooDeep => run(requests[format], body, scopes, rewrite)

/** The same for the text of an answer in the client's format; there is one scope in it. */
export const rewriteResponse = (format: GuardedFormat, body: JsonObject, rewrite: Rewrite): JsonObject | TextTooDeep =>
  run(responses[format], body, everything, rewrite)
