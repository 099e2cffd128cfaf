/**
 * Where each response format keeps its counts, as a table. A source is a path of member names; `a+b` adds what is there, `list[X]` is the
 * `tokenCount` of the entry of `list` whose `modality` is X. Of several sources the first that holds a count wins.
 */
import type { UsageCount } from "./usage.ts"

/** The sources of one format. */
export type Sources = { readonly [C in UsageCount]?: ReadonlyArray<string> } & {
  readonly model: ReadonlyArray<string>
  readonly serviceTier: ReadonlyArray<string>
  readonly finish: ReadonlyArray<string>
}

const completions: Sources = {
  input: ["usage.prompt_tokens"],
  output: ["usage.completion_tokens"],
  total: ["usage.total_tokens"],
  cacheRead: ["usage.prompt_tokens_details.cached_tokens", "usage.cache_read_input_tokens"],
  cacheWrite: ["usage.prompt_tokens_details.cache_write_tokens", "usage.cache_creation_input_tokens"],
  reasoning: ["usage.completion_tokens_details.reasoning_tokens"],
  inputText: ["usage.prompt_tokens_details.text_tokens"],
  inputImage: ["usage.prompt_tokens_details.image_tokens"],
  inputAudio: ["usage.prompt_tokens_details.audio_tokens"],
  outputText: ["usage.completion_tokens_details.text_tokens"],
  outputImage: ["usage.completion_tokens_details.image_tokens"],
  outputAudio: ["usage.completion_tokens_details.audio_tokens"],
  model: ["model"],
  serviceTier: ["service_tier", "usage.service_tier"],
  finish: ["choices.0.finish_reason"]
}

const responses: Sources = {
  input: ["usage.input_tokens"],
  output: ["usage.output_tokens"],
  total: ["usage.total_tokens"],
  cacheRead: ["usage.input_tokens_details.cached_tokens"],
  cacheWrite: ["usage.input_tokens_details.cache_write_tokens"],
  reasoning: ["usage.output_tokens_details.reasoning_tokens"],
  inputText: ["usage.input_tokens_details.text_tokens"],
  inputImage: ["usage.input_tokens_details.image_tokens"],
  inputAudio: ["usage.input_tokens_details.audio_tokens"],
  outputText: ["usage.output_tokens_details.text_tokens"],
  outputImage: ["usage.output_tokens_details.image_tokens"],
  outputAudio: ["usage.output_tokens_details.audio_tokens"],
  model: ["model"],
  serviceTier: ["service_tier"],
  finish: ["incomplete_details.reason", "status"]
}

const messages: Sources = {
  input: ["usage.input_tokens"],
  output: ["usage.output_tokens"],
  cacheRead: ["usage.cache_read_input_tokens"],
  cacheWrite: ["usage.cache_creation_input_tokens"],
  reasoning: ["usage.output_tokens_details.reasoning_tokens"],
  model: ["model"],
  serviceTier: ["usage.service_tier"],
  finish: ["stop_reason"]
}

const generateContent: Sources = {
  input: ["usageMetadata.promptTokenCount"],
  // Thinking is billed as output, but reported beside it.
  output: ["usageMetadata.candidatesTokenCount+usageMetadata.thoughtsTokenCount"],
  total: ["usageMetadata.totalTokenCount"],
  cacheRead: ["usageMetadata.cachedContentTokenCount"],
  reasoning: ["usageMetadata.thoughtsTokenCount"],
  inputText: ["usageMetadata.promptTokensDetails[TEXT]"],
  inputImage: ["usageMetadata.promptTokensDetails[IMAGE]"],
  inputAudio: ["usageMetadata.promptTokensDetails[AUDIO]"],
  outputText: ["usageMetadata.candidatesTokensDetails[TEXT]"],
  outputImage: ["usageMetadata.candidatesTokensDetails[IMAGE]"],
  outputAudio: ["usageMetadata.candidatesTokensDetails[AUDIO]"],
  model: ["modelVersion"],
  serviceTier: [],
  finish: ["candidates.0.finishReason"]
}

const converse: Sources = {
  input: ["usage.inputTokens"],
  output: ["usage.outputTokens"],
  total: ["usage.totalTokens"],
  cacheRead: ["usage.cacheReadInputTokens"],
  cacheWrite: ["usage.cacheWriteInputTokens"],
  model: [],
  serviceTier: ["serviceTier.type"],
  finish: ["stopReason"]
}

/** OpenAI's list, and what Bedrock's and Vertex AI's embedding models answer. */
const embeddings: Sources = {
  input: ["usage.prompt_tokens", "inputTextTokenCount"],
  total: ["usage.total_tokens"],
  model: ["model"],
  serviceTier: [],
  finish: []
}

