/**
 * The way of a model request to its provider: which model is meant, who may use it, what guards say, what it may cost, and
 * what the provider is sent. Everything that may refuse does so before the first byte leaves.
 */
import { Buffer } from "node:buffer"
import { randomBytes } from "node:crypto"
import { Effect, Exit, Result } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { isPermitted } from "../../src/pipeline/rules.ts"
import * as slots from "../../src/pipeline/slots.ts"
import { next, respond, type StageError, type Verdict } from "../../src/pipeline/stage.ts"
import type { Attempt } from "../../src/protocols/llm/cost/ledger.ts"
import { applyMutations } from "../../src/protocols/llm/enrich/mutations.ts"
import type { LlmError } from "../../src/protocols/llm/formats/error.ts"
import type { ClientFormat } from "../../src/protocols/llm/formats/format.ts"
import type { GuardOutcome } from "../../src/protocols/llm/guard/outcome.ts"
import { type GuardedFormat, guardedFormats, rewriteRequest } from "../../src/protocols/llm/guard/texts.ts"
import { plan } from "../../src/protocols/llm/matrix.ts"
import { isObject, type JsonObject, parseJson } from "../../src/protocols/llm/models/json.ts"
import { setMember, setModel } from "../../src/protocols/llm/models/json-members.ts"
import { isModelsPath, listedNames, modelList } from "../../src/protocols/llm/models/list.ts"
import { withModelInPath } from "../../src/protocols/llm/models/model-path.ts"
import { refusal } from "../../src/protocols/llm/models/refusal.ts"
import { type RequestedModel, requestedModel } from "../../src/protocols/llm/models/requested.ts"
import type { ModelIndex } from "../../src/protocols/llm/models/selection.ts"
import { estimateTokens } from "../../src/protocols/llm/tokens/estimate.ts"
import { type Translation, translator } from "../../src/protocols/llm/translate/translator.ts"
import { noFacts, type StreamFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import type { Accounting, ModelCall } from "./account.ts"
import { runGuards } from "./guards.ts"
import type { Model } from "./models.ts"
import { LlmFailed, ModelRefused } from "./refused.ts"
import type { VirtualModels } from "./virtual.ts"

/** A request on its way: left by the preparation for the call, and by the call for the answer. */
export interface Prepared extends ModelCall {
  readonly clientFormat: ClientFormat
  readonly upstreamFormat: string
  readonly translated: boolean
  readonly translation: Translation
  readonly json: JsonObject
  readonly body: Buffer
  readonly facts: StreamFacts
  readonly attempt: Attempt
}

export interface Router {
  readonly index: ModelIndex<Model>
  readonly virtual: VirtualModels
  readonly accounting: Accounting
  readonly clock: () => number
  readonly guarded: (phase: "Request" | "Response", outcome: GuardOutcome) => void
}

const methodNotAllowed = new LlmFailed({
  side: "request",
  status: 405,
  detail: "method not allowed",
  reason: "InvalidRequest"
})
const tooLarge = new ModelRefused({ refusal: refusal("request_body_too_large") })
const unreadable = new ModelRefused({ refusal: refusal("request_body_read_failed") })
const encoded = new LlmFailed({
  side: "request",
  status: 415,
  detail: "unsupported content encoding",
  reason: "InvalidRequest"
})
const guardFailed = new LlmFailed({ side: "request", status: 503, detail: "prompt guard failed", reason: "Guardrail" })

export const isGuarded = (format: string): format is GuardedFormat =>
  (guardedFormats as ReadonlyArray<string>).includes(format)

type Outcome = Effect.Effect<Verdict, StageError>

/** Prepares a request; `keep` takes what the call needs. */
export const prepare = (router: Router, x: Exchange, keep: (prepared: Prepared) => void): Outcome => {
  const { request } = x
  if (request.method === "GET" && isModelsPath(request.path)) return respond(listAnswer(router, x))
  if (request.method !== "POST") return Exit.fail(methodNotAllowed)
  const encoding = request.headers.get("content-encoding")
  if (encoding !== undefined && encoding !== "identity") return Exit.fail(encoded)
  return Effect.flatMapEager(
    Effect.mapErrorEager(x.readRequestBody(), (error) => (error._tag === "BodyTooLarge" ? tooLarge : unreadable)),
    (bytes) => chosen(router, x, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), keep)
  )
}

