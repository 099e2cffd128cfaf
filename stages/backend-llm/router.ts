/** The `llm` section at work: which model a request means, who may use it, and the list of those that there are. */
import type { Buffer } from "node:buffer"
import { Effect, Exit } from "effect"
import { statesOf } from "../../src/balance/endpoint-state.ts"
import { HeaderList, inBothReadings, rulingOf, slots, Unreadable, unreadable } from "../../src/policy/policy.ts"
import { instead, type Left } from "../../src/policy/terminal.ts"
import { type JsonObject, parseJson } from "../../src/protocols/llm/formats/json.ts"
import { isModelsPath, listedNames, modelList } from "../../src/protocols/llm/models/list.ts"
import { parsePattern } from "../../src/protocols/llm/models/name-pattern.ts"
import { canonicalPath } from "../../src/protocols/llm/models/path-form.ts"
import { refusal, virtualTargetNotFound } from "../../src/protocols/llm/models/refusal.ts"
import { requestedModel } from "../../src/protocols/llm/models/requested.ts"
import { indexModels, type ModelIndex } from "../../src/protocols/llm/models/selection.ts"
import { makeEngine } from "./engine.ts"
import type { Exchange } from "./exchange.ts"
import { modelCalls } from "./graph.ts"
import { compileModels, type Model } from "./models.ts"
import { bodyFailures } from "./readings.ts"
import { ModelRefused, methodNotAllowed } from "./refused.ts"
import { asObject, isSound, readBody } from "./request-body.ts"
import type { LlmRouterConfig } from "./schema.ts"
import { knownFromHere, type Selected } from "./selected.ts"
import { compileVirtual, type VirtualModels } from "./virtual.ts"

export interface Router {
  readonly index: ModelIndex<Model>
  readonly virtual: VirtualModels
}

export const compileRouter = (config: LlmRouterConfig) =>
  Effect.gen(function* () {
    const engine = yield* makeEngine
    const models = yield* compileModels(config.models)
    const index = indexModels(models)
    const healthOf = (target: string) => {
      const found = index.select(target, () => "take")
      return found.type === "found" ? found.model.watched.health : undefined
    }
    const virtual = yield* compileVirtual(config.virtualModels, healthOf, engine.clock, engine.random)
    const router = { index, virtual }
    const states = () =>
      statesOf(
        models.map(({ name, watched: { health } }) => ({ key: name, health })),
        engine.clock()
      )
    return modelCalls(engine, models, { endpoints: states }, (x) => routed(router, x))
  })

const callsAlone = methodNotAllowed("POST")
const listAndCalls = methodNotAllowed("GET, POST")
/** Finds the model that a request means, or answers it with the list of models. */
export const routed = (router: Router, x: Exchange): Left<Selected> => {
  const { request } = x
  if (request.method === "GET" && isModelsPath(request.path)) return instead(listAnswer(router, x))
  if (request.method !== "POST") return Exit.fail(isModelsPath(request.path) ? listAndCalls : callsAlone)
  return Effect.flatMapEager(readBody(x, bodyFailures), (bytes) => chosen(router, x, bytes))
}

const listAnswer = ({ index, virtual }: Router, x: Exchange) => {
  const allowed = x.get(slots.modelAccess)
  const visible = index.models.filter(
    (model) => !model.internal && (model.rules === undefined || rulingOf(model.rules, x) === "allow")
  )
  const patterns = allowed?.patterns.map(parsePattern).filter((pattern) => pattern !== undefined)
  const names = listedNames(visible, virtual.names, patterns)
  return {
    status: 200,
    headers: new HeaderList(["content-type", "application/json"]),
    body: modelList(names, Math.floor(x.now / 1000))
  }
}

const chosen = (router: Router, x: Exchange, bytes: Buffer): Left<Selected> => {
  const requested = requestedModel(canonicalPath(x.request.path), x.request.headers.get("content-type"), bytes)
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
  const variable = knownFromHere(x, name, json)
  let sound: boolean | undefined
  const isReadable = () => {
    sound ??= isSound(bytes)
    return sound
  }
  if (router.virtual.readingBody.has(name) && !isReadable()) return Exit.fail(unreadable.value)
  const target = router.virtual.resolve(name, x)
  if (target instanceof Unreadable) return Exit.fail(target)
  if (typeof target === "object") return Exit.fail(new ModelRefused({ refusal: target }))
  const wanted = target ?? name
  let refused: Unreadable | undefined
  const selection = router.index.select(wanted, (model) => {
    // An internal model is for virtual models alone.
    if (model.internal && target === undefined) return "skip"
    const { meant } = model
    const isMeant = meant === undefined || inBothReadings(x.request, () => meant(x.request))
    if (isMeant === false) return "skip"
    if (isMeant instanceof Unreadable) {
      refused = isMeant
      return "deny"
    }
    if (model.rules === undefined) return "take"
    const ruling = model.readsBody && !isReadable() ? unreadable.value : rulingOf(model.rules, x)
    if (ruling instanceof Unreadable) refused = ruling
    return ruling === "allow" ? "take" : "deny"
  })
  // Another model that would take the request does not make up for rules that could not read it.
  if (refused !== undefined) return Exit.fail(refused)
  if (selection.type === "denied")
    return Exit.fail(new ModelRefused({ refusal: refusal("model_authorization_denied") }))
  if (selection.type === "missing")
    return Exit.fail(
      new ModelRefused({
        refusal: target === undefined ? refusal("model_not_found") : virtualTargetNotFound(name, target)
      })
    )
  const unread = requested.type === "form"
  return Exit.succeed({ bytes, json, unread, requested, wanted, endpoint: selection.model, variable })
}