const rerank: Sources = {
  input: ["meta.tokens.input_tokens", "meta.billed_units.total_tokens", "usage.total_tokens"],
  output: ["meta.tokens.output_tokens"],
  model: ["model"],
  serviceTier: [],
  finish: []
}

/** OpenAI's realtime events carry the response that is done. */
const realtime: Sources = {
  input: ["response.usage.input_tokens"],
  output: ["response.usage.output_tokens"],
  total: ["response.usage.total_tokens"],
  cacheRead: ["response.usage.input_token_details.cached_tokens"],
  inputText: ["response.usage.input_token_details.text_tokens"],
  inputImage: ["response.usage.input_token_details.image_tokens"],
  inputAudio: ["response.usage.input_token_details.audio_tokens"],
  outputText: ["response.usage.output_token_details.text_tokens"],
  outputAudio: ["response.usage.output_token_details.audio_tokens"],
  model: ["response.model"],
  serviceTier: [],
  finish: ["response.status"]
}

/** Whatever is forwarded unread: the members of all formats, streamed or not. */
const detect: Sources = {
  input: [
    "usage.input_tokens",
    "response.usage.input_tokens",
    "message.usage.input_tokens",
    "usage.prompt_tokens",
    "usage.inputTokens",
    "metadata.usage.inputTokens",
    "usageMetadata.promptTokenCount",
    "response.usageMetadata.promptTokenCount"
  ],
  output: [
    "usage.output_tokens",
    "response.usage.output_tokens",
    "message.usage.output_tokens",
    "usage.completion_tokens",
    "usage.outputTokens",
    "metadata.usage.outputTokens",
    "usageMetadata.candidatesTokenCount+usageMetadata.thoughtsTokenCount",
    "response.usageMetadata.candidatesTokenCount+response.usageMetadata.thoughtsTokenCount"
  ],
  total: [
    "usage.total_tokens",
    "response.usage.total_tokens",
    "usage.totalTokens",
    "metadata.usage.totalTokens",
    "usageMetadata.totalTokenCount",
    "response.usageMetadata.totalTokenCount"
  ],
  cacheRead: [
    "usage.cache_read_input_tokens",
    "message.usage.cache_read_input_tokens",
    "usage.input_tokens_details.cached_tokens",
    "response.usage.input_tokens_details.cached_tokens",
    "usage.prompt_tokens_details.cached_tokens",
    "usage.cacheReadInputTokens",
    "metadata.usage.cacheReadInputTokenCount",
    "metadata.usage.cacheReadInputTokens",
    "usageMetadata.cachedContentTokenCount",
    "response.usageMetadata.cachedContentTokenCount"
  ],
  cacheWrite: [
    "usage.cache_creation_input_tokens",
    "message.usage.cache_creation_input_tokens",
    "usage.input_tokens_details.cache_write_tokens",
    "response.usage.input_tokens_details.cache_write_tokens",
    "usage.prompt_tokens_details.cache_write_tokens",
    "usage.cacheWriteInputTokens",
    "metadata.usage.cacheWriteInputTokensCount",
    "metadata.usage.cacheWriteInputTokens"
  ],
  reasoning: [
    "usage.output_tokens_details.reasoning_tokens",
    "response.usage.output_tokens_details.reasoning_tokens",
    "usage.completion_tokens_details.reasoning_tokens",
    "usageMetadata.thoughtsTokenCount",
    "response.usageMetadata.thoughtsTokenCount"
  ],
  inputImage: ["usage.input_tokens_details.image_tokens"],
  inputText: ["usage.input_tokens_details.text_tokens"],
  outputImage: ["usage.output_tokens_details.image_tokens"],
  inputAudio: ["usage.prompt_tokens_details.audio_tokens"],
  outputAudio: ["usage.completion_tokens_details.audio_tokens"],
  model: ["model", "message.model", "response.model", "modelVersion", "response.modelVersion"],
  serviceTier: ["service_tier", "response.service_tier", "usage.service_tier", "message.usage.service_tier"],
  finish: []
}

const tokenCount = (input: string): Sources => ({ input: [input], model: [], serviceTier: [], finish: [] })

/** The table. */
export const usageMembers = {
  completions,
  messages,
  responses,
  generateContent,
  converse,
  embeddings,
  rerank,
  realtime,
  anthropicTokenCount: tokenCount("input_tokens"),
  /** Bedrock's answer to the same question. */
  converseTokenCount: tokenCount("inputTokens"),
  geminiCountTokens: tokenCount("totalTokens"),
  detect
} as const satisfies Record<string, Sources>

/** A response format whose usage can be read. */
export type UsageFormat = keyof typeof usageMembers

/** The formats whose input does not contain the cache tokens. */
export const cacheOutsideInput: ReadonlySet<UsageFormat> = new Set(["messages", "converse", "anthropicTokenCount"])
