/** Guards applied to a body: from what a regex guard or a webhook's reply says to a finding. */
import type { JsonObject } from "../formats/json.ts"
import type { ContentScope } from "./assignment.ts"
import { withShownChoices } from "./choices.ts"
import { withShown } from "./conversation.ts"
import type { ManagedVerdict } from "./managed/verdict.ts"
import type { Finding, GuardAnswer } from "./outcome.ts"
import type { RegexGuard } from "./regex-guard.ts"
import { type Document, type GuardedFormat, rewriteTexts, TextUnreadable } from "./texts.ts"
import type { WebhookReply } from "./webhook.ts"

const pass: Finding = { type: "pass" }
const failed: Finding = { type: "failed", fatal: false }
const fatal: Finding = { type: "failed", fatal: true }

/** A regex guard over the texts of a body. */
export const applyRegexGuard = (
  guard: RegexGuard,
  action: "mask" | "reject",
  rejection: GuardAnswer,
  format: GuardedFormat,
  document: Document,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>
): Finding => {
  let incomplete = false
  let found = false
  const look = (text: string): string => {
    if (action === "mask") {
      const after = guard.mask(text)
      incomplete ||= after === undefined
      return after ?? text
    }
    // The first hit decides; the rest of the body need not be searched.
    if (!found) {
      const hit = guard.rejects(text)
      incomplete ||= hit === undefined
      found = hit === true
    }
    return text
  }
  const masked = rewriteTexts(format, document, body, scopes, look, "search")
  if (found) return { type: "reject", answer: rejection }
  if (incomplete || masked instanceof TextUnreadable) return failed
  return masked === body ? pass : { type: "mask", body: masked }
}

/** A webhook's reply applied to the body that it was asked about. A rejection is sent exactly as the webhook worded it. */
export const applyWebhookReply = (
  reply: WebhookReply,
  format: GuardedFormat,
  document: Document,
  body: JsonObject
): Finding => {
  switch (reply.type) {
    case "pass":
      return pass
    case "failed":
      return reply.wrongKind ? fatal : failed
    case "reject":
      return { type: "reject", answer: { status: reply.status, body: reply.body, headers: [] } }
    case "maskRequest": {
      const masked = withShown(format, body, reply.messages)
      return masked === undefined ? fatal : { type: "mask", body: masked }
    }
    case "maskResponse": {
      const masked = withShownChoices(format, document, body, reply.texts)
      return masked === undefined ? fatal : { type: "mask", body: masked }
    }
  }
}

/** A managed guard's verdict on the texts that `textsOf` gave, in that order: its mask goes back the same way. */
export const applyManagedVerdict = (
  verdict: ManagedVerdict,
  rejection: GuardAnswer,
  format: GuardedFormat,
  document: Document,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>
): Finding => {
  switch (verdict.type) {
    case "pass":
      return pass
    case "failed":
      return failed
    case "reject":
      return { type: "reject", answer: rejection }
    case "mask": {
      let next = 0
      const masked = rewriteTexts(format, document, body, scopes, (text) => verdict.texts[next++] ?? text)
      return masked instanceof TextUnreadable ? failed : { type: "mask", body: masked }
    }
  }
}

/** The texts of a body in the scopes, in document order; too deeply nested ones fail. What managed guards with masks are sent. */
export const textsOf = (
  format: GuardedFormat,
  document: Document,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>
): ReadonlyArray<string> | TextUnreadable => {
  const texts: Array<string> = []
  const walked = rewriteTexts(format, document, body, scopes, (text) => {
    texts.push(text)
    return text
  })
  return walked instanceof TextUnreadable ? walked : texts
}
