/** Which text of a request or an answer a guard sees, by format, and how a changed text gets back into place. */
import { Data } from "effect"
import type { JsonObject } from "../formats/json.ts"
import { completions } from "./assigned/completions.ts"
import { generateContent } from "./assigned/generate-content.ts"
import { messages } from "./assigned/messages.ts"
import { responses } from "./assigned/responses.ts"
import { type Assignments, type ContentScope, compileAssignments, contentScopes, type Place } from "./assignment.ts"
import { type Reading, type Rewrite, TextWalk } from "./text-walk.ts"

/** The formats that guards understand. Requests of other formats are not guarded. */
export const guardedFormats = ["completions", "messages", "responses", "generateContent"] as const
export type GuardedFormat = (typeof guardedFormats)[number]

/** What guards read: a prompt, a whole answer, one event of a streamed answer, the provider's refusal. */
export const documents = ["request", "answer", "event", "error"] as const
export type Document = (typeof documents)[number]

/** Every string of every document has its place here; a format or a document without an entry does not compile. */
export const assigned: Readonly<Record<GuardedFormat, Readonly<Record<Document, Assignments>>>> = {
  completions,
  messages,
  responses,
  generateContent
}

const compiled = (format: GuardedFormat): Readonly<Record<Document, Place>> => {
  const { request, answer, event, error } = assigned[format]
  return {
    request: compileAssignments(request),
    answer: compileAssignments(answer),
    event: compileAssignments(event),
    error: compileAssignments(error)
  }
}

let known: Readonly<Record<GuardedFormat, Readonly<Record<Document, Place>>>> | undefined

/** Compiled once, with the first configuration that has models: others do not wait for it. */
export const places = (): Readonly<Record<GuardedFormat, Readonly<Record<Document, Place>>>> => {
  known ??= {
    completions: compiled("completions"),
    messages: compiled("messages"),
    responses: compiled("responses"),
    generateContent: compiled("generateContent")
  }
  return known
}

/** Not all of a body can be looked at, or not all of it can be taken out: a guard that must see all of it fails. */
export class TextUnreadable extends Data.TaggedError("TextUnreadable")<{ readonly message: string }> {
  readonly status = 400
  readonly source = "client"
}

const tooDeep = new TextUnreadable({ message: "the conversation is nested too deeply to be guarded" })
const unplaceable = new TextUnreadable({ message: "what was found cannot be taken out" })

export const everyScope: ReadonlySet<ContentScope> = new Set(contentScopes)

/** Offers every text of the scopes to `rewrite`, in document order. The very same body when nothing changed. */
export const rewriteTexts = (
  format: GuardedFormat,
  document: Document,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>,
  rewrite: Rewrite,
  reading: Reading = "slots"
): JsonObject | TextUnreadable => {
  const walk = new TextWalk(rewrite, scopes, reading)
  const changed = walk.body(places()[format][document], body)
  return walk.tooDeep ? tooDeep : walk.unplaceable ? unplaceable : changed
}

/** The same for a prompt. */
export const rewriteRequest = (
  format: GuardedFormat,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>,
  rewrite: Rewrite
): JsonObject | TextUnreadable => rewriteTexts(format, "request", body, scopes, rewrite)
