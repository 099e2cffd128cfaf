/** Which vendor's model a name on a shared platform means, because the vendor decides path and format there. */
import type { WireFormat } from "./wire-format.ts"

const claudePublisher = "publishers/anthropic/models/"
const googlePrefixes = ["publishers/google/models/", "models/", "google/"]
const embeddingFamilies = [
  "text-embedding-",
  "gemini-embedding-",
  "text-multilingual-embedding-",
  "textembedding-",
  "multimodalembedding"
]
const releaseDate = /-(\d{8})$/

/** The Vertex AI id of a Claude model (`claude-x-20250101` is published as `claude-x@20250101`), or `undefined` for other models. */
export const vertexClaudeId = (model: string): string | undefined => {
  const published = model.lastIndexOf(claudePublisher)
  const id =
    published !== -1
      ? model.slice(published + claudePublisher.length)
      : model.startsWith("anthropic/")
        ? model.slice("anthropic/".length)
        : model.startsWith("claude-")
          ? model
          : undefined
  return id?.replace(releaseDate, "@$1")
}

/** The Vertex AI id of a Gemini chat model, or `undefined` for other models, Google's embedding models among them. */
export const vertexGemini = (model: string): string | undefined => {
  const prefix = googlePrefixes.find((prefix) => model.startsWith(prefix)) ?? ""
  const id = model.slice(prefix.length)
  return (id.startsWith("gemini-") || id.startsWith("gemini@")) &&
    !id.includes("/") &&
    !embeddingFamilies.some((family) => id.startsWith(family))
    ? id
    : undefined
}

/** The embedding body that a Bedrock model takes. */
export const bedrockEmbeddings = (model: string): "titan" | "nova" | "cohereInvoke" => {
  if (model.includes("nova")) return "nova"
  return model.includes("cohere") ? "cohereInvoke" : "titan"
}

/** Claude on Bedrock, inference profiles included. */
export const isBedrockClaude = (model: string): boolean => model.includes("anthropic.claude")

const chat = (...formats: ReadonlyArray<WireFormat>): ReadonlyArray<WireFormat> => formats

/** Copilot's chat formats by model name, first match; a catalogue's tags of the model come before this table. */
const copilotModels: ReadonlyArray<readonly [pattern: RegExp, formats: ReadonlyArray<WireFormat>]> = [
  [/^claude-/, chat("messages", "completions")],
  [/^(grok|mai)-/, chat("responses")],
  [/^(gemini-|gpt-3|gpt-4)/, chat("completions")],
  [/^(gpt-5\.4|gpt-5-mini)$/, chat("completions", "responses")],
  [/^gpt-/, chat("responses")]
]

/** Tags of a cost catalogue that say which format a model is served in. */
const formatTags: Readonly<Record<string, WireFormat>> = {
  openai_completions: "completions",
  openai_responses: "responses",
  anthropic_messages: "messages",
  bedrock_converse: "converse",
  vertex_gemini: "generateContent"
}

/** The formats in which Copilot serves a model. `tags` are those of the model's entry in the cost catalogue. */
export const copilotFormats = (model: string, tags: ReadonlyArray<string> = []): ReadonlyArray<WireFormat> => {
  const id = model.toLowerCase()
  const tagged = tags.flatMap((tag) => (Object.hasOwn(formatTags, tag) ? [formatTags[tag]!] : []))
  const formats =
    tagged.length > 0 ? tagged : (copilotModels.find(([pattern]) => pattern.test(id))?.[1] ?? chat("completions"))
  return id.startsWith("claude-") ? formats : [...formats, "embeddings", "rerank"]
}
