/**
 * The way of a model request to its provider, once its endpoint is known: what guards say, what it may cost, and what the
 * provider is sent. Everything that may refuse does so before the first byte leaves.
 */
import { Buffer, isUtf8 } from "node:buffer"
import { randomBytes } from "node:crypto"
import { Effect, Exit, Result } from "effect"
import {
  HeaderList,
  next,
  respond,
  type StageError,
  slots,
  undoCodings,
  unreadable,
  type Verdict
} from "../../src/policy/policy.ts"
import { doubtOf } from "../../src/policy/terminal.ts"
import type { Attempt } from "../../src/protocols/llm/cost/ledger.ts"
import type { LlmError } from "../../src/protocols/llm/formats/error.ts"
import type { ClientFormat, UpstreamFormat } from "../../src/protocols/llm/formats/format.ts"
import { sseRequired } from "../../src/protocols/llm/formats/generate-content.ts"
import { isObject, type JsonObject, parseJson } from "../../src/protocols/llm/formats/json.ts"
import { conversationOf } from "../../src/protocols/llm/guard/conversation.ts"
import type { GuardOutcome } from "../../src/protocols/llm/guard/outcome.ts"
import { everyScope, type GuardedFormat, guardedFormats, rewriteRequest } from "../../src/protocols/llm/guard/texts.ts"
import { type Plan, plan } from "../../src/protocols/llm/matrix.ts"
import { hidesModel, modelInPath, withModelInPath } from "../../src/protocols/llm/models/model-path.ts"
import { canonicalPath, forgivenPath, otherReading } from "../../src/protocols/llm/models/path-form.ts"
import { refusal } from "../../src/protocols/llm/models/refusal.ts"
import type { RequestedModel } from "../../src/protocols/llm/models/requested.ts"
import { isConversation, type RouteType } from "../../src/protocols/llm/models/route-type.ts"
import { interfaceOf } from "../../src/protocols/llm/providers/wire-format.ts"
import { chatTokens } from "../../src/protocols/llm/tokens/chat.ts"
import { encodingOf } from "../../src/protocols/llm/tokens/encoding.ts"
import { estimateTokens } from "../../src/protocols/llm/tokens/estimate.ts"
import type { Translation } from "../../src/protocols/llm/translate/translator.ts"
import { noFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import type { ModelCall } from "./account.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Engine, Keep } from "./engine.ts"
import type { Exchange } from "./exchange.ts"
import { isGuarding, runGuards } from "./guards.ts"
import { LlmVariable } from "./llm-variable.ts"
import { addressed, edited, written } from "./provider-body.ts"
import { unguardedPath, unknownCoding } from "./readings.ts"
import { GuardRejected, LlmFailed, ModelRefused } from "./refused.ts"

/** A request on its way: left by the preparation for the call, and by the call for the answer. */
export interface Prepared extends ModelCall {
  readonly clientFormat: ClientFormat
  readonly upstreamFormat: UpstreamFormat
  readonly translated: boolean
  readonly translation: Translation
  readonly json: JsonObject
  readonly body: Uint8Array
  readonly streaming: boolean
  readonly attempt: Attempt
}

/** A request whose endpoint is known. */
export interface Asked {
  readonly bytes: Buffer
  /** What the bytes were parsed to. */
  readonly json: JsonObject
  /** Whether the bytes are forwarded as they came, understood or not. */
  readonly unread: boolean
  /** The model, and where the client named it. */
  readonly requested: RequestedModel
  /** Its name where the endpoint has none of its own for it. */
  readonly wanted: string
  readonly endpoint: Endpoint
  readonly variable: LlmVariable
}

export type Outcome = Effect.Effect<Verdict, StageError>

const invalid = (detail: string) => new LlmFailed({ side: "request", status: 400, detail, reason: "InvalidRequest" })
const notJson = new ModelRefused({ refusal: refusal("invalid_request_body") })
const ambiguousPath = invalid("ambiguous path")
const guardFailed = new LlmFailed({ side: "request", status: 503, detail: "prompt guard failed", reason: "Guardrail" })
const notImplemented = {
  status: 501,
  headers: new HeaderList(["content-type", "application/json"]),
  body: `{"error":"Route 'Models' not implemented"}`
}

const listRefused = {
  status: 400,
  headers: new HeaderList(["content-type", "application/json"]),
  body: JSON.stringify(sseRequired)
}

/** What clients of OpenAI's responses tell of the session, which is nobody else's business. */
const sessionHeaders = ["conversation_id", "session_id"]

export const isGuarded = (format: string): format is GuardedFormat =>
  (guardedFormats as ReadonlyArray<string>).includes(format)

/** How a client is told that its body cannot be read. */
export interface BodyFailures {
  readonly tooLarge: StageError
  readonly unreadable: StageError
  readonly undecodable: StageError
}

/** The whole body of a request, decompressed. */
export const readBody = (
  x: Exchange,
  { tooLarge, unreadable, undecodable }: BodyFailures
): Effect.Effect<Buffer, StageError> => {
  const coded = undoCodings(x)
  if (coded === "unknown") return Exit.fail(unknownCoding(x.request.headers.getAll("content-encoding").join(", ")))
  const broken = coded ? undecodable : unreadable
  return Effect.mapEager(
    Effect.mapErrorEager(x.readRequestBody(), (error) =>
      error._tag === "BodyTooLarge" ? tooLarge : error._tag === "BuffersFull" ? error : broken
    ),
    (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  )
}

export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {})

/** Whether an expression that reads these variables looks into the body of a model request. */
export const readsModelRequest = (roots: ReadonlySet<string>): boolean => roots.has("llmRequest") || roots.has("llm")

/** Why the body is no JSON object in which everybody finds the same; `undefined` where it is one. */
const doubtAbout = (bytes: Buffer) => {
  if (!isUtf8(bytes)) return "text"
  const text = bytes.toString("utf8")
  const json = parseJson(text)
  return isObject(json) ? doubtOf(text, json) : "text"
}

/** Whether everybody who reads the body finds the same in it: what decides by it must not see another one than the provider. */
export const isSound = (bytes: Buffer): boolean => doubtAbout(bytes) === undefined

/** The same for guards, who may misread an escaped name: what they have read is what is sent. */
const isGuardable = (bytes: Buffer): boolean => {
  const doubt = doubtAbout(bytes)
  return doubt === undefined || doubt === "escapes"
}

/** Expressions know the request, and the call as far as it gets. */
export const knownFromHere = (x: Exchange, model: string, json: JsonObject): LlmVariable => {
  const { variables } = x
  variables.llmRequest = { rest: json }
  const variable = new LlmVariable(model, isStreaming(canonicalPath(x.request.path), json), json)
  variables.llm = variable
  return variable
}

/** What nothing limits takes no share of anything. */
const unlimited = Exit.succeed(undefined)

/** Prepares a request for its endpoint. */
export const admit = (engine: Engine, x: Exchange, asked: Asked, keep: Keep): Outcome => {
  const { endpoint, json, requested, wanted } = asked
  const path = canonicalPath(x.request.path)
  const routeType = endpoint.routeType(path)
  if (routeType === "models") return respond(notImplemented)
  const other = otherReading(x.request.path)
  if (other === undefined || endpoint.routeType(other) !== routeType) return Exit.fail(ambiguousPath)
  if (forwarded.has(routeType)) {
    if (hidesModel(path) || !forwarded.has(endpoint.forgivenType(forgivenPath(other)))) return Exit.fail(ambiguousPath)
  }
  // A form is forwarded unread: no guard, rule or override would see the prompt that a provider may find in it.
  if (asked.unread && !forwarded.has(routeType)) return Exit.fail(notJson)
  if (routeType === "generateContent" && asksForList(path, x.request.query)) return respond(listRefused)
  const guards = isGuarded(routeType) ? endpoint.guards.request : []
  if (guards.length > 0 && !isGuardable(asked.bytes)) return Exit.fail(unreadable.value)
  const changed = endpoint.changes.request?.(json, x) ?? json
  // Configuration that sets the model in the body means the one that is asked for.
  const set = changed["model"]
  const named = typeof set === "string" && set !== json["model"] ? set : (endpoint.providerModel ?? wanted)
  const providerModel = endpoint.alias?.(named) ?? named
  const spoken = endpoint.destination.type === "mock" ? mockSpeaks : endpoint.provider.formats(providerModel)
  const planned = plan(routeType, spoken)
  if (Result.isFailure(planned)) return Exit.fail(failureOf(planned.failure))
  if (
    !isGuarded(routeType) &&
    isGuarding(endpoint.guards) &&
    !mayPass(x, asked, routeType, planned.success, providerModel)
  )
    return Exit.fail(unguardedPath)
  x.tell({
    type: "llmRouteResolved",
    provider: endpoint.provider.name,
    routeType: routeType[0]!.toUpperCase() + routeType.slice(1)
  })
  if (x.watched)
    x.tell({ type: "bodySnapshot", stage: "llm request before translation", body: asked.bytes.toString("base64") })
  const streaming = isStreaming(path, json)
  const { success: way } = planned
  x.tell({
    type: "llmRequestDetected",
    provider: endpoint.provider.name,
    inputFormat: routeType,
    upstreamRouteType: way.kind === "translated" ? way.upstream : null,
    requestModel: requested.model,
    streaming
  })
  const prompted = endpoint.prompts?.(routeType)(changed) ?? changed
  if (way.kind === "local")
    return Effect.mapEager(counted(engine, "messages", providerModel, prompted), (tokens) => ({
      status: 200,
      headers: new HeaderList(["content-type", "application/json"]),
      body: JSON.stringify({ input_tokens: tokens })
    }))
  const pair = endpoint.translators(routeType, way.upstream, providerModel)
  if (Result.isFailure(pair)) return Exit.fail(failureOf(pair.failure))

  const began = engine.clock()
  const guardedFormat = isGuarded(routeType) ? routeType : undefined
  const estimate = () => estimateTokens(textsOf(guardedFormat, prompted))
  const budgets = uncounted.has(routeType) ? undefined : x.get(slots.tokenBudgets)
  const exact = endpoint.tokenize && guardedFormat !== undefined && budgets !== undefined
  const reserving: Effect.Effect<slots.TokenShare | undefined, StageError> =
    budgets === undefined
      ? unlimited
      : Effect.flatMapEager(
          exact ? counted(engine, guardedFormat, providerModel, prompted) : Exit.succeed(estimate()),
          (tokens) => budgets.reserve(x, tokens, exact)
        )

  return Effect.flatMapEager(reserving, (reserved): Outcome => {
    // Whatever happens from here on, what was reserved is settled: with nothing used, unless the model is called.
    let called = false
    x.onFinish(() => {
      if (!called) reserved?.settle(0, 0)
    })
    const guarded: Effect.Effect<GuardOutcome> =
      guards.length === 0 || guardedFormat === undefined
        ? Exit.succeed({ type: "continue", action: "Allow" })
        : runGuards(guards, x, guardedFormat, "request", prompted, (outcome) => engine.guarded("Request", outcome))
    return Effect.flatMapEager(guarded, (outcome): Outcome => {
      if (outcome.type === "failed") return Exit.fail(guardFailed)
      if (outcome.type === "answered") return Exit.fail(new GuardRejected(outcome.answer))
      const clean = outcome.type === "changed" ? outcome.body : prompted
      const translation = pair.success.open({
        model: providerModel,
        now: x.now,
        randomHex: (digits) =>
          randomBytes(Math.ceil(digits / 2))
            .toString("hex")
            .slice(0, digits),
        header: (name) => x.request.headers.get(name)
      })
      const { upstream, kind } = way
      const addressedBody = asked.unread ? clean : addressed(clean, upstream, providerModel, streaming)
      const translated = asked.unread ? Result.succeed(clean) : translation.request(addressedBody)
      if (Result.isFailure(translated)) return Exit.fail(failureOf(translated.failure))
      const sent = endpoint.changes.final?.(translated.success, x) ?? translated.success
      // What guards have read is what is sent, in the one way that it can be read.
      const editable = clean === json && sent === addressedBody && guards.length === 0
      const body = asked.unread
        ? asked.bytes
        : ((editable ? edited(asked.bytes, json, addressedBody) : undefined) ?? written(sent))
      // The model that was chosen, and no other, stands in the path where the client's did, wherever else it was named.
      const at = kind === "native" && x.request.method === "POST" ? modelInPath(path) : undefined
      if (at !== undefined) {
        const rewritten = withModelInPath(path, at, providerModel)
        if (rewritten === undefined)
          return Exit.fail(new ModelRefused({ refusal: refusal("request_uri_rewrite_failed") }))
        if (x.request.moveTo(rewritten + x.request.query) !== undefined) return Exit.fail(ambiguousPath)
      }
      if (routeType === "responses" && upstream === "converse")
        for (const name of sessionHeaders) x.request.headers.delete(name)
      // What is written here is JSON, whatever the client called it, and nobody is to read it as anything else.
      if (kind === "translated" || guards.length > 0) x.request.headers.set("content-type", "application/json")
      endpoint.requestHeaders?.apply(x.request.headers)
      const call: ModelCall = {
        endpoint,
        routeType,
        requestModel: requested.model,
        providerModel,
        share: reserved,
        parameters: json,
        estimate,
        began,
        facts: noFacts(),
        answered: false,
        passed: 0
      }
      called = true
      asked.variable.call = call
      keep(
        Object.assign(call, {
          clientFormat: routeType,
          upstreamFormat: upstream,
          translated: kind === "translated",
          translation,
          json: sent,
          body,
          streaming,
          attempt: engine.accounting.begin(call)
        })
      )
      return next
    })
  })
}

/** The exact count of a conversation's tokens. */
const counted = (
  { tokenizer }: Engine,
  format: GuardedFormat,
  model: string,
  body: JsonObject
): Effect.Effect<number, StageError> => {
  const encoding = encodingOf(model)
  if (encoding === undefined) return Exit.fail(invalid(`unsupported model: ${model}`))
  const messages = conversationOf(format, body)
  return Effect.mapBothEager(
    tokenizer.count(
      encoding,
      messages.map(({ content }) => content)
    ),
    {
      onSuccess: (tokens) => chatTokens(messages.length, tokens),
      onFailure: ({ message }) =>
        new LlmFailed({ side: "request", status: 503, detail: message, reason: "UpstreamFailure" })
    }
  )
}

/** Counting tokens uses none. */
const uncounted: ReadonlySet<RouteType> = new Set(["anthropicTokenCount", "geminiCountTokens"])

const isStreaming = (path: string, json: JsonObject): boolean =>
  json["stream"] === true || path.endsWith(":streamGenerateContent") || path.endsWith(":streamRawPredict")

/** Gemini streams one growing JSON list to clients that do not ask for events. */
const asksForList = (path: string, query: string): boolean =>
  path.endsWith(":streamGenerateContent") && new URLSearchParams(query).get("alt") !== "sse"

/**
 * Whether a request that guards do not read may pass beside them. What is forwarded unread may where the configuration says so of this
 * path itself, or of all others; and nothing may that the provider would take for a conversation. What counts is the address that it
 * would be sent to.
 */
const mayPass = (
  { request }: Exchange,
  { endpoint }: Asked,
  routeType: RouteType,
  way: Plan,
  model: string
): boolean => {
  const unread = forwarded.has(routeType)
  const listed = endpoint.forwards(canonicalPath(request.path))
  if (unread && listed !== "others") return listed === "this"
  if (way.kind === "local" || endpoint.destination.type === "mock") return true
  const target = endpoint.provider.target({
    format: interfaceOf(way.upstream),
    model,
    streaming: false,
    translated: way.kind === "translated",
    clientPath: request.path,
    clientQuery: ""
  })
  const sent = "_tag" in target ? undefined : otherReading(target.path)
  return sent !== undefined && !isConversation(forgivenPath(sent), unread)
}

/** The types of what is forwarded as it came. */
export const forwarded: ReadonlySet<RouteType> = new Set(["detect", "passthrough"])

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

export const failureOf = ({ status, message, source }: LlmError): StageError => ({
  _tag: "LlmError",
  status,
  message,
  source,
  reason: status === 400 ? "InvalidRequest" : "UpstreamFailure"
})
