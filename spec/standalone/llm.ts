/** The `llm` section: a gateway of its own for models, with their providers, names and prices. */
import { Schema, SchemaGetter } from "effect"
import { BackendAuth, BackendTunnel } from "../connection/policies.ts"
import { BackendTls } from "../connection/tls.ts"
import { JsonObject, SecretFileOrInline } from "../content.ts"
import {
  defaulted,
  exactlyOneOf,
  exclusive,
  hinted,
  object,
  optional,
  type Rule,
  required,
  ruled,
  withAliases
} from "../field.ts"
import { PromptCaching, PromptGuard } from "../guardrails.ts"
import { HeaderMatch, HeaderModifier } from "../header.ts"
import { HealthPolicy } from "../health.ts"
import { CelExpression, Count, Duration, Fraction, HostLabel, HttpUrl, PortNumber, ShortString } from "../primitives.ts"
import { RuleSet } from "../rules.ts"
import { HostPort } from "../target.ts"
import { ServerTls } from "./listener.ts"
import { misplaced, type PolicySpecs, policyFields } from "./policies.ts"
import { AzureResourceType, CustomProvider, providerAddress } from "./provider.ts"
import { gatewayRefs } from "./route.ts"

/** Providers that are known by name. `openAI` is another spelling of `openai`. */
export const builtinProviders = [
  "openai",
  "openAI",
  "gemini",
  "vertex",
  "anthropic",
  "bedrock",
  "azure",
  "copilot",
  "mock"
] as const

/** Providers that speak known formats at known addresses. */
export const presetProviders = [
  "cohere",
  "ollama",
  "baseten",
  "cerebras",
  "deepinfra",
  "deepseek",
  "groq",
  "huggingface",
  "mistral",
  "openrouter",
  "togetherai",
  "xai",
  "fireworks"
] as const

const ProviderName = Schema.Literals([...builtinProviders, ...presetProviders]).annotate({
  identifier: "ProviderName",
  description: "A provider that is known by name."
})

const custom = { custom: required(CustomProvider, "A provider that is described by what it speaks.") }

const OwnProvider = Schema.Union([
  ProviderName,
  exactlyOneOf("CustomModelProvider", "A provider that is not known by name.", custom)
])

const ProviderForm = Schema.Union([
  ProviderName,
  exactlyOneOf("ModelProviderByKey", "A provider of `llm.providers`, or one that is not known by name.", {
    reference: required(ShortString, "A provider of `llm.providers`."),
    ...custom
  })
]).annotate({ identifier: "ModelProvider", description: "A provider: by name, by `reference`, or `custom`." })

type Builtin = Exclude<(typeof builtinProviders)[number], "openAI">

/** The provider of a model: a known one, one with a preset address, one of `llm.providers`, or one of its own. */
export type ModelProvider =
  | { readonly kind: "builtin"; readonly name: Builtin }
  | { readonly kind: "preset"; readonly name: (typeof presetProviders)[number] }
  | { readonly kind: "reference"; readonly name: string }
  | { readonly kind: "custom"; readonly config: typeof CustomProvider.Type }

const ModelProviderType = Schema.Struct({
  kind: Schema.Literals(["builtin", "preset", "reference", "custom"]),
  name: Schema.optionalKey(Schema.String),
  config: Schema.optionalKey(Schema.toType(CustomProvider))
}) as unknown as Schema.Codec<ModelProvider>

const decodeProvider = (form: typeof ProviderForm.Type): ModelProvider => {
  if (typeof form !== "string")
    return form.custom === undefined
      ? { kind: "reference", name: form.reference }
      : { kind: "custom", config: form.custom }
  if (form === "openAI") return { kind: "builtin", name: "openai" }
  return (presetProviders as ReadonlyArray<string>).includes(form)
    ? { kind: "preset", name: form as (typeof presetProviders)[number] }
    : { kind: "builtin", name: form as Builtin }
}

const encodeProvider = (provider: ModelProvider): typeof ProviderForm.Type => {
  if (provider.kind === "reference") return { reference: provider.name }
  return provider.kind === "custom" ? { custom: provider.config } : provider.name
}

const ModelProvider = ProviderForm.pipe(
  Schema.decodeTo(ModelProviderType, {
    decode: SchemaGetter.transform(decodeProvider),
    encode: SchemaGetter.transform(encodeProvider)
  })
)

