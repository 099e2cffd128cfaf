/** The models of a router, compiled: by name, each with where its calls go and what they carry. */
import { Effect, Redacted, Result, type Scope } from "effect"
import type { BackendAuth } from "../../spec/connection/policies.ts"
import type { MockParams } from "../../spec/standalone/llm.ts"
import { compileHeaderChanges, type HeaderChanges } from "../../src/http/header-changes.ts"
import { compileHeaderMatch, type HeaderTest } from "../../src/http/header-match.ts"
import type { Answer } from "../../src/http/message.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { compileRules, type Rules } from "../../src/pipeline/rules.ts"
import { type ConfigProblem, unavailable } from "../../src/pipeline/stage.ts"
import { type NamePattern, parsePattern } from "../../src/protocols/llm/models/name-pattern.ts"
import { compileRouteTypes, type RouteType, routerPaths } from "../../src/protocols/llm/models/route-type.ts"
import { placeKey } from "../../src/protocols/llm/providers/credential.ts"
import { compileProvider, type Provider } from "../../src/protocols/llm/providers/provider.ts"
import type { Call, Target } from "../../src/protocols/llm/providers/target.ts"
import { type WireFormat, wireFormats } from "../../src/protocols/llm/providers/wire-format.ts"
import { Files } from "../../src/services/files.ts"
import { type Upstream, Upstreams } from "../../src/services/upstreams.ts"
import { type BodyChanges, compileBodyChanges } from "./body-changes.ts"
import { compileGuards, type Guards } from "./guards.ts"
import { mockUpstream } from "./mock-upstream.ts"
import type { ModelConfig, ModelPolicies, ModelPolicy } from "./schema.ts"
import { providerSettings } from "./settings.ts"
import { makeTranslators, type Translators } from "./translators.ts"

/** Where the calls of a model go: to a provider over HTTP, or into the built-in mock. */
export type Destination =
  | {
      readonly type: "http"
      /** The connections to a target, opened when the configuration was compiled. */
      readonly upstreamOf: (target: Target) => Upstream | undefined
      /** Puts the credential in its place. */
      readonly authorize: (x: Exchange, target: Target) => void
    }
  | { readonly type: "mock"; readonly answer: ReturnType<typeof mockUpstream> }

export interface Model {
  readonly name: string
  readonly pattern: NamePattern
  /** Whether a request that names the model also has the headers that it asks for. */
  readonly meant: HeaderTest | undefined
  readonly internal: boolean
  /** The model that the provider is asked for; the client's when there is none. */
  readonly providerModel: string | undefined
  readonly provider: Provider
  readonly destination: Destination
  readonly translators: Translators
  readonly routeType: (path: string) => RouteType
  readonly rules: Rules | undefined
  readonly requestHeaders: HeaderChanges | undefined
  readonly responseHeaders: HeaderChanges | undefined
  readonly changes: BodyChanges
  readonly guards: Guards
}

type Needs = Files | Upstreams | Scope.Scope

/** Compiles the models; problems carry their whole paths. */
export const compileModels = (
  configs: ReadonlyArray<ModelConfig>
): Effect.Effect<ReadonlyArray<Model>, ReadonlyArray<ConfigProblem>, Needs> =>
  Effect.gen(function* () {
    const models: Array<Model> = []
    const problems: Array<ConfigProblem> = []
    for (const config of configs) {
      const compiled = yield* Effect.result(compileModel(config))
      if (compiled._tag === "Success") models.push(compiled.success)
      else problems.push(...compiled.failure)
    }
    return problems.length > 0 ? yield* Effect.fail(problems) : models
  })

/** What the router applies itself; everything else that a model may have is refused, never ignored. */
const applied = new Set([
  "requestHeaderModifier",
  "responseHeaderModifier",
  "authorization",
  "ai",
  "backendAuth",
  "backendTLS"
])
const appliedByAi = new Set([
  "defaults",
  "overrides",
  "transformations",
  "finalTransformations",
  "promptCaching",
  "promptGuard"
])

