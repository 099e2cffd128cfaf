/** The models of a router, compiled: by name, each with where its calls go and what they carry. */
import { Effect, Redacted, type Scope } from "effect"
import { compileHeaderChanges, type HeaderChanges } from "../../src/http/header-changes.ts"
import type { Answer } from "../../src/http/message.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { compileRules, type Rules } from "../../src/pipeline/rules.ts"
import type { ConfigProblem } from "../../src/pipeline/stage.ts"
import { defaultMockSettings } from "../../src/protocols/llm/mock/settings.ts"
import type { JsonObject } from "../../src/protocols/llm/models/json.ts"
import { type NamePattern, parsePattern } from "../../src/protocols/llm/models/name-pattern.ts"
import { compileRouteTypes, type RouteType, routerPaths } from "../../src/protocols/llm/models/route-type.ts"
import { placeKey } from "../../src/protocols/llm/providers/credential.ts"
import { compileProvider, type Provider } from "../../src/protocols/llm/providers/provider.ts"
import type { Call, Target } from "../../src/protocols/llm/providers/target.ts"
import { type WireFormat, wireFormats } from "../../src/protocols/llm/providers/wire-format.ts"
import { Files } from "../../src/services/files.ts"
import { type Upstream, Upstreams } from "../../src/services/upstreams.ts"
import { compileGuards, type Guards } from "./guards.ts"
import { mockUpstream } from "./mock-upstream.ts"
import type { LlmRouterConfig } from "./schema.ts"
import { providerSettings, type ResolvedModel, resolveModel } from "./settings.ts"

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
  readonly internal: boolean
  /** The model that the provider is asked for; the client's when there is none. */
  readonly providerModel: string | undefined
  readonly provider: Provider
  readonly destination: Destination
  readonly routeType: (path: string) => RouteType
  readonly rules: Rules | undefined
  readonly requestHeaders: HeaderChanges | undefined
  readonly responseHeaders: HeaderChanges | undefined
  readonly defaults: JsonObject | undefined
  readonly overrides: JsonObject | undefined
  readonly guards: Guards
}

type Needs = Files | Upstreams | Scope.Scope

/** Compiles the models; problems carry paths below the section. */
export const compileModels = (
  config: LlmRouterConfig
): Effect.Effect<ReadonlyArray<Model>, ReadonlyArray<ConfigProblem>, Needs> =>
  Effect.gen(function* () {
    const models: Array<Model> = []
    const problems: Array<ConfigProblem> = []
    for (const [index, source] of config.models.entries()) {
      const at = ["models", index] as const
      const resolved = resolveModel(source, config.providers ?? [])
      if ("message" in resolved) {
        problems.push({ path: [...at, ...resolved.path], message: resolved.message })
        continue
      }
      const compiled = yield* Effect.result(compileModel(config, resolved))
      if (compiled._tag === "Success") models.push(compiled.success)
      else for (const { path, message } of compiled.failure) problems.push({ path: [...at, ...path], message })
    }
    return problems.length > 0 ? yield* Effect.fail(problems) : models
  })

/** Settings that the language knows and that do nothing yet: refused, never ignored. */
const unavailable = [
  "transformation",
  "finalTransformation",
  "backendTLS",
  "auth",
  "health",
  "backendTunnel",
  "promptCaching",
  "matches"
] as const

