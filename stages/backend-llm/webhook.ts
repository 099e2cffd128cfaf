/** Guards behind HTTP: the prompt or the answer is posted to a server, which lets it pass, masks it or refuses it. */
import { Effect, Result, type Scope } from "effect"
import {
  CelError,
  type ConfigProblem,
  compileExpression,
  compileHeaderChanges,
  type Expression,
  HeaderList,
  isHeaderName,
  isHeaderValue,
  type PromptGuard,
  read,
  toText,
  unavailable
} from "../../src/policy/policy.ts"
import { callTimeout, defaultBodyLimit, formatAddress, Upstreams } from "../../src/policy/terminal.ts"
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

export type WebhookNeeds = Upstreams | Scope.Scope
type WebhookConfig = NonNullable<NonNullable<PromptGuard["request"]>[number]["webhook"]>

/** The policies of a target that are applied. */
const applied = new Set(["http", "tcp", "requestHeaderModifier"])

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

/** Compiles the call of a webhook. Its time limit holds for each call by itself. */
export const compileWebhook = (
  phase: GuardPhase,
  { target, headers = {}, forwardHeaderMatches }: WebhookConfig
): Effect.Effect<Evaluate, ReadonlyArray<ConfigProblem>, WebhookNeeds> =>
  Effect.gen(function* () {
    const problems: Array<ConfigProblem> = []
    const lacks = (path: ConfigProblem["path"], what: string) => problems.push(unavailable(path, what))
    const { host, policies = {} } = target
    if (host === undefined) lacks(["webhook", "target"], "a target other than host")
    const inPolicies = ["webhook", "target", "policies"]
    for (const key of Object.keys(policies)) if (!applied.has(key)) lacks([...inPolicies, key], key)
    if (policies.http?.version !== undefined) lacks([...inPolicies, "http", "version"], "version")
    if (policies.tcp?.keepalives !== undefined) lacks([...inPolicies, "tcp", "keepalives"], "keepalives")
    if (forwardHeaderMatches !== undefined) lacks(["webhook", "forwardHeaderMatches"], "forwardHeaderMatches")
    const changes = compileHeaderChanges(policies.requestHeaderModifier ?? {})
    if ("problems" in changes)
      for (const { path, message } of changes.problems)
        problems.push({ path: [...inPolicies, "requestHeaderModifier", ...path], message })

    const computed: Array<readonly [name: string, value: Expression]> = []
    for (const [name, source] of Object.entries(headers)) {
      const path = ["webhook", "headers", name]
      if (!name.startsWith(":") && !isHeaderName(name)) problems.push({ path, message: "expected a header name" })
      const compiled = yield* Effect.result(compileExpression(source, "llm", path))
      if (Result.isSuccess(compiled)) computed.push([name.toLowerCase(), compiled.success])
      else problems.push(...compiled.failure)
    }
    if (problems.length > 0 || host === undefined || "problems" in changes) return yield* Effect.fail(problems)

    const upstream = yield* (yield* Upstreams).open(host, { connectTimeout: policies.tcp?.connectTimeout })
    const own = host.kind === "unix" ? "localhost" : formatAddress({ ...host, tls: false })
    const timeout = policies.http?.requestTimeout ?? webhookTimeout
    return (x, format, document, body) => {
      const content = contentOf(document, format, body)
      if (content === undefined) return Effect.succeed(unreadable)
      let path = webhookPath[phase]
      let method = "POST"
      let authority = changes.host ?? own
      const list = new HeaderList(["content-type", "application/json"])
      for (const [name, expression] of computed) {
        const value = expression.evaluate(x.variables)
        // What cannot be evaluated is left out; the path then stays the usual one.
        if (value instanceof CelError) continue
        const text = toText(value)
        if (!isHeaderValue(text)) continue
        if (name === ":path") path = text.startsWith("/") ? text : path
        else if (name === ":method") method = text
        else if (name === ":authority") authority = text
        else list.set(name, text)
      }
      changes.apply(list)
      return upstream
        .send({
          method,
          pathAndQuery: path,
          authority,
          headers: list,
          body: content,
          timeout: callTimeout(timeout),
          upgrade: undefined,
          onInformation: undefined
        })
        .pipe(
          Effect.flatMap((answer) => read(answer.body, defaultBodyLimit)),
          // The limit covers the whole reply: a body that trickles holds the request up as well.
          Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.succeed(undefined) }),
          Effect.map((reply) =>
            reply?.complete === true
              ? applyWebhookReply(
                  readWebhookReply(phase, new TextDecoder().decode(reply.bytes)),
                  format,
                  document,
                  body
                )
              : failed
          ),
          Effect.catch(() => Effect.succeed(failed))
        )
    }
  })
