/**
 * The preference table: which of a provider's formats a client's format is answered from. What a provider speaks follows from its kind and
 * the model; the rows that the gateway knows are listed here as data.
 */
import { Result } from "effect"
import { type LlmError, requestRefused } from "./formats/error.ts"
import type { ClientFormat, UpstreamFormat } from "./formats/format.ts"

/** The first format that the provider speaks is taken. What is absent after the own format has no translation, on purpose. */
const preferences: { readonly [C in ClientFormat]: ReadonlyArray<UpstreamFormat> } = {
  completions: ["generateContent", "completions", "messages", "converse"],
  messages: ["messages", "completions", "responses", "converse"],
  responses: ["responses", "completions", "converse"],
  generateContent: ["generateContent"],
  embeddings: ["embeddings", "vertexPredict", "titan", "nova", "cohereInvoke"],
  rerank: ["rerank", "vertexRank", "bedrockRerank"],
  anthropicTokenCount: ["anthropicTokenCount", "bedrockCountTokens"],
  geminiCountTokens: ["geminiCountTokens"],
  realtime: ["realtime", "passthrough"],
  detect: ["detect"],
  passthrough: ["passthrough"]
}

/** What providers speak, by kind and, where it decides, by family of the model. */
export const providerFormats = {
  openai: ["completions", "responses", "embeddings", "rerank", "realtime"],
  /** Azure OpenAI, and Foundry with models other than Claude. */
  azure: ["completions", "responses", "embeddings", "rerank", "passthrough"],
  azureClaude: ["messages", "embeddings", "rerank", "anthropicTokenCount", "passthrough"],
  anthropic: ["messages", "anthropicTokenCount"],
  gemini: ["generateContent", "completions", "embeddings", "geminiCountTokens"],
  vertexGemini: ["generateContent", "completions", "vertexPredict", "vertexRank", "geminiCountTokens"],
  vertexClaude: ["messages", "vertexPredict", "vertexRank", "anthropicTokenCount"],
  vertexOther: ["completions", "vertexPredict", "vertexRank"],
  /** Embedding models are told apart by `bedrockEmbeddings`. */
  bedrock: ["converse", "bedrockRerank"],
  bedrockClaude: ["converse", "bedrockRerank", "bedrockCountTokens"],
  copilotClaude: ["messages", "completions"],
  copilotResponses: ["responses", "embeddings", "rerank"],
  copilotCompletions: ["completions", "embeddings", "rerank"],
  copilotBoth: ["completions", "responses", "embeddings", "rerank"]
} as const satisfies Record<string, ReadonlyArray<UpstreamFormat>>
export type ProviderRow = keyof typeof providerFormats

/** The embedding body that a Bedrock model takes. */
export const bedrockEmbeddings = (model: string): "titan" | "nova" | "cohereInvoke" => {
  if (model.includes("nova")) return "nova"
  return model.includes("cohere") ? "cohereInvoke" : "titan"
}

/** How a request is answered. `local`: by the gateway itself, which counts the tokens. */
export type Plan =
  | { readonly kind: "native" | "translated"; readonly upstream: UpstreamFormat }
  | { readonly kind: "local" }

const local: Plan = { kind: "local" }

/**
 * Chooses among the formats of a provider. Fails with 400 `unsupported conversion: …` when it speaks none that this client's format can be
 * answered from.
 */
export const plan = (client: ClientFormat, spoken: ReadonlyArray<UpstreamFormat>): Result.Result<Plan, LlmError> => {
  // Whatever a provider speaks, these two are not translated.
  if (client === "detect" || client === "passthrough") return Result.succeed({ kind: "native", upstream: client })
  const upstream = preferences[client].find((format) => spoken.includes(format))
  if (upstream !== undefined)
    return Result.succeed({
      kind: upstream === client || upstream === "passthrough" ? "native" : "translated",
      upstream
    })
  return client === "anthropicTokenCount"
    ? Result.succeed(local)
    : Result.fail(requestRefused(`unsupported conversion: ${client} to ${spoken.join(", ") || "nothing"}`))
}
