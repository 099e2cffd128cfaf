/** An `ai` backend at work: which of its providers answers a request, and what is asked of it. */
import type { Buffer } from "node:buffer"
import { Effect, Exit, Result } from "effect"
import { type Candidate, choose } from "../../src/balance/choice.ts"
import { statesOf } from "../../src/balance/endpoint-state.ts"
import { type ConfigProblem, slots } from "../../src/policy/policy.ts"
import { elsewhereAnew, type Left, type Passage } from "../../src/policy/terminal.ts"
import { isObject, type JsonObject, parseJson } from "../../src/protocols/llm/formats/json.ts"
import { isUnambiguous } from "../../src/protocols/llm/models/json-members.ts"
import { modelInPath } from "../../src/protocols/llm/models/model-path.ts"
import { canonicalPath } from "../../src/protocols/llm/models/path-form.ts"
import { refusal } from "../../src/protocols/llm/models/refusal.ts"
import { type RequestedModel, requestedModel } from "../../src/protocols/llm/models/requested.ts"
import {
  compileKnownPaths,
  compileRouteTypes,
  inSmallLetters,
  type RouteType
} from "../../src/protocols/llm/models/route-type.ts"
import { forwarded } from "./classify.ts"
import { compileEndpoint, type Endpoint } from "./endpoint.ts"
import { type Engine, makeEngine } from "./engine.ts"
import type { Exchange } from "./exchange.ts"
import { modelCalls } from "./graph.ts"
import { LlmFailed, ModelRefused, methodNotAllowed } from "./refused.ts"
import { asObject, readBody } from "./request-body.ts"
import type { AiConfig, EndpointConfig } from "./schema.ts"
import { knownFromHere, type Selected } from "./selected.ts"

interface Provider extends Candidate {
  readonly endpoint: Endpoint
}
type Groups = ReadonlyArray<ReadonlyArray<Provider>>

export const compileProviders = (config: AiConfig) =>
  Effect.gen(function* () {
    const engine = yield* makeEngine
    const problems: Array<ConfigProblem> = []
    const groups: Array<ReadonlyArray<Provider>> = []
    for (const { providers } of config.groups) {
      const group: Array<Provider> = []
      for (const provider of providers) {
        const compiled = yield* Effect.result(compileProvider(provider))
        if (Result.isSuccess(compiled)) group.push(compiled.success)
        else problems.push(...compiled.failure)
      }
      groups.push(group)
    }
    if (problems.length > 0) return yield* Effect.fail(problems)
    const endpoints = groups.flatMap((group) => group.map(({ endpoint }) => endpoint))
    const states = () =>
      groups.flatMap((group, index) => {
        const all = statesOf(group, engine.clock())
        return groups.length === 1 ? all : all.map((state) => ({ ...state, group: index }))
      })
    const balanced = { endpoints: states, elsewhere: endpoints.length > 1 ? elsewhereAnew : undefined }
    return modelCalls(engine, endpoints, balanced, (x, passage) => offered(engine, groups, x, passage))
  })

const compileProvider = (config: EndpointConfig) =>
  Effect.map(
    compileEndpoint(
      config,
      (routes) => {
        const knowsPath = compileKnownPaths(routes)
        return {
          routeType: compileRouteTypes(routes),
          forgivenType: compileRouteTypes(inSmallLetters(routes)),
          knowsPath,
          forwards: (path) => (knowsPath(path) ? "this" : Object.hasOwn(routes, "*") ? "others" : "no")
        }
      },
      []
    ),
    (endpoint): Provider => ({ endpoint, health: endpoint.watched.health, key: endpoint.name })
  )

const refused = (status: number, detail: string) =>
  new LlmFailed({ side: "request", status, detail, reason: "InvalidRequest" })
const unreadable = refused(400, "the body cannot be read")
const bodyFailures = {
  tooLarge: refused(413, "request was too large"),
  unreadable,
  undecodable: unreadable
}
const callsAlone = methodNotAllowed("POST")
const notJson = refused(400, "body is not a JSON object")
const noModel = refused(400, "missing field: model not specified")
const notAllowed = new ModelRefused({ refusal: refusal("model_not_allowed") })

/** Finds the provider that is to answer a request, and the model that it is asked for. */
const offered = (engine: Engine, groups: Groups, x: Exchange, passage: Passage): Left<Selected> => {
  const { tried } = passage.attempts ?? {}
  const untried = tried === undefined ? groups : untriedOf(groups, tried)
  // A group has a provider, and a backend a group.
  const { endpoint, key } = choose(untried.length > 0 ? untried : groups, {
    now: engine.clock(),
    random: engine.random,
    affinity: x.get(slots.affinity)
  })!
  passage.choice = key
  passage.others = untried.length > 1 || (untried[0]?.length ?? 0) > 1
  const type = endpoint.routeType(canonicalPath(x.request.path))
  const unread = forwarded.has(type)
  if (!unread && type !== "models" && x.request.method !== "POST") return Exit.fail(callsAlone)
  return Effect.flatMapEager(readBody(x, bodyFailures), (bytes): Left<Selected> => {
    const parsed = parseJson(bytes.toString("utf8"))
    if (!unread && type !== "models" && !isObject(parsed)) return Exit.fail(notJson)
    const json = asObject(parsed)
    const named = requestedIn(type, x, bytes, json)
    // What is forwarded as it came may name any model where nobody here looks.
    const model = named?.model ?? (unread && bytes.length > 0 ? undefined : endpoint.providerModel)
    const access = x.get(slots.modelAccess)
    if (access !== undefined && (model === undefined || !access.allows(model))) return Exit.fail(notAllowed)
    if (model === undefined && !unread && type !== "models") return Exit.fail(noModel)
    const wanted = model ?? "unknown"
    const requested = named ?? { type: "body", model: wanted, body: json }
    const variable = knownFromHere(x, wanted, json)
    return Exit.succeed({ bytes, json, unread, requested, wanted, endpoint, variable })
  })
}

/** Of the groups the providers that no attempt was made at. */
const untriedOf = (groups: Groups, tried: ReadonlySet<string>): Groups =>
  groups.map((group) => group.filter(({ key }) => !tried.has(key))).filter((group) => group.length > 0)

/** Clients of Gemini name the model in the path; others may, where they name none in the body. */
const requestedIn = (type: RouteType, x: Exchange, bytes: Buffer, json: JsonObject): RequestedModel | undefined => {
  const model = json["model"]
  const inBody = forwarded.has(type)
    ? requestedUnread(x, bytes)
    : typeof model === "string"
      ? ({ type: "body", model, body: json } as const)
      : undefined
  if (inBody !== undefined && type !== "generateContent" && type !== "geminiCountTokens") return inBody
  const at = modelInPath(canonicalPath(x.request.path))
  return at === undefined ? inBody : { type: "path", model: at.model }
}

/** The bytes stay as they are: a name counts only if every reader finds the same one. */
const requestedUnread = (x: Exchange, bytes: Buffer): RequestedModel | undefined => {
  const found = requestedModel("", x.request.headers.get("content-type"), bytes)
  if (found.type === "refused" || (found.type === "body" && !isUnambiguous(bytes, found.body))) return undefined
  return found
}
