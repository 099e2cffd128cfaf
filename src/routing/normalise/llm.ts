/** The `llm` section as models: provider defaults merged in, parameters of providers where they belong, everything else as policies. */
import { didYouMean } from "../../../spec/config/nearest.ts"
import type { Path } from "../../../spec/config/path.ts"
import type { PromptGuard } from "../../../spec/guardrails.ts"
import type { ProviderOverrides } from "../../../spec/models.ts"
import type { Llm, MockParams, ModelParams, ModelProvider } from "../../../spec/standalone/llm.ts"
import { parseUrl } from "../../../spec/target.ts"
import { type Model, type ModelGateway, matchesModel, type Provider, type VirtualModel } from "../models.ts"
import type { Policies } from "../normalised.ts"
import type { Complaints } from "./complaints.ts"
import { synthetic } from "./policies.ts"

type ModelConfig = Llm["models"][number]
type ProviderConfig = NonNullable<Llm["providers"]>[number]
type Handling = NonNullable<ProviderConfig["defaults"]>

/** A value and where it was written. */
interface Written<A> {
  readonly value: A
  readonly path: Path
}

/** Expands the section. */
export const modelGateway = (llm: Llm, problems: Complaints): ModelGateway => {
  const providers = new Map<string, Written<ProviderConfig>>()
  llm.providers?.forEach((value, index) => {
    const path: Path = ["llm", "providers", index]
    if (providers.has(value.name)) problems.add([...path, "name"], `provider ${value.name} is defined twice`)
    providers.set(value.name, { value, path })
  })
  const shared = [
    written(llm.guardrails, ["llm", "guardrails"]),
    written(llm.policies?.guardrails, ["llm", "policies", "guardrails"])
  ].filter((guard) => guard !== undefined)

  const ids = new Set<string>()
  const models = llm.models.map((config, index) => {
    const path: Path = ["llm", "models", index]
    if (config.id !== undefined && ids.has(config.id))
      problems.add([...path, "id"], `model id ${config.id} is used twice`)
    if (config.id !== undefined) ids.add(config.id)
    return modelOf({ value: config, path }, index, providers, shared, problems)
  })
  return { models, virtualModels: virtualModels(llm, problems) }
}

const written = <A>(value: A | undefined, path: Path): Written<A> | undefined =>
  value === undefined ? undefined : { value, path }

const located = <A>(list: ReadonlyArray<A> | undefined, path: Path): ReadonlyArray<Written<A>> =>
  (list ?? []).map((value, index) => ({ value, path: [...path, index] }))

const modelOf = (
  { value: config, path }: Written<ModelConfig>,
  index: number,
  providers: ReadonlyMap<string, Written<ProviderConfig>>,
  shared: ReadonlyArray<Written<PromptGuard>>,
  problems: Complaints
): Model => {
  const reference = config.provider.kind === "reference" ? config.provider.name : undefined
  const base = reference === undefined ? undefined : providers.get(reference)
  if (reference !== undefined && base === undefined)
    problems.add(
      [...path, "provider"],
      `unknown provider reference ${reference}${didYouMean(reference, providers.keys())}`,
      { among: ["llm", "providers"], isName: (word) => word === reference }
    )
  if (reference !== undefined)
    for (const key of Object.keys(config.params ?? {}))
      if (key !== "model")
        problems.add([...path, "params", key], "a model with a provider reference can only set params.model")

  const own = { value: config.params ?? {}, path: [...path, "params"] }
  const params: Written<ModelParams> =
    base === undefined ? own : { value: { ...base.value.params, ...own.value }, path: [...base.path, "params"] }
  const provider = providerOf(base?.value.provider ?? config.provider, base?.value.name, params, problems)
  const { overrides, tls } = addressOf(params, problems)
  if (
    provider.kind === "custom" &&
    overrides.hostOverride === undefined &&
    (reference === undefined || base !== undefined)
  )
    problems.add(base?.path ?? path, "a custom provider requires params.baseUrl")

  return {
    key: config.id === undefined ? `llm:model:${config.name}:${index}` : `llm:model:${config.id}`,
    name: config.name,
    visibility: config.visibility ?? "public",
    provider,
    matches: config.matches ?? [],
    passthrough: config.passthrough,
    ...overrides,
    policies: policiesOf({ value: config, path }, base, params, tls, shared, problems),
    path
  }
}

