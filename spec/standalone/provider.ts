/** Providers of models: the kinds that are known, and those that are described by the formats they speak. */
import { Schema, SchemaGetter } from "effect"
import { defaulted, exactlyOneOf, object, optional, required } from "../field.ts"
import { HostLabel, LongString, ShortString } from "../primitives.ts"

const Format = object("ProviderFormat", "An interface of a provider.", {
  type: required(
    Schema.Literals([
      "completions",
      "messages",
      "responses",
      "embeddings",
      "anthropicTokenCount",
      "generateContent",
      "geminiCountTokens",
      "realtime",
      "rerank"
    ]),
    "The format."
  ),
  path: optional(LongString, "Path of the interface; the usual one when left out.")
})

const model = { model: optional(ShortString, "Model to ask for; the one of the client when left out.") }

const Moderation = object("OpenAiModeration", "Moderation on the side of OpenAI.", {
  model: defaulted(ShortString, "omni-moderation-latest", "Model of the moderation."),
  policy: optional(
    object("OpenAiModerationPolicy", "What is moderated.", {
      input: optional(
        object("OpenAiModerationInput", "Moderation of prompts.", {
          mode: required(Schema.Literals(["score", "block"]), "Score, or block.")
        }),
        "Prompts."
      ),
      output: optional(
        object("OpenAiModerationOutput", "Moderation of completions.", {
          mode: required(Schema.Literals(["score", "block"]), "Score, or block.")
        }),
        "Completions."
      )
    }),
    "What is moderated."
  )
})

const AzureResource = Schema.Literals(["openAI", "foundry", "aiServices"]).annotate({
  identifier: "AzureResourceType",
  description: "Kind of the Azure resource; `aiServices` is another name of `foundry`."
})

/** The kind of an Azure resource. */
export const AzureResourceType = AzureResource.pipe(
  Schema.decodeTo(Schema.Literals(["openAI", "foundry"]), {
    decode: SchemaGetter.transform((type: typeof AzureResource.Type) => (type === "aiServices" ? "foundry" : type)),
    encode: SchemaGetter.transform((type: "openAI" | "foundry"): typeof AzureResource.Type => type)
  })
)

/** A provider that is described by what it speaks. */
export const CustomProvider = object("CustomProvider", "A provider that is described by what it speaks.", {
  ...model,
  providerOverride: optional(
    ShortString,
    "Name of the provider in telemetry and in the catalogue; `custom` when left out."
  ),
  formats: required(
    Schema.Array(Format).check(
      Schema.isMinLength(1, { expected: "at least one format" }),
      Schema.isMaxLength(9, { expected: "at most 9 formats" })
    ),
    "The interfaces of the provider."
  )
})

const OpenAi = object("OpenAiProvider", "OpenAI.", {
  ...model,
  moderation: optional(Moderation, "Moderation on the side of OpenAI.")
})

const ProviderForm = exactlyOneOf("AiProvider", "A provider of models.", {
  openAI: required(OpenAi, "OpenAI."),
  openai: required(OpenAi, "The same as `openAI`."),
  anthropic: required(object("AnthropicProvider", "Anthropic.", model), "Anthropic."),
  gemini: required(object("GeminiProvider", "Google Gemini.", model), "Google Gemini."),
  vertex: required(
    object("VertexProvider", "Google Vertex AI.", {
      ...model,
      region: optional(HostLabel, "The region; `global` when left out."),
      projectId: required(ShortString, "The project.")
    }),
    "Google Vertex AI."
  ),
  bedrock: required(
    object(
      "BedrockProvider",
      "Amazon Bedrock.",
      {
        ...model,
        region: required(HostLabel, "The region."),
        guardrailIdentifier: optional(ShortString, "A guardrail of Bedrock, with its version."),
        guardrailVersion: optional(ShortString, "The version of that guardrail.")
      },
      {
        check: (form) =>
          "guardrailIdentifier" in form !== "guardrailVersion" in form
            ? "guardrailIdentifier and guardrailVersion come together"
            : undefined,
        jsonSchema: {
          dependentRequired: { guardrailIdentifier: ["guardrailVersion"], guardrailVersion: ["guardrailIdentifier"] }
        }
      }
    ),
    "Amazon Bedrock."
  ),
  azure: required(
    object("AzureProvider", "Azure OpenAI or Azure AI Foundry.", {
      ...model,
      resourceName: required(HostLabel, "The resource."),
      resourceType: required(AzureResourceType, "Its kind."),
      apiVersion: optional(ShortString, "Version of the interface."),
      projectName: optional(ShortString, "The project, for Foundry.")
    }),
    "Azure OpenAI or Azure AI Foundry."
  ),
  copilot: required(object("CopilotProvider", "GitHub Copilot.", model), "GitHub Copilot."),
  custom: required(CustomProvider, "A provider that is described by what it speaks.")
})

type Form = typeof ProviderForm.Type
type Canonical = Exclude<keyof Form, "openai">

/** A provider, by its kind. `config` is what stands under the kind. */
export type AiProvider = {
  readonly [K in Canonical]: { readonly kind: K; readonly config: NonNullable<Form[K]> }
}[Canonical]

/** A provider of models. It decodes to its kind and its settings. */
export const AiProvider = ProviderForm.pipe(
  Schema.decodeTo(
    Schema.Struct({ kind: Schema.String, config: Schema.Unknown }) as unknown as Schema.Codec<AiProvider>,
    {
      decode: SchemaGetter.transform((form: Form): AiProvider => {
        const [kind, config] = Object.entries(form)[0]!
        return { kind: kind === "openai" ? "openAI" : kind, config } as unknown as AiProvider
      }),
      encode: SchemaGetter.transform(
        (provider: AiProvider) => ({ [provider.kind]: provider.config }) as unknown as Form
      )
    }
  )
)

/** Where a provider is asked, when not at its usual address. */
export const providerAddress = {
  pathOverride: optional(LongString, "Path of every call, in place of the one of the interface."),
  pathPrefix: optional(LongString, "Prefix of the path, in place of the usual one such as `/v1`."),
  tokenize: defaulted(
    Schema.Boolean,
    false,
    "Whether the tokens of a request are counted before it is admitted to a token limit."
  )
}
