/** In which of its formats a provider is asked, so that the client can be answered in its own; what guards cannot read goes no further. */
import { Effect, Exit, Result } from "effect"
import { HeaderList } from "../../src/policy/policy.ts"
import { instead, type Left } from "../../src/policy/terminal.ts"
import { type Plan, plan } from "../../src/protocols/llm/matrix.ts"
import { canonicalPath, forgivenPath, otherReading } from "../../src/protocols/llm/models/path-form.ts"
import { isConversation } from "../../src/protocols/llm/models/route-type.ts"
import { wireFormatOf } from "../../src/protocols/llm/providers/wire-format.ts"
import type { Translator } from "../../src/protocols/llm/translate/translator.ts"
import type { Reservation } from "./budget.ts"
import { forwarded } from "./classify.ts"
import type { Engine } from "./engine.ts"
import type { Enriched } from "./enrich.ts"
import type { Exchange } from "./exchange.ts"
import { isGuarding } from "./guards.ts"
import { unguardedPath } from "./readings.ts"
import { failureOf } from "./refused.ts"
import { counted, estimated } from "./tokens.ts"

export interface Negotiated extends Enriched {
  readonly way: Exclude<Plan, { readonly kind: "local" }>
  readonly translator: Translator
  readonly began: number
  /** Input tokens, by the size of the text. */
  readonly estimate: () => number
  /** Of the budgets of the route, where there are any. */
  readonly reservation: Reservation | undefined
}

/** The mock answers in the formats of OpenAI. */
const mockSpeaks = ["completions", "responses", "embeddings"] as const

export const negotiate =
  (engine: Engine) =>
  (x: Exchange, enriched: Enriched): Left<Negotiated> => {
    const { endpoint, clientFormat, conversation, providerModel, prompt } = enriched
    const { provider } = endpoint
    const planned = plan(
      clientFormat,
      endpoint.destination.type === "mock" ? mockSpeaks : provider.formats(providerModel)
    )
    if (Result.isFailure(planned)) return Exit.fail(failureOf(planned.failure))
    const { success: way } = planned
    if (conversation === undefined && isGuarding(endpoint.guards) && !mayPass(x, enriched, way))
      return Exit.fail(unguardedPath)
    if (x.watched) tellNegotiated(x, enriched, way)
    if (way.kind === "local")
      return Effect.flatMapEager(counted(engine, "messages", providerModel, prompt), (tokens) =>
        instead(counts(tokens))
      )
    const translator = endpoint.translators(clientFormat, way.upstream, providerModel)
    if (Result.isFailure(translator)) return Exit.fail(failureOf(translator.failure))
    return Exit.succeed({
      ...enriched,
      way,
      translator: translator.success,
      began: engine.clock(),
      estimate: () => estimated(conversation, prompt),
      reservation: undefined
    })
  }

const tellNegotiated = (x: Exchange, enriched: Enriched, way: Plan): void => {
  const { endpoint, clientFormat, bytes, requested, streaming } = enriched
  const provider = endpoint.provider.name
  const routeType = clientFormat[0]!.toUpperCase() + clientFormat.slice(1)
  x.tell({ type: "llmRouteResolved", provider, routeType })
  x.tell({ type: "bodySnapshot", stage: "llm request before translation", body: bytes.toString("base64") })
  x.tell({
    type: "llmRequestDetected",
    provider,
    inputFormat: clientFormat,
    upstreamRouteType: way.kind === "translated" ? way.upstream : null,
    requestModel: requested.model,
    streaming
  })
}

const counts = (tokens: number) => ({
  status: 200,
  headers: new HeaderList(["content-type", "application/json"]),
  body: JSON.stringify({ input_tokens: tokens })
})

/**
 * Whether a request that guards do not read may pass beside them. What is forwarded unread may where the configuration says so of this
 * path itself, or of all others; and nothing may that the provider would take for a conversation. What counts is the address that it
 * would be sent to.
 */
const mayPass = ({ request }: Exchange, { endpoint, clientFormat, providerModel }: Enriched, way: Plan): boolean => {
  const unread = forwarded.has(clientFormat)
  const listed = endpoint.forwards(canonicalPath(request.path))
  if (unread && listed !== "others") return listed === "this"
  if (way.kind === "local" || endpoint.destination.type === "mock") return true
  const target = endpoint.provider.target({
    format: wireFormatOf(way.upstream),
    model: providerModel,
    streaming: false,
    translated: way.kind === "translated",
    clientPath: request.path,
    clientQuery: ""
  })
  const sent = "_tag" in target ? undefined : otherReading(target.path)
  return sent !== undefined && !isConversation(forgivenPath(sent), unread)
}