const listAnswer = ({ index, virtual }: Router, x: Exchange) => {
  const allowed = x.get(slots.modelAccess)
  const visible = index.models.filter(
    (model) => !model.internal && (model.rules === undefined || isPermitted(model.rules, x))
  )
  const names = listedNames(visible, virtual.names, undefined).filter((name) => allowed?.(name) ?? true)
  return {
    status: 200,
    headers: new HeaderList(["content-type", "application/json"]),
    body: modelList(names, Math.floor(x.now / 1000))
  }
}

const chosen = (router: Router, x: Exchange, bytes: Buffer, keep: (prepared: Prepared) => void): Outcome => {
  const requested = requestedModel(x.request.path, x.request.headers.get("content-type"), bytes)
  if (requested.type === "refused") return Exit.fail(new ModelRefused({ refusal: requested }))
  const name = requested.model
  const access = x.get(slots.modelAccess)
  if (access !== undefined && !access(name))
    return Exit.fail(new ModelRefused({ refusal: refusal("model_not_allowed") }))

  const json: JsonObject =
    requested.type === "body"
      ? requested.body
      : requested.type === "path"
        ? asObject(parseJson(bytes.toString("utf8")))
        : {}
  const { variables } = x
  variables.llmRequest = { rest: json }
  variables.llm = { requestModel: name, streaming: json["stream"] === true }
  const target = router.virtual.resolve(name, x)
  if (typeof target === "object") return Exit.fail(new ModelRefused({ refusal: target }))
  const wanted = target ?? name
  const selection = router.index.select(wanted, (model) => {
    // An internal model is for virtual models alone.
    if (model.internal && target === undefined) return "skip"
    return model.rules === undefined || isPermitted(model.rules, x) ? "take" : "deny"
  })
  if (selection.type === "denied")
    return Exit.fail(new ModelRefused({ refusal: refusal("model_authorization_denied") }))
  if (selection.type === "missing") return Exit.fail(new ModelRefused({ refusal: refusal("model_not_found") }))
  return admitted(router, x, bytes, json, requested, wanted, selection.model, keep)
}

const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {})