const compileModel = (config: ModelConfig): Effect.Effect<Model, ReadonlyArray<ConfigProblem>, Needs> =>
  Effect.gen(function* () {
    const problems: Array<ConfigProblem> = []
    const pathOf = (name: string) => config.policies[name]?.branches[0]?.path ?? config.path
    const lacks = (path: ConfigProblem["path"], what: string) => problems.push(unavailable(path, what))
    // The schemas of the policies decoded them; here they get their types back.
    const policies = Object.fromEntries(
      Object.values(config.policies).map(({ name, branches }) => [name, branches[0]?.config])
    ) as ModelPolicies & Readonly<Record<string, unknown>>
    for (const name of Object.keys(policies)) if (!applied.has(name)) lacks(pathOf(name), `${name} of a model`)
    for (const key of Object.keys(policies.ai ?? {}))
      if (!appliedByAi.has(key)) lacks(pathOf("ai"), `${key} of a model`)
    // The scheme comes from the base URL alone; what says whom to trust must not be left out silently.
    for (const [key, value] of Object.entries(policies["backendTLS"] ?? {}))
      if (value !== undefined && value !== false) lacks(pathOf("backendTLS"), `${key} of backendTLS of a model`)
    if (config.tokenize) lacks([...config.path, "params", "tokenize"], "tokenize of a model")
    const meant = matchesOf(config, problems)

    const settings = providerSettings(config)
    if ("message" in settings)
      return yield* Effect.fail([...problems, { ...settings, path: [...config.path, ...settings.path] }])
    const pattern = parsePattern(config.name)
    if (pattern === undefined)
      return yield* Effect.fail([
        ...problems,
        { path: [...config.path, "name"], message: "expected at most one *, at an end" }
      ])
    const provider = compileProvider(settings)
    const destination: Destination =
      config.provider.kind === "mock"
        ? { type: "mock", answer: mockUpstream(mockSettings(config.provider.config)) }
        : yield* httpDestination(provider, config)
    const { authorization, ai } = policies
    const rules =
      authorization === undefined
        ? undefined
        : yield* compileRules(authorization.rules, "llm", [...pathOf("authorization"), "rules"])
    const headers = (name: "requestHeaderModifier" | "responseHeaderModifier") => {
      const own = policies[name]
      if (own === undefined) return undefined
      const changes = compileHeaderChanges(own)
      if (!("problems" in changes)) return changes
      for (const { path, message } of changes.problems) problems.push({ path: [...pathOf(name), ...path], message })
      return undefined
    }
    const requestHeaders = headers("requestHeaderModifier")
    const responseHeaders = headers("responseHeaderModifier")
    const inAi = (part: ConfigProblem["path"]) => originOf(config.policies["ai"], part) ?? [...config.path, ...part]
    const guards = yield* Effect.mapError(compileGuards(ai?.promptGuard), (found) =>
      found.map((problem) => ({ ...problem, path: inAi(["promptGuard", ...problem.path]) }))
    )
    const changes = yield* compileBodyChanges(ai ?? {}, inAi)
    if (problems.length > 0) return yield* Effect.fail(problems)
    return {
      name: config.name,
      pattern,
      meant,
      internal: config.visibility === "internal",
      providerModel: config.provider.config.model,
      provider,
      destination,
      translators: makeTranslators(settings, ai?.promptCaching),
      routeType: compileRouteTypes(routerPaths, config.passthrough === "detect" ? "detect" : undefined),
      rules,
      requestHeaders,
      responseHeaders,
      changes,
      guards
    }
  })

/** Any of the matches must hold, and in it every header condition. */
const matchesOf = ({ matches, path }: ModelConfig, problems: Array<ConfigProblem>): HeaderTest | undefined => {
  if (matches.length === 0) return undefined
  const alternatives = matches.map(({ headers = [] }, index) =>
    headers.flatMap((header, at): ReadonlyArray<HeaderTest> => {
      const { name, value } = header
      const compiled = compileHeaderMatch({
        name,
        value: value.exact === undefined ? { regex: value.regex } : { exact: value.exact }
      })
      if (Result.isSuccess(compiled)) return [compiled.success]
      const { path: below, message } = compiled.failure
      problems.push({ path: [...path, "matches", index, "headers", at, ...below], message })
      return []
    })
  )
  return (request) => alternatives.some((tests) => tests.every((test) => test(request)))
}