const compileModel = (
  section: LlmRouterConfig,
  resolved: ResolvedModel
): Effect.Effect<Model, ReadonlyArray<ConfigProblem>, Needs> =>
  Effect.gen(function* () {
    const { config, params } = resolved
    const problems: Array<ConfigProblem> = []
    for (const key of unavailable)
      if (config[key] !== undefined) problems.push({ path: [key], message: `${key} of a model is not available yet` })
    const settings = providerSettings(resolved)
    if ("message" in settings) return yield* Effect.fail([...problems, settings])
    const pattern = parsePattern(config.name)
    if (pattern === undefined)
      return yield* Effect.fail([...problems, { path: ["name"], message: "expected at most one *, at an end" }])
    const provider = compileProvider(settings)
    const isMock = resolved.provider.kind === "builtin" && resolved.provider.name === "mock"
    const destination: Destination = isMock
      ? { type: "mock", answer: mockUpstream(mockSettings(resolved)) }
      : yield* httpDestination(provider, resolved)
    const rules =
      config.authorization === undefined
        ? undefined
        : yield* compileRules(config.authorization.rules, "llm", ["authorization", "rules"])
    const headers = (key: "requestHeaders" | "responseHeaders") => {
      const own = config[key]
      if (own === undefined) return undefined
      const changes = compileHeaderChanges(own)
      if (!("problems" in changes)) return changes
      for (const { path, message } of changes.problems) problems.push({ path: [key, ...path], message })
      return undefined
    }
    const requestHeaders = headers("requestHeaders")
    const responseHeaders = headers("responseHeaders")
    const guards = yield* compileGuards([section.guardrails, config.guardrails])
    if (problems.length > 0) return yield* Effect.fail(problems)
    return {
      name: config.name,
      pattern,
      internal: config.visibility === "internal",
      providerModel: params.model,
      provider,
      destination,
      routeType: compileRouteTypes(routerPaths, config.passthrough === "detect" ? "detect" : undefined),
      rules,
      requestHeaders,
      responseHeaders,
      defaults: config.defaults,
      overrides: config.overrides,
      guards
    }
  })

const mockSettings = ({ params: { mock } }: ResolvedModel) =>
  mock === undefined
    ? defaultMockSettings
    : { seed: mock.seed, latencyMs: mock.latency, tokensPerSecond: mock.tokensPerSecond, failureRate: mock.failureRate }

const addressKey = ({ scheme, host, port }: Target) => `${scheme}://${host}:${port}`

/** Every address that a call of this provider may have is opened now: none of them depends on the request. */
const httpDestination = (
  provider: Provider,
  { params, config }: ResolvedModel
): Effect.Effect<Destination, ReadonlyArray<ConfigProblem>, Needs> =>
  Effect.gen(function* () {
    const { open } = yield* Upstreams
    const upstreams = new Map<string, Upstream>()
    const model = params.model ?? config.name.replace("*", "x")
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
      if (target.credential.type !== "key")
        return yield* Effect.fail([
          { path: ["provider"], message: `the credentials of ${target.credential.type} are not available yet` }
        ])
      const { host, port, scheme } = target
      upstreams.set(addressKey(target), yield* open({ kind: "tcp", host, port, tls: scheme === "https" }, {}))
    }
    const key = yield* keyOf(params.apiKey)
    return {
      type: "http",
      upstreamOf: (target) => upstreams.get(addressKey(target)),
      authorize: (x, target) => {
        const { headers } = x.request
        // Without a key of its own the model is called with what the client sent.
        if (key !== undefined) headers.set("authorization", `Bearer ${Redacted.value(key)}`)
        const placed = placeKey(target.credential, headers.get("authorization"), false)
        for (const name of placed.remove) headers.delete(name)
        for (const [name, value] of placed.set) headers.set(name, value)
      }
    }
  })

type KeySource = NonNullable<ResolvedModel["params"]["apiKey"]>

const keyOf = (
  source: KeySource | undefined
): Effect.Effect<Redacted.Redacted<string> | undefined, ReadonlyArray<ConfigProblem>, Files> =>
  Effect.gen(function* () {
    if (source === undefined || Redacted.isRedacted(source)) return source
    const { read } = yield* Files
    const text = yield* Effect.mapError(read(source.file), ({ message }) => [
      { path: ["params", "apiKey", "file"], message }
    ])
    return Redacted.make(text)
  })

/** Whether a call went well: only then its answer is one of a model. */
export const succeeded = ({ status }: Answer): boolean => status >= 200 && status < 300