const admitted = (
  router: Router,
  x: Exchange,
  bytes: Buffer,
  json: JsonObject,
  requested: RequestedModel,
  wanted: string,
  model: Model,
  keep: (prepared: Prepared) => void
): Outcome => {
  const { path } = x.request
  const routeType = model.routeType(path)
  const providerModel = model.providerModel ?? wanted
  const client = routeType === "models" ? "passthrough" : routeType
  const spoken = model.destination.type === "mock" ? mockSpeaks : model.provider.formats(providerModel)
  const planned = plan(client, spoken)
  if (Result.isFailure(planned)) return Exit.fail(failureOf(planned.failure))
  if (planned.success.kind === "local")
    return Exit.fail(
      new LlmFailed({
        side: "request",
        status: 400,
        detail: "tokens of this model cannot be counted",
        reason: "InvalidRequest"
      })
    )
  const { upstream, kind } = planned.success
  const pair = translator(client, upstream, { maxCompletionTokens: false })
  if (Result.isFailure(pair)) return Exit.fail(failureOf(pair.failure))
  x.note("llmRouteResolved", {
    provider: model.provider.name,
    routeType: routeType[0]!.toUpperCase() + routeType.slice(1)
  })
  const streaming =
    json["stream"] === true || path.endsWith(":streamGenerateContent") || path.endsWith(":streamRawPredict")
  x.note("llmRequestDetected", {
    provider: model.provider.name,
    inputFormat: client,
    upstreamRouteType: kind === "native" ? null : upstream,
    requestModel: requested.model,
    streaming
  })

  const changed =
    model.defaults === undefined && model.overrides === undefined
      ? json
      : applyMutations(json, { computed: [], overrides: entries(model.overrides), defaults: entries(model.defaults) })

  const began = router.clock()
  const reserved = reserve(x, isGuarded(client) ? client : undefined, changed)
  if (reserved !== undefined && "_tag" in reserved) return Exit.fail(reserved)

  // Whatever happens from here on, what was reserved is settled: with nothing used, unless the model is called.
  let settled = false
  const release = () => {
    if (settled) return
    settled = true
    reserved?.settle(0, 0)
  }
  x.onFinish(release)

  const guards = isGuarded(client) ? model.guards.request : []
  const guarded: Effect.Effect<GuardOutcome> =
    guards.length === 0
      ? Effect.succeed({ type: "continue", action: "Allow" })
      : runGuards(guards, x, client as GuardedFormat, changed, (outcome) => router.guarded("Request", outcome))

  return Effect.flatMapEager(guarded, (outcome): Outcome => {
    if (outcome.type === "failed") return Exit.fail(guardFailed)
    if (outcome.type === "answered") return respond(guardAnswer(outcome.answer))
    const clean = outcome.type === "changed" ? outcome.body : changed
    const translation = pair.success.open({
      model: providerModel,
      now: x.now,
      randomHex: (digits) =>
        randomBytes(Math.ceil(digits / 2))
          .toString("hex")
          .slice(0, digits),
      header: (name) => x.request.headers.get(name)
    })
    const multipart = requested.type === "form"
    const translated = multipart ? Result.succeed(clean) : translation.request(clean)
    if (Result.isFailure(translated)) return Exit.fail(failureOf(translated.failure))
    const body = multipart
      ? bytes
      : bodyFor(translated.success, json, bytes, requested, providerModel, upstream, streaming)
    if (body === undefined) return Exit.fail(new ModelRefused({ refusal: refusal("request_body_rewrite_failed") }))
    settled = true
    const facts = noFacts()
    const call = {
      model,
      routeType,
      requestModel: requested.model,
      providerModel,
      streaming,
      began
    }
    const prepared: Prepared = {
      ...call,
      share: reserved,
      clientFormat: client,
      upstreamFormat: upstream,
      translated: kind === "translated",
      translation,
      json: translated.success,
      body,
      facts,
      attempt: router.accounting.begin(call, facts)
    }
    // A virtual model's target, or the provider's own name, stands in the path where the client's did.
    if (requested.type === "path" && kind === "native") {
      const rewritten = withModelInPath(path, requested.at, providerModel)
      if (rewritten === undefined)
        return Exit.fail(new ModelRefused({ refusal: refusal("request_uri_rewrite_failed") }))
      x.request.pathAndQuery = rewritten + x.request.query
    }
    model.requestHeaders?.apply(x.request.headers)
    keep(prepared)
    return next
  })
}

const entries = (fields: JsonObject | undefined): ReadonlyMap<string, unknown> => new Map(Object.entries(fields ?? {}))

/** The mock answers in the formats of OpenAI. */
const mockSpeaks = ["completions", "responses", "embeddings"] as const

const reserve = (x: Exchange, format: GuardedFormat | undefined, json: JsonObject) => {
  const budgets = x.get(slots.tokenBudgets)
  if (budgets === undefined) return undefined
  const texts: Array<string> = []
  if (format !== undefined)
    rewriteRequest(format, json, everyScope, (text) => {
      texts.push(text)
      return text
    })
  return budgets.reserve(x, estimateTokens(format === undefined ? [JSON.stringify(json)] : texts), false)
}

const everyScope = new Set(["systemPrompt", "messages", "toolOutput", "toolInput"] as const)

/** The bytes for the provider: those of the client where nothing but the model changed. */
const bodyFor = (
  translated: JsonObject,
  original: JsonObject,
  bytes: Buffer,
  requested: RequestedModel,
  model: string,
  upstream: string,
  streaming: boolean
): Buffer | undefined => {
  const untouched = translated === original
  let body: Buffer | undefined = untouched ? bytes : Buffer.from(JSON.stringify(translated), "utf8")
  // The model of a Google call stands in its path alone.
  if (requested.type === "body" && upstream !== "generateContent" && upstream !== "converse")
    body = setModel(body, model)
  // Without this a stream does not say what it used. A client that says something about it has decided.
  if (body !== undefined && upstream === "completions" && streaming && (translated["stream_options"] ?? null) === null)
    body = setMember(body, "stream_options", '{"include_usage":true}')
  return body
}

export const guardAnswer = ({
  status,
  headers,
  body
}: {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly body: string
}) => ({
  status,
  headers: HeaderList.from(headers),
  body
})

export const failureOf = ({ status, message, source }: LlmError): StageError => ({
  _tag: "LlmError",
  status,
  message,
  source,
  retryable: false,
  reason: status === 400 ? "InvalidRequest" : "UpstreamFailure"
})