/** Where a part of a policy was written: the section is no policy itself, its parts come from several places. */
const originOf = (policy: ModelPolicy | undefined, part: ConfigProblem["path"]): ConfigProblem["path"] | undefined => {
  const origin = policy?.branches[0]?.origins?.find(({ part: whole }) => whole.every((key, i) => key === part[i]))
  return origin && [...origin.path, ...part.slice(origin.part.length)]
}

const mockSettings = ({ seed, latency, tokensPerSecond, failureRate }: MockParams) => ({
  seed,
  latencyMs: latency,
  tokensPerSecond,
  failureRate
})

/** Where clients of the various APIs put their keys. */
const keyHeaders = ["x-api-key", "x-goog-api-key", "api-key"]

const addressKey = ({ scheme, host, port }: Target) => `${scheme}://${host}:${port}`

/** Every address that a call of this provider may have is opened now: none of them depends on the request. */
const httpDestination = (
  provider: Provider,
  config: ModelConfig
): Effect.Effect<Destination, ReadonlyArray<ConfigProblem>, Needs> =>
  Effect.gen(function* () {
    const { open } = yield* Upstreams
    const upstreams = new Map<string, Upstream>()
    const key = yield* keyOf(config)
    const model = config.provider.config.model ?? config.name.replace("*", "x")
    const call = (format: WireFormat | "passthrough"): Call => ({
      format,
      model,
      streaming: false,
      translated: false,
      clientPath: "/",
      clientQuery: ""
    })
    for (const format of [...wireFormats, "passthrough" as const]) {
      const target = provider.target(call(format))
      if ("_tag" in target || upstreams.has(addressKey(target))) continue
      if (target.credential.type !== "key" && key === undefined) {
        const path = [...config.path, "provider"]
        // What a cloud knows the gateway by when there is no key.
        const identity = `the identity of ${target.credential.type}`
        return yield* Effect.fail([
          { ...unavailable(path, identity), message: `${identity} is not available yet: give params.apiKey` }
        ])
      }
      const { host, port, scheme } = target
      upstreams.set(addressKey(target), yield* open({ kind: "tcp", host, port, tls: scheme === "https" }, {}))
    }
    return {
      type: "http",
      upstreamOf: (target) => upstreams.get(addressKey(target)),
      authorize: (x, target) => {
        const { headers } = x.request
        // Without a key of its own the model is called with what the client sent.
        if (key !== undefined) {
          // What the client proved itself with to the gateway is none of the provider's business.
          for (const name of keyHeaders) headers.delete(name)
          headers.set("authorization", `Bearer ${Redacted.value(key)}`)
        }
        const placed = placeKey(target.credential, headers.get("authorization"), false)
        for (const name of placed.remove) headers.delete(name)
        for (const [name, value] of placed.set) headers.set(name, value)
      }
    }
  })

/** The key of a model: the one kind of credential that exists so far. */
const keyOf = (
  config: ModelConfig
): Effect.Effect<Redacted.Redacted<string> | undefined, ReadonlyArray<ConfigProblem>, Files> =>
  Effect.gen(function* () {
    const policy = config.policies["backendAuth"]?.branches[0]
    if (policy === undefined) return undefined
    const auth = policy.config as (typeof BackendAuth)["Type"]
    const { key } = auth
    if (key === undefined || key.location !== undefined || auth.credentials.length > 0)
      return yield* Effect.fail([unavailable(policy.path, "credentials other than a key", "are")])
    if (Redacted.isRedacted(key.value)) return key.value
    const { read } = yield* Files
    const text = yield* Effect.mapError(read(key.value.file), ({ message }) => [{ path: policy.path, message }])
    return Redacted.make(text)
  })

/** Whether a call went well: only then its answer is one of a model. */
export const succeeded = ({ status }: Answer): boolean => status >= 200 && status < 300
