/**
 * The way of a model request to its provider: which model is meant, who may use it, what guards say, what it may cost, and
 * what the provider is sent. Everything that may refuse does so before the first byte leaves.
 */
import { Buffer } from "node:buffer"
import { randomBytes } from "node:crypto"
import { Effect, Exit, Result } from "effect"
import { contentCoding, decoded } from "../../src/http/content-coding.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { isPermitted } from "../../src/pipeline/rules.ts"
import * as slots from "../../src/pipeline/slots.ts"
import { next, respond, type StageError, type Verdict } from "../../src/pipeline/stage.ts"
import type { Attempt } from "../../src/protocols/llm/cost/ledger.ts"
import type { LlmError } from "../../src/protocols/llm/formats/error.ts"
import type { ClientFormat, UpstreamFormat } from "../../src/protocols/llm/formats/format.ts"
import type { GuardOutcome } from "../../src/protocols/llm/guard/outcome.ts"
import { type GuardedFormat, guardedFormats, rewriteRequest } from "../../src/protocols/llm/guard/texts.ts"
import { plan } from "../../src/protocols/llm/matrix.ts"
import { isObject, type JsonObject, parseJson } from "../../src/protocols/llm/models/json.ts"
import { isModelsPath, listedNames, modelList } from "../../src/protocols/llm/models/list.ts"
import { withModelInPath } from "../../src/protocols/llm/models/model-path.ts"
import { parsePattern } from "../../src/protocols/llm/models/name-pattern.ts"
import { refusal, virtualTargetNotFound } from "../../src/protocols/llm/models/refusal.ts"
import { type RequestedModel, requestedModel } from "../../src/protocols/llm/models/requested.ts"
import type { RouteType } from "../../src/protocols/llm/models/route-type.ts"
import type { ModelIndex } from "../../src/protocols/llm/models/selection.ts"
import { estimateTokens } from "../../src/protocols/llm/tokens/estimate.ts"
import type { Translation } from "../../src/protocols/llm/translate/translator.ts"
import { noFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import type { Accounting, ModelCall } from "./account.ts"
import { runGuards } from "./guards.ts"
import { LlmVariable } from "./llm-variable.ts"
import type { Model } from "./models.ts"
import { addressed, edited, written } from "./provider-body.ts"
import { GuardRejected, LlmFailed, ModelRefused } from "./refused.ts"
import type { VirtualModels } from "./virtual.ts"

/** A request on its way: left by the preparation for the call, and by the call for the answer. */
export interface Prepared extends ModelCall {
  readonly clientFormat: ClientFormat
  readonly upstreamFormat: UpstreamFormat
  readonly translated: boolean
  readonly translation: Translation
  readonly json: JsonObject
  readonly body: Buffer
  readonly streaming: boolean
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
const undecodable = new ModelRefused({ refusal: refusal("request_body_decode_failed") })
const notJson = new ModelRefused({ refusal: refusal("invalid_request_body") })
const ambiguousPath = new LlmFailed({
  side: "request",
  status: 400,
  detail: "ambiguous path",
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
  const coding = contentCoding(encoding)
  if (coding === "unknown")
    return Exit.fail(
      new LlmFailed({
        side: "request",
        status: 415,
        detail: `unsupported content encoding: ${encoding}`,
        reason: "InvalidRequest"
      })
    )
  if (coding !== undefined) {
    x.requestBody = decoded(x.requestBody, coding, "client")
    request.headers.delete("content-encoding")
    request.headers.delete("content-length")
  }
  const broken = coding === undefined ? unreadable : undecodable
  return Effect.flatMapEager(
    Effect.mapErrorEager(x.readRequestBody(), (error) => (error._tag === "BodyTooLarge" ? tooLarge : broken)),
    (bytes) => chosen(router, x, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), keep)
  )
}

const listAnswer = ({ index, virtual }: Router, x: Exchange) => {
  const allowed = x.get(slots.modelAccess)
  const visible = index.models.filter(
    (model) => !model.internal && (model.rules === undefined || isPermitted(model.rules, x))
  )
  const patterns = allowed?.patterns.map(parsePattern).filter((pattern) => pattern !== undefined)
  const names = listedNames(visible, virtual.names, patterns)
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
  if (access !== undefined && !access.allows(name))
    return Exit.fail(new ModelRefused({ refusal: refusal("model_not_allowed") }))

  const json: JsonObject =
    requested.type === "body"
      ? requested.body
      : requested.type === "path"
        ? asObject(parseJson(bytes.toString("utf8")))
        : {}
  const { variables } = x
  variables.llmRequest = { rest: json }
  const variable = new LlmVariable(name, isStreaming(x.request.path, json), json)
  variables.llm = variable
  const target = router.virtual.resolve(name, x)
  if (typeof target === "object") return Exit.fail(new ModelRefused({ refusal: target }))
  const wanted = target ?? name
  const selection = router.index.select(wanted, (model) => {
    // An internal model is for virtual models alone.
    if (model.internal && target === undefined) return "skip"
    if (model.meant?.(x.request) === false) return "skip"
    return model.rules === undefined || isPermitted(model.rules, x) ? "take" : "deny"
  })
  if (selection.type === "denied")
    return Exit.fail(new ModelRefused({ refusal: refusal("model_authorization_denied") }))
  if (selection.type === "missing")
    return Exit.fail(
      new ModelRefused({
        refusal: target === undefined ? refusal("model_not_found") : virtualTargetNotFound(name, target)
      })
    )
  return admitted(router, x, bytes, json, requested, wanted, selection.model, variable, keep)
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
  variable: LlmVariable,
  keep: (prepared: Prepared) => void
): Outcome => {
  const { path } = x.request
  const routeType = model.routeType(canonicalPath(path))
  const decoded = decodedPath(path)
  if (decoded === undefined || model.routeType(decoded) !== routeType) return Exit.fail(ambiguousPath)
  // A form is forwarded unread: no guard, rule or override would see the prompt that a provider may find in it.
  if (requested.type === "form" && !unread.has(routeType)) return Exit.fail(notJson)
  const changed = model.changes.request?.(json, x) ?? json
  // Configuration that sets the model in the body means the one that is asked for.
  const named = changed["model"]
  const providerModel = typeof named === "string" && named !== json["model"] ? named : (model.providerModel ?? wanted)
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
  const pair = model.translators(client, upstream, providerModel)
  if (Result.isFailure(pair)) return Exit.fail(failureOf(pair.failure))
  x.tell({
    type: "llmRouteResolved",
    provider: model.provider.name,
    routeType: routeType[0]!.toUpperCase() + routeType.slice(1)
  })
  if (x.watched)
    x.tell({ type: "bodySnapshot", stage: "llm request before translation", body: bytes.toString("base64") })
  const streaming = isStreaming(path, json)
  x.tell({
    type: "llmRequestDetected",
    provider: model.provider.name,
    inputFormat: client,
    upstreamRouteType: kind === "native" ? null : upstream,
    requestModel: requested.model,
    streaming
  })

  const began = router.clock()
  const estimate = () => estimateTokens(textsOf(isGuarded(client) ? client : undefined, changed))
  const budgets = uncounted.has(client) ? undefined : x.get(slots.tokenBudgets)
  const reserved = budgets?.reserve(x, estimate(), false)
  if (reserved !== undefined && "_tag" in reserved) return Exit.fail(reserved)

  // Whatever happens from here on, what was reserved is settled: with nothing used, unless the model is called.
  let called = false
  x.onFinish(() => {
    if (!called) reserved?.settle(0, 0)
  })

  const guards = isGuarded(client) ? model.guards.request : []
  const guarded: Effect.Effect<GuardOutcome> =
    guards.length === 0
      ? Effect.succeed({ type: "continue", action: "Allow" })
      : runGuards(guards, x, client as GuardedFormat, changed, (outcome) => router.guarded("Request", outcome))

  return Effect.flatMapEager(guarded, (outcome): Outcome => {
    if (outcome.type === "failed") return Exit.fail(guardFailed)
    if (outcome.type === "answered") return Exit.fail(new GuardRejected(outcome.answer))
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
    const asked = multipart ? clean : addressed(clean, upstream, providerModel, streaming)
    const translated = multipart ? Result.succeed(clean) : translation.request(asked)
    if (Result.isFailure(translated)) return Exit.fail(failureOf(translated.failure))
    const sent = model.changes.final?.(translated.success, x) ?? translated.success
    // What guards have read is what is sent, in the one way that it can be read.
    const editable = clean === json && sent === asked && guards.length === 0
    const body = multipart ? bytes : ((editable ? edited(bytes, json, asked) : undefined) ?? written(sent))
    // A virtual model's target, or the provider's own name, stands in the path where the client's did.
    if (requested.type === "path" && kind === "native") {
      const rewritten = withModelInPath(path, requested.at, providerModel)
      if (rewritten === undefined)
        return Exit.fail(new ModelRefused({ refusal: refusal("request_uri_rewrite_failed") }))
      x.request.pathAndQuery = rewritten + x.request.query
    }
    model.requestHeaders?.apply(x.request.headers)
    const call: ModelCall = {
      model,
      routeType,
      requestModel: requested.model,
      providerModel,
      share: reserved,
      parameters: json,
      estimate,
      began,
      facts: noFacts(),
      answered: false
    }
    called = true
    variable.call = call
    keep(
      Object.assign(call, {
        clientFormat: client,
        upstreamFormat: upstream,
        translated: kind === "translated",
        translation,
        json: sent,
        body,
        streaming,
        attempt: router.accounting.begin(call)
      })
    )
    return next
  })
}

/** Counting tokens uses none. */
const uncounted: ReadonlySet<ClientFormat> = new Set(["anthropicTokenCount", "geminiCountTokens"])

const isStreaming = (path: string, json: JsonObject): boolean =>
  json["stream"] === true || path.endsWith(":streamGenerateContent") || path.endsWith(":streamRawPredict")

/** Providers forgive doubled and trailing slashes: such a path must not be handled as another one. */
const canonicalPath = (path: string): string =>
  path.includes("//") || path.endsWith("/") ? path.replace(/\/{2,}/g, "/").replace(/\/$/, "") : path

/** The path as a provider may read it that decodes it first; `undefined` where it may leave its own place or cannot be decoded. */
const decodedPath = (path: string): string | undefined => {
  try {
    const decoded = canonicalPath(decodeURIComponent(path).replaceAll("\\", "/"))
    return /\/\.\.?(?:\/|$)/.test(decoded) ? undefined : decoded
  } catch {
    return undefined
  }
}

/** The types of what is forwarded as it came. */
const unread: ReadonlySet<RouteType> = new Set(["detect", "passthrough", "models"])

/** The mock answers in the formats of OpenAI. */
const mockSpeaks = ["completions", "responses", "embeddings"] as const

/** The texts that the size of a prompt is told from; all of the body where its format is not known. */
const textsOf = (format: GuardedFormat | undefined, json: JsonObject): ReadonlyArray<string> => {
  if (format === undefined) return [JSON.stringify(json)]
  const texts: Array<string> = []
  rewriteRequest(format, json, everyScope, (text) => {
    texts.push(text)
    return text
  })
  return texts
}

const everyScope = new Set(["systemPrompt", "messages", "toolOutput", "toolInput"] as const)

export const failureOf = ({ status, message, source }: LlmError): StageError => ({
  _tag: "LlmError",
  status,
  message,
  source,
  retryable: false,
  reason: status === 400 ? "InvalidRequest" : "UpstreamFailure"
})
