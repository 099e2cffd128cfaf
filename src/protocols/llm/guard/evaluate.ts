/** Guards applied to a body: from what a regex guard or a webhook's reply says to a finding. */
import type { JsonObject } from "../formats/json.ts"
import { withChoices } from "./choices.ts"
import { withConversation } from "./conversation.ts"
import type { ManagedVerdict } from "./managed/verdict.ts"
import type { Finding, GuardAnswer } from "./outcome.ts"
import type { RegexGuard } from "./regex-guard.ts"
import type { ContentScope, Rewrite } from "./text-walk.ts"
import { type GuardedFormat, rewriteRequest, rewriteResponse, TextTooDeep } from "./texts.ts"
import type { GuardPhase, WebhookReply } from "./webhook.ts"

const pass: Finding = { type: "pass" }
const failed: Finding = { type: "failed", fatal: false }
const fatal: Finding = { type: "failed", fatal: true }

const rewrite = (
  phase: GuardPhase,
  format: GuardedFormat,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>,
  change: Rewrite
) => (phase === "request" ? rewriteRequest(format, body, scopes, change) : rewriteResponse(format, body, change))

/** A regex guard over the texts of a body. `scopes` limits requests; an answer is one scope. */
export const applyRegexGuard = (
  guard: RegexGuard,
  action: "mask" | "reject",
  rejection: GuardAnswer,
  phase: GuardPhase,
  format: GuardedFormat,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>
): Finding => {
  let incomplete = false
  let found = false
  const masked = rewrite(phase, format, body, scopes, (text) => {
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
  })
  if (found) return { type: "reject", answer: rejection }
  if (incomplete || masked instanceof TextTooDeep) return failed
  return masked === body ? pass : { type: "mask", body: masked }
}

/** A webhook's reply applied to the body that it was asked about. A rejection is sent exactly as the webhook worded it. */
export const applyWebhookReply = (reply: WebhookReply, format: GuardedFormat, body: JsonObject): Finding => {
  switch (reply.type) {
    case "pass":
      return pass
    case "failed":
      return reply.wrongKind ? fatal : failed
    case "reject":
      return { type: "reject", answer: { status: reply.status, body: reply.body, headers: [] } }
    case "maskRequest":
      return { type: "mask", body: withConversation(format, body, reply.messages) }
    case "maskResponse": {
      const masked = withChoices(format, body, reply.texts)
      return masked === undefined ? fatal : { type: "mask", body: masked }
    }
  }
}

/** A managed guard's verdict on texts that `rewriteRequest` or `rewriteResponse` showed, in that order: its mask goes back the same way. */
export const applyManagedVerdict = (
  verdict: ManagedVerdict,
  rejection: GuardAnswer,
  phase: GuardPhase,
  format: GuardedFormat,
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
      const masked = rewrite(phase, format, body, scopes, (text) => verdict.texts[next++] ?? text)
      return masked instanceof TextTooDeep ? failed : { type: "mask", body: masked }
    }
  }
}

/** The texts of a body in the scopes, in document order; too deeply nested ones fail. What managed guards with masks are sent. */
export const textsOf = (
  phase: GuardPhase,
  format: GuardedFormat,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope>
): ReadonlyArray<string> | TextTooDeep => {
  const texts: Array<string> = []
  const walked = rewrite(phase, format, body, scopes, (text) => {
    texts.push(text)
    return text
  })
  return walked instanceof TextTooDeep ? walked : texts
}
