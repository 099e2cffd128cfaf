/** The contract of the codecs. A client format is one half of it, a provider format the other; a translation is one of each. */
import type { Result } from "effect"
import type { LlmError } from "../formats/error.ts"
import type { JsonObject } from "../formats/json.ts"
import type { RequestReader } from "../formats/reader.ts"
import type { HeaderLookup, SseEvent, UpstreamEvent } from "../formats/stream.ts"
import type { Conversation } from "./conversation.ts"
import type { Delta, ProviderError, Reply } from "./reply.ts"
import type { PairRules } from "./rules.ts"
import type { ToolNames } from "./tool-names.ts"

/** What a translation needs to know of one request beside its body. */
export interface Call {
  /** The model that the provider is asked for, after aliases. */
  readonly model: string
  /** When the request came, in Unix milliseconds. */
  readonly now: number
  /** Makes a random identifier of so many lower-case hex digits. */
  readonly randomHex: (digits: number) => string
  /** Headers of the client's request. */
  readonly header?: HeaderLookup | undefined
}

/** What configuration says of a provider, as far as bodies depend on it. */
export interface Quirks {
  /** Claude behind Vertex: the version is in the body, the model is not, and some members are refused. */
  readonly vertexClaude?: boolean | undefined
  /** OpenAI, Azure and Copilot: models named `gpt-…` want `max_completion_tokens`. */
  readonly maxCompletionTokens?: boolean | undefined
  /** OpenAI: written into completions and responses bodies, except those made from messages for responses. */
  readonly moderation?: JsonObject | undefined
  /** Copilot: embedding answers lack `object` and `model`. */
  readonly bareEmbeddings?: boolean | undefined
  /** Bedrock: the region that bare model ids are in. */
  readonly region?: string | undefined
  /** Bedrock: the guardrail that Converse applies. */
  readonly guardrail?: { readonly identifier: string; readonly version: string } | undefined
  /** Bedrock: values of the `anthropic-beta` header that pass; absent = `bedrockBetas`. */
  readonly anthropicBetas?: ReadonlyArray<string> | undefined
  /** Bedrock: where cache points are set in requests of OpenAI clients; absent = nowhere. */
  readonly promptCaching?: PromptCaching | undefined
}

/** `minTokens` is compared with an estimate of the system text; `cacheMessageOffset` counts from the last message but one. */
export interface PromptCaching {
  readonly cacheSystem: boolean
  readonly cacheMessages: boolean
  readonly cacheTools: boolean
  readonly minTokens: number
  readonly cacheMessageOffset: number
}

/** One request and its answer on their way through a translation. */
export interface Exchange {
  readonly call: Call
  readonly quirks: Quirks
  readonly rules: PairRules
  /** Names that Bedrock would refuse are replaced in the request and restored in the answer. */
  toolNames: ToolNames | undefined
}

/** Turns provider events into deltas. Every list stands for one event, so that an encoder may join what came together. */
export interface StreamDecoder {
  push(event: UpstreamEvent): ReadonlyArray<Delta>
  /** The stream ended in order. */
  end(): ReadonlyArray<Delta>
}

/** Turns deltas into client events. After an error nothing more is emitted. */
export interface StreamEncoder {
  push(deltas: ReadonlyArray<Delta>): ReadonlyArray<SseEvent>
  end(): ReadonlyArray<SseEvent>
}

/** A format that clients speak. */
export interface ClientCodec {
  readonly decodeRequest: (body: JsonObject, reader: RequestReader) => Conversation
  readonly encodeResponse: (reply: Reply, exchange: Exchange) => JsonObject
  readonly streamEncoder: (exchange: Exchange) => StreamEncoder
  readonly encodeError: (status: number, error: ProviderError) => JsonObject
}

/** A format that providers speak. */
export interface UpstreamCodec {
  readonly encodeRequest: (conversation: Conversation, exchange: Exchange, reader: RequestReader) => JsonObject
  readonly decodeResponse: (body: JsonObject, exchange: Exchange) => Result.Result<Reply, LlmError>
  readonly streamDecoder: (exchange: Exchange, header: HeaderLookup | undefined) => StreamDecoder
  /** Reads an error body: parsed JSON, or text as a string where it is none. `undefined` = not an error of this provider. */
  readonly decodeError: (body: unknown) => ProviderError | undefined
}