const NamedProvider = OwnProvider.pipe(
  Schema.decodeTo(ModelProviderType, {
    decode: SchemaGetter.transform((form: typeof OwnProvider.Type) => decodeProvider(form)),
    encode: SchemaGetter.transform((provider: ModelProvider) => encodeProvider(provider) as typeof OwnProvider.Type)
  })
)

const { tokenize: _, ...overrides } = providerAddress

/** How the built-in `mock` provider answers. */
export const MockParams = object(
  "MockParams",
  "How the built-in `mock` provider answers: without a model, and always in the same way.",
  {
    seed: defaulted(Count, 0, "Other seeds give other answers and other failures."),
    latency: defaulted(Duration, "0s", "Time until an answer begins."),
    tokensPerSecond: defaulted(Count, 0, "Speed of an answer; 0 is at once."),
    failureRate: defaulted(Fraction, 0, "Share of the calls that fail.")
  }
)

export type MockParams = typeof MockParams.Type

const Params = object("ModelParams", "How a provider is asked for a model.", {
  model: optional(ShortString, "Model to ask for; the one of the client when left out."),
  apiKey: optional(SecretFileOrInline, "Key for the provider."),
  baseUrl: optional(
    HttpUrl,
    "Address and base path in place of the usual ones; without user information, query and fragment."
  ),
  hostOverride: optional(HostPort, "Deprecated: use `baseUrl`. Address in place of the usual one."),
  ...overrides,
  tokenize: optional(
    Schema.Boolean,
    "Whether the tokens of a request are counted before it is admitted to a token limit."
  ),
  awsRegion: optional(HostLabel, "Region, for `bedrock`."),
  vertexRegion: optional(HostLabel, "Region, for `vertex`."),
  vertexProject: optional(ShortString, "Project, for `vertex`."),
  azureResourceName: optional(HostLabel, "Resource, for `azure`."),
  azureResourceType: optional(AzureResourceType, "Kind of the resource, for `azure`."),
  azureApiVersion: optional(ShortString, "Version of the interface, for `azure`."),
  azureProjectName: optional(ShortString, "Project, for `azure`."),
  mock: optional(MockParams, "How the `mock` provider answers.")
})

export type ModelParams = typeof Params.Type

const handling = {
  defaults: optional(JsonObject, "Fields of the request body to set where the client did not."),
  overrides: optional(JsonObject, "Fields of the request body to set always."),
  transformation: optional(
    Schema.Record(Schema.String, CelExpression),
    "Computed fields of the request body, before translation."
  ),
  requestHeaders: optional(HeaderModifier, "Changes of headers towards the provider."),
  responseHeaders: optional(HeaderModifier, "Changes of headers from the provider."),
  backendTLS: optional(BackendTls, "TLS towards the provider."),
  auth: optional(BackendAuth, "How the proxy authenticates to the provider."),
  health: optional(HealthPolicy, "Watches the health of the provider."),
  backendTunnel: optional(BackendTunnel, "Reaches the provider through an HTTP proxy."),
  promptCaching: optional(PromptCaching, "Marks where a provider may cache a prompt.")
}

const tls = { tls: "backendTLS" } as const

const Provider = object("LlmProvider", "A provider with a name, for several models.", {
  name: required(ShortString, "Name of the provider, for `reference`."),
  provider: required(NamedProvider, "The provider."),
  params: optional(Params, "How the provider is asked."),
  defaults: optional(
    withAliases(object("LlmProviderDefaults", "What the models of the provider have in common.", handling), tls),
    "What its models have in common; a model's own settings win."
  )
})

const ModelPattern = Schema.String.check(
  Schema.isPattern(/^(?:\*?[^*]+|[^*]+\*|\*)$/u, {
    expected: "a model name with at most one *, at its start or its end"
  })
).annotate({ identifier: "ModelNamePattern", description: "A model name: exact, `prefix*`, `*suffix`, or `*`." })

const ModelMatch = object("ModelMatch", "Conditions on a request that must all hold.", {
  headers: optional(Schema.Array(HeaderMatch), "Conditions on headers.")
})

