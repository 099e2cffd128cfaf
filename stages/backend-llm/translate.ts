/** The request as its provider is sent it: its words and its bytes. From here on the call is on the books, which are closed however it ends. */
import { randomBytes } from "node:crypto"
import { Exit, Result } from "effect"
import type { OpenCall } from "../../src/balance/endpoint-health.ts"
import type { Left, Passage } from "../../src/policy/terminal.ts"
import type { Attempt } from "../../src/protocols/llm/cost/ledger.ts"
import type { ClientFormat, UpstreamFormat } from "../../src/protocols/llm/formats/format.ts"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import { modelInPath, withModelInPath } from "../../src/protocols/llm/models/model-path.ts"
import { refusal } from "../../src/protocols/llm/models/refusal.ts"
import type { Translation } from "../../src/protocols/llm/translate/translator.ts"
import { newStreamFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import type { ModelCall } from "./account.ts"
import type { Engine } from "./engine.ts"
import type { Exchange } from "./exchange.ts"
import type { Negotiated } from "./negotiate.ts"
import { addressed, edited, written } from "./provider-body.ts"
import { ambiguousPath, failureOf, ModelRefused } from "./refused.ts"

/** A call that can be made: what the answer needs to know of it, too. */
export interface Prepared extends ModelCall {
  readonly clientFormat: ClientFormat
  readonly conversation: Negotiated["conversation"]
  readonly upstreamFormat: UpstreamFormat
  readonly translated: boolean
  readonly translation: Translation
  readonly json: JsonObject
  readonly streaming: boolean
  readonly attempt: Attempt
  /** The call as the balancing between endpoints sees it. */
  readonly underWay: OpenCall
}

/** What clients of OpenAI's responses tell of the session, which is nobody else's business. */
const sessionHeaders = ["conversation_id", "session_id"]

const randomHex = (digits: number): string =>
  randomBytes(Math.ceil(digits / 2))
    .toString("hex")
    .slice(0, digits)

export const translate =
  (engine: Engine) =>
  (x: Exchange, negotiated: Negotiated, passage: Passage): Left<Prepared> => {
    const { endpoint, bytes, json, unread, prompt, way, path, clientFormat, providerModel, streaming } = negotiated
    const { headers } = x.request
    const translation = negotiated.translator.open({
      model: providerModel,
      now: x.now,
      randomHex,
      header: (name) => headers.get(name)
    })
    const { upstream, kind } = way
    const isGuarded = negotiated.conversation !== undefined && endpoint.guards.request.length > 0
    const asked = unread ? prompt : addressed(prompt, upstream, providerModel, streaming)
    const translated = unread ? Result.succeed(prompt) : translation.request(asked)
    if (Result.isFailure(translated)) return Exit.fail(failureOf(translated.failure))
    const sent = endpoint.changes.final?.(translated.success, x) ?? translated.success
    // What guards have read is what is sent, in the one way that it can be read.
    const editable = prompt === json && sent === asked && !isGuarded
    const body = unread ? bytes : ((editable ? edited(bytes, json, asked) : undefined) ?? written(sent))
    // The model that was chosen, and no other, stands in the path where the client's did, wherever else it was named.
    const at = kind === "native" && x.request.method === "POST" ? modelInPath(path) : undefined
    if (at !== undefined) {
      const rewritten = withModelInPath(path, at, providerModel)
      if (rewritten === undefined)
        return Exit.fail(new ModelRefused({ refusal: refusal("request_uri_rewrite_failed") }))
      if (x.request.moveTo(rewritten + x.request.query) !== undefined) return Exit.fail(ambiguousPath)
    }
    if (clientFormat === "responses" && upstream === "converse") for (const name of sessionHeaders) headers.delete(name)
    // What is written here is JSON, whatever the client called it, and nobody is to read it as anything else.
    if (kind === "translated" || isGuarded) headers.set("content-type", "application/json")
    endpoint.requestHeaders?.apply(headers)
    x.requestBody = body
    headers.set("content-length", String(body.length))
    // Usage is read from a copy of the answer: it must not be compressed.
    headers.set("accept-encoding", "identity")
    return Exit.succeed(begin(engine, x, passage, negotiated, translation, sent))
  }

const begin = (
  engine: Engine,
  x: Exchange,
  passage: Passage,
  negotiated: Negotiated,
  translation: Translation,
  sent: JsonObject
): Prepared => {
  const { endpoint, clientFormat, conversation, way, providerModel, streaming } = negotiated
  const prepared: Prepared = {
    endpoint,
    routeType: clientFormat,
    requestModel: negotiated.requested.model,
    providerModel,
    share: negotiated.reservation?.charge(),
    parameters: negotiated.json,
    estimate: negotiated.estimate,
    began: negotiated.began,
    facts: newStreamFacts(),
    answered: false,
    passed: 0,
    clientFormat,
    conversation,
    upstreamFormat: way.upstream,
    translated: way.kind === "translated",
    translation,
    json: sent,
    streaming,
    attempt: engine.accounting.begin(() => prepared),
    underWay: endpoint.watched.begin()
  }
  negotiated.variable.call = prepared
  x.onFinish(() => {
    const now = engine.clock()
    prepared.underWay.over(now)
    engine.accounting.settle(x, passage, prepared, prepared.attempt, now)
  })
  return prepared
}