const required: Partial<Record<string, ReadonlyArray<keyof ModelParams>>> = {
  vertex: ["vertexProject"],
  bedrock: ["awsRegion"],
  azure: ["azureResourceName", "azureResourceType"]
}

const defaultMock: MockParams = { seed: 0, latency: 0, tokensPerSecond: 0, failureRate: 0 }

const defined = <T extends object>(value: T): { readonly [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never

const providerOf = (
  provider: ModelProvider,
  name: string | undefined,
  { value: params, path }: Written<ModelParams>,
  problems: Complaints
): Provider => {
  const model = defined({ model: params.model })
  switch (provider.kind) {
    // A reference that leads nowhere is refused elsewhere.
    case "reference":
      return { kind: "openAI", config: model }
    case "preset":
      return { kind: "preset", config: { name: provider.name, ...model } }
    case "custom": {
      const { config } = provider
      const providerOverride = config.providerOverride ?? name
      return {
        kind: "custom",
        config: { ...config, ...model, ...(providerOverride === undefined ? {} : { providerOverride }) }
      }
    }
  }
  for (const key of required[provider.name] ?? [])
    if (params[key] === undefined) problems.add([...path, key], `required for provider ${provider.name}`)
  switch (provider.name) {
    case "openai":
      return { kind: "openAI", config: model }
    case "vertex":
      return {
        kind: "vertex",
        config: { ...model, ...defined({ region: params.vertexRegion }), projectId: params.vertexProject ?? "" }
      }
    case "bedrock":
      return { kind: "bedrock", config: { ...model, region: params.awsRegion ?? "" } }
    case "azure":
      return {
        kind: "azure",
        config: {
          ...model,
          resourceName: params.azureResourceName ?? "",
          resourceType: params.azureResourceType ?? "openAI",
          ...defined({ apiVersion: params.azureApiVersion, projectName: params.azureProjectName })
        }
      }
    case "mock":
      return { kind: "mock", config: { ...(params.mock ?? defaultMock), ...model } }
    default:
      return { kind: provider.name, config: model }
  }
}

/** `baseUrl` in its parts; what is set explicitly wins over it. */
const addressOf = ({ value: params, path }: Written<ModelParams>, problems: Complaints) => {
  const { baseUrl, hostOverride, pathOverride, pathPrefix, tokenize = false } = params
  const url = baseUrl === undefined || /[?#]/.test(baseUrl) ? undefined : parseUrl(baseUrl)
  if (baseUrl !== undefined && url === undefined)
    problems.add([...path, "baseUrl"], "expected an http or https URL without user information, query and fragment")
  const prefix = url?.path.replace(/\/+$/, "")
  const overrides: ProviderOverrides = {
    hostOverride: hostOverride ?? url?.address,
    pathOverride,
    pathPrefix: pathPrefix ?? (pathOverride === undefined && prefix !== "" ? prefix : undefined),
    tokenize
  }
  return { overrides, tls: hostOverride === undefined && url?.address.kind === "tcp" && url.address.tls }
}

/** The names under which the section writes what elsewhere are policies of a backend. */
const policyNames = {
  backendTLS: "backendTLS",
  auth: "backendAuth",
  health: "health",
  backendTunnel: "backendTunnel",
  requestHeaders: "requestHeaderModifier",
  responseHeaders: "responseHeaderModifier"
} as const satisfies { readonly [K in keyof Handling]?: string }

const policiesOf = (
  model: Written<ModelConfig>,
  base: Written<ProviderConfig> | undefined,
  params: Written<ModelParams>,
  tls: boolean,
  shared: ReadonlyArray<Written<PromptGuard>>,
  problems: Complaints
): Policies => {
  const defaults: Written<Handling> | undefined = base && written(base.value.defaults, [...base.path, "defaults"])
  const pick = (key: keyof Handling): Written<unknown> | undefined =>
    written<unknown>(model.value[key], [...model.path, key]) ??
    (defaults && written<unknown>(defaults.value[key], [...defaults.path, key]))

  const policies: Array<Policies> = []
  for (const [key, name] of Object.entries(policyNames) as ReadonlyArray<readonly [keyof typeof policyNames, string]>) {
    const found = pick(key)
    if (found !== undefined) policies.push(synthetic(name, found.value, found.path))
  }
  if (params.value.apiKey !== undefined) {
    const keyPath: Path = [...params.path, "apiKey"]
    const owner = base === undefined ? model.value.auth : base.value.defaults?.auth
    if (owner !== undefined) problems.add(keyPath, "apiKey and auth exclude each other")
    else if (pick("auth") === undefined)
      policies.push(synthetic("backendAuth", { key: { value: params.value.apiKey }, credentials: [] }, keyPath))
  }
  if (tls && pick("backendTLS") === undefined)
    policies.push(synthetic("backendTLS", { insecure: false, insecureHost: false }, [...params.path, "baseUrl"]))
  const { authorization } = model.value
  if (authorization !== undefined)
    policies.push(synthetic("authorization", authorization, [...model.path, "authorization"]))
  policies.push(aiPolicy(model, defaults, pick("promptCaching"), shared))
  return Object.assign({}, ...policies)
}

/** What the model does with requests and answers, as the `ai` policy has it. */
const aiPolicy = (
  model: Written<ModelConfig>,
  defaults: Written<Handling> | undefined,
  promptCaching: Written<unknown> | undefined,
  shared: ReadonlyArray<Written<PromptGuard>>
): Policies => {
  const origins: Array<{ readonly part: Path; readonly path: Path }> = []
  const config: Record<string, unknown> = {}
  const merge = (from: "defaults" | "overrides" | "transformation", to: string) => {
    const sources = [defaults, model].filter((source) => source?.value[from] !== undefined)
    if (sources.length > 0) config[to] = Object.assign({}, ...sources.map((source) => source!.value[from]))
    for (const source of sources)
      for (const key of Object.keys(source!.value[from]!))
        origins.push({ part: [to, key], path: [...source!.path, from, key] })
  }
  merge("defaults", "defaults")
  merge("overrides", "overrides")
  merge("transformation", "transformations")
  if (model.value.finalTransformation !== undefined) {
    config["finalTransformations"] = model.value.finalTransformation
    origins.push({ part: ["finalTransformations"], path: [...model.path, "finalTransformation"] })
  }
  if (promptCaching !== undefined) {
    config["promptCaching"] = promptCaching.value
    origins.push({ part: ["promptCaching"], path: promptCaching.path })
  }
  const own = written(model.value.guardrails, [...model.path, "guardrails"])
  const guards = own === undefined ? shared : [...shared, own]
  if (guards.length > 0) {
    const request = guards.flatMap(({ value, path }) => located(value.request, [...path, "request"]))
    const response = guards.flatMap(({ value, path }) => located(value.response, [...path, "response"]))
    config["promptGuard"] = {
      streaming: guards.some(({ value }) => value.streaming === "Enabled") ? "Enabled" : "Disabled",
      request: request.map(({ value }) => value),
      response: response.map(({ value }) => value)
    } satisfies PromptGuard
    request.forEach(({ path }, index) => origins.push({ part: ["promptGuard", "request", index], path }))
    response.forEach(({ path }, index) => origins.push({ part: ["promptGuard", "response", index], path }))
  }
  return Object.keys(config).length === 0 ? {} : synthetic("ai", config, model.path, origins)
}

const virtualModels = (llm: Llm, problems: Complaints): ReadonlyArray<VirtualModel> => {
  const names = new Set<string>()
  return (llm.virtualModels ?? []).map(({ name, routing }, index) => {
    const path: Path = ["llm", "virtualModels", index]
    if (names.has(name)) problems.add([...path, "name"], `virtual model ${name} is defined twice`)
    names.add(name)
    const known = (kind: string, targets: ReadonlyArray<{ readonly model: string }>) =>
      targets.forEach(({ model }, at) => {
        if (!llm.models.some((each) => matchesModel(each.name, model)))
          problems.add(
            [...path, "routing", kind, "targets", at, "model"],
            `virtual model target ${model} does not match any llm.models entry${didYouMean(
              model,
              llm.models.map((each) => each.name)
            )}`,
            { among: ["llm", "models"], isName: (word) => matchesModel(word, model) }
          )
      })
    if (routing.weighted !== undefined) {
      known("weighted", routing.weighted.targets)
      const targets = routing.weighted.targets.map(({ model, weight = 1 }) => ({ model, weight }))
      return { name, routing: { kind: "weighted", targets }, path }
    }
    if (routing.failover !== undefined) {
      known("failover", routing.failover.targets)
      return { name, routing: { kind: "failover", targets: routing.failover.targets }, path }
    }
    known("conditional", routing.conditional.targets)
    const targets = routing.conditional.targets.map(({ model, when }) => ({ model, when }))
    return { name, routing: { kind: "conditional", targets }, path }
  })
}
