/** The wire protocol of guard webhooks: what is posted to `/request` and `/response`, and what may come back. */
import { elements, isObject, member, parseJson, stringMember } from "../formats/json.ts"
import type { ChatMessage } from "./conversation.ts"

/** Whether a guard looks at the prompt or at the answer. */
export type GuardPhase = "request" | "response"

/** Path of the call unless a `:path` header expression gives another. */
export const webhookPath: Readonly<Record<GuardPhase, string>> = { request: "/request", response: "/response" }

/** Milliseconds a call may take unless the target's policies say otherwise; per call. */
export const webhookTimeout = 10_000

/** Body of the call for a request. */
export const webhookRequest = (messages: ReadonlyArray<ChatMessage>): string =>
  JSON.stringify({ body: { messages: messages.map(({ role, content }) => ({ role, content })) } })

/** Body of the call for a response: one choice per text, all of the assistant. */
export const webhookResponse = (texts: ReadonlyArray<string>): string =>
  JSON.stringify({ body: { choices: texts.map((content) => ({ message: { role: "assistant", content } })) } })

/** What a webhook decided. A mask of a request is a conversation, a mask of a response one text per choice. */
export type WebhookReply =
  | { readonly type: "pass"; readonly reason: string | undefined }
  | { readonly type: "maskRequest"; readonly messages: ReadonlyArray<ChatMessage>; readonly reason: string | undefined }
  | { readonly type: "maskResponse"; readonly texts: ReadonlyArray<string>; readonly reason: string | undefined }
  | { readonly type: "reject"; readonly status: number; readonly body: string; readonly reason: string | undefined }
  /** No reply of this protocol; `wrongKind`: a mask for the other phase, which not even failing open forgives. */
  | { readonly type: "failed"; readonly wrongKind: boolean }

const failed = { type: "failed", wrongKind: false } as const
const wrongKind = { type: "failed", wrongKind: true } as const

const messageOf = (value: unknown): ChatMessage | undefined => {
  const role = stringMember(value, "role")
  const content = stringMember(value, "content")
  return role === undefined || content === undefined ? undefined : { role, content }
}

const all = <A>(items: ReadonlyArray<A | undefined>): ReadonlyArray<A> | undefined => {
  const present = items.filter((item) => item !== undefined)
  return present.length === items.length ? present : undefined
}

const maskRequest = (messages: unknown, reason: string | undefined): WebhookReply => {
  const read = Array.isArray(messages) ? all(elements(messages).map(messageOf)) : undefined
  return read === undefined ? failed : { type: "maskRequest", messages: read, reason }
}

const maskResponse = (choices: unknown, reason: string | undefined): WebhookReply => {
  const contents = elements(choices).map((choice) => stringMember(member(choice, "message"), "content"))
  const read = Array.isArray(choices) ? all(contents) : undefined
  return read === undefined ? failed : { type: "maskResponse", texts: read, reason }
}

/** Reads a reply, whatever HTTP status it came with: told apart by shape, mask before reject before pass. */
export const readWebhookReply = (phase: GuardPhase, text: string): WebhookReply => {
  const action = member(parseJson(text), "action")
  if (!isObject(action)) return failed
  const reason = stringMember(action, "reason")
  const body = member(action, "body")
  const messages = member(body, "messages")
  const choices = member(body, "choices")
  const [own, other] = phase === "request" ? [messages, choices] : [choices, messages]
  if (own !== undefined) return phase === "request" ? maskRequest(own, reason) : maskResponse(own, reason)
  if (other !== undefined) return wrongKind
  const status = member(action, "status_code")
  if (typeof body !== "string" || typeof status !== "number" || !Number.isInteger(status))
    return { type: "pass", reason }
  // A status that no answer can have is no decision to let the content pass.
  return status >= 200 && status <= 599 ? { type: "reject", status, body, reason } : failed
}
