/** Guards behind HTTP: the prompt or the answer is posted to a server, which lets it pass, masks it or refuses it. */
import { Effect, Result, type Scope } from "effect"
import {
  CelError,
  type ConfigPath,
  type ConfigProblem,
  compileExpression,
  type Expression,
  HeaderList,
  isHeaderName,
  isHeaderValue,
  type PromptGuard,
  toText,
  unavailable
} from "../../src/policy/policy.ts"
import { SubCalls } from "../../src/policy/terminal.ts"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import { shownChoices } from "../../src/protocols/llm/guard/choices.ts"
import { shownConversation } from "../../src/protocols/llm/guard/conversation.ts"
import { applyWebhookReply } from "../../src/protocols/llm/guard/evaluate.ts"
import type { Finding } from "../../src/protocols/llm/guard/outcome.ts"
import { type Document, type GuardedFormat, TextUnreadable } from "../../src/protocols/llm/guard/texts.ts"
import {
  type GuardPhase,
  readWebhookReply,
  webhookPath,
  webhookRequest,
  webhookResponse,
  webhookTimeout
} from "../../src/protocols/llm/guard/webhook.ts"
import type { Evaluate } from "./guards.ts"

export type WebhookNeeds = SubCalls | Scope.Scope
type WebhookConfig = NonNullable<NonNullable<PromptGuard["request"]>[number]["webhook"]>

const failed: Finding = { type: "failed", fatal: false }
/** What a sender could do on purpose is not forgiven. */
const unreadable: Finding = { type: "failed", fatal: true }

/** What the webhook is posted. */
const contentOf = (document: Document, format: GuardedFormat, body: JsonObject): string | undefined => {
  if (document === "request") {
    const shown = shownConversation(format, body)
    return shown instanceof TextUnreadable ? undefined : webhookRequest(shown)
  }
  const shown = shownChoices(format, document, body)
  return shown instanceof TextUnreadable ? undefined : webhookResponse(shown)
}

/**
 * Compiles the call of a webhook. Its time limit holds for each call by itself.
 * @param at where a part of the guard stands. Problems carry whole paths.
 */
export const compileWebhook = (
  phase: GuardPhase,
  { target, headers = {}, forwardHeaderMatches }: WebhookConfig,
  at: (part: ConfigPath) => ConfigPath
): Effect.Effect<Evaluate, ReadonlyArray<ConfigProblem>, WebhookNeeds> =>
  Effect.gen(function* () {
    const problems: Array<ConfigProblem> = []
    if (forwardHeaderMatches !== undefined)
      problems.push(unavailable(at(["webhook", "forwardHeaderMatches"]), "forwardHeaderMatches"))
    const computed: Array<readonly [name: string, value: Expression]> = []
    for (const [name, source] of Object.entries(headers)) {
      const path = at(["webhook", "headers", name])
      if (!name.startsWith(":") && !isHeaderName(name)) problems.push({ path, message: "expected a header name" })
      const compiled = yield* Effect.result(compileExpression(source, "llm", path))
      if (Result.isSuccess(compiled)) computed.push([name.toLowerCase(), compiled.success])
      else problems.push(...compiled.failure)
    }
    const resolved = yield* Effect.result(
      (yield* SubCalls).resolve(target, at(["webhook", "target"]), { purpose: "guardrail" })
    )
    if (Result.isFailure(resolved)) return yield* Effect.fail([...problems, ...resolved.failure])
    if (problems.length > 0) return yield* Effect.fail(problems)

    const server = resolved.success
    return (x, format, document, body) => {
      const content = contentOf(document, format, body)
      if (content === undefined) return Effect.succeed(unreadable)
      let pathAndQuery = webhookPath[phase]
      let method = "POST"
      let authority: string | undefined
      const list = new HeaderList(["content-type", "application/json"])
      for (const [name, expression] of computed) {
        const value = expression.evaluate(x.variables)
        // What cannot be evaluated is left out; the path then stays the usual one.
        if (value instanceof CelError) continue
        const text = toText(value)
        if (!isHeaderValue(text)) continue
        if (name === ":path") pathAndQuery = text.startsWith("/") ? text : pathAndQuery
        else if (name === ":method") method = text
        else if (name === ":authority") authority = text
        else list.set(name, text)
      }
      return server.ask(x, { method, pathAndQuery, authority, headers: list, body: content }, webhookTimeout).pipe(
        Effect.map((reply) =>
          applyWebhookReply(readWebhookReply(phase, new TextDecoder().decode(reply.body)), format, document, body)
        ),
        Effect.catch(() => Effect.succeed(failed))
      )
    }
  })