const modelFields = {
  name: required(ModelPattern, "Name by which clients ask for the model; at most one `*`, first or last."),
  id: optional(ShortString, "Identity of the model that outlives a change of its name; unique."),
  provider: required(ModelProvider, "The provider: by name, by `reference`, or `custom`."),
  params: optional(Params, "How the provider is asked."),
  visibility: optional(
    Schema.Literals(["public", "internal"]),
    "`internal` models are for virtual models only; `public` when left out."
  ),
  matches: optional(Schema.Array(ModelMatch), "Conditions on the request; one entry is enough."),
  authorization: optional(RuleSet, "Decides by rules who may use the model."),
  guardrails: optional(PromptGuard, "Guards over prompts and completions, after those of all models."),
  passthrough: optional(
    Schema.Literals(["detect", "opaque"]),
    "How paths that are not known are passed on: with a look at the usage, or as they are."
  ),
  finalTransformation: optional(
    Schema.Record(Schema.String, CelExpression),
    "Computed fields of the request body, after translation for the provider."
  ),
  ...handling
}

const Model = withAliases(object("LlmModel", "A model that clients may ask for.", modelFields), tls)

const atLeastOne = Schema.isMinLength(1, { expected: "at least one target" })
const target = { model: required(ShortString, "Name of a model.") }

const fallbackLast: Rule<ReadonlyArray<object>> = {
  check: (targets) => {
    const early = targets.findIndex((each, index) => index < targets.length - 1 && !("when" in each))
    return early === -1 ? undefined : { path: [early], issue: "only the last target may have no condition" }
  }
}

const ConditionalTargets = Schema.Array(
  object("ConditionalTarget", "A model and when it is used.", {
    ...target,
    when: optional(CelExpression, "When the model is used; the last target may do without.")
  })
).check(atLeastOne, Schema.isMaxLength(64, { expected: "at most 64 targets" }))

const VirtualModel = object("VirtualModel", "A name that leads to one of several models.", {
  name: required(
    ShortString.check(Schema.isPattern(/^[^*]+$/u, { expected: "a model name without *" })).annotate({
      identifier: "VirtualModelName",
      description: "An exact model name."
    }),
    "The exact name by which clients ask for it."
  ),
  routing: required(
    exactlyOneOf("VirtualRouting", "How one of several models is chosen.", {
      weighted: required(
        object("WeightedRouting", "By weight.", {
          targets: required(
            Schema.Array(
              object("WeightedTarget", "A model and its weight.", {
                ...target,
                weight: optional(Count, "How often the model is chosen, in relation to the others; 1 when left out.")
              })
            ).check(atLeastOne),
            "The models."
          )
        }),
        "At random, by weight."
      ),
      failover: required(
        object("FailoverRouting", "By health.", {
          targets: required(
            Schema.Array(
              object("FailoverTarget", "A model and its rank.", {
                ...target,
                priority: required(Count, "Rank of the model; lower ranks are used first.")
              })
            ).check(atLeastOne),
            "The models."
          )
        }),
        "The best rank that is healthy."
      ),
      conditional: required(
        object("ConditionalRouting", "By conditions.", {
          targets: required(
            ruled(ConditionalTargets, fallbackLast),
            "The models in order; the first one whose condition is true is used."
          )
        }),
        "The first one whose condition is true."
      )
    }),
    "How one of several models is chosen."
  )
})

/** The section, with the policies that may stand on it. */
export const llmSchema = (specs: PolicySpecs) => {
  const LlmPolicies = object("LlmPolicies", "Policies of all models.", {
    ...policyFields(specs, "llm"),
    guardrails: optional(PromptGuard, "Guards over prompts and completions of all models, after `llm.guardrails`.")
  })
  return object(
    "Llm",
    "A gateway for models: clients ask for a model by name, and the proxy finds, translates for, guards, limits and accounts its provider.",
    {
      gateways: gatewayRefs,
      port: optional(PortNumber, "A port of its own; 4000 when there is no gateway to attach to."),
      tls: optional(ServerTls, "TLS towards clients on that port."),
      models: required(Schema.Array(Model), "The models; of several that match a name the most specific one counts."),
      virtualModels: optional(Schema.Array(VirtualModel), "Names that lead to one of several models."),
      providers: optional(Schema.Array(Provider), "Providers that several models refer to."),
      guardrails: optional(PromptGuard, "Guards over prompts and completions of all models."),
      policies: optional(hinted(LlmPolicies, misplaced(specs, "llm")), "Policies of all models.")
    },
    exclusive("gateways", "port", "llm.gateways cannot be used with llm.port or llm.tls"),
    exclusive("gateways", "tls", "llm.gateways cannot be used with llm.port or llm.tls")
  )
}

/** The decoded section. */
export type Llm = ReturnType<typeof llmSchema>["Type"]
