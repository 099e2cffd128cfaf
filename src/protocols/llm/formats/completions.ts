/** OpenAI chat completions: the bodies and chunks that the gateway writes. Unknown members of what it forwards are not its business. */
import type { JsonObject } from "./json.ts"

/** A cache breakpoint on a text part (models from gpt-5.6 on). */
export type CacheBreakpoint = { readonly mode: "explicit" }

export type CompletionsTextPart = {
  readonly type: "text"
  readonly text: string
  readonly prompt_cache_breakpoint?: CacheBreakpoint
}
export type CompletionsPart =
  | CompletionsTextPart
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }

export type CompletionsToolCall = {
  readonly id: string
  readonly type: "function"
  /** `arguments` is JSON text. */
  readonly function: { readonly name: string; readonly arguments: string }
}

export type CompletionsMessage =
  | { readonly role: "system" | "developer"; readonly content: string | ReadonlyArray<CompletionsTextPart> }
  | { readonly role: "user"; readonly content: string | ReadonlyArray<CompletionsPart> }
  | {
      readonly role: "assistant"
      readonly content?: string | ReadonlyArray<CompletionsTextPart>
      readonly tool_calls?: ReadonlyArray<CompletionsToolCall>
    }
  | {
      readonly role: "tool"
      readonly tool_call_id: string
      readonly content: string | ReadonlyArray<CompletionsTextPart>
    }

export type CompletionsTool = {
  readonly type: "function"
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: unknown
    readonly strict?: boolean
  }
}

export type CompletionsToolChoice =
  | "auto"
  | "required"
  | "none"
  | { readonly type: "function"; readonly function: { readonly name: string } }

export type CompletionsResponseFormat =
  | { readonly type: "json_object" }
  | { readonly type: "json_schema"; readonly json_schema: JsonObject }

export type CompletionsRequest = {
  readonly model: string
  readonly messages: ReadonlyArray<CompletionsMessage>
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage: boolean }
  readonly max_completion_tokens?: number
  readonly temperature?: number
  readonly top_p?: number
  readonly stop?: ReadonlyArray<string>
  readonly tools?: ReadonlyArray<CompletionsTool>
  readonly tool_choice?: CompletionsToolChoice
  readonly parallel_tool_calls?: boolean
  readonly reasoning_effort?: string
  readonly response_format?: CompletionsResponseFormat
  readonly user?: string
}

export type CompletionsFinishReason = "stop" | "length" | "tool_calls" | "content_filter"

/** The two `cache_…` members repeat what a provider that counts cache apart from the input has said. */
export type CompletionsUsage = {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly cache_read_input_tokens?: number
  readonly cache_creation_input_tokens?: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number }
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number }
}

export type CompletionsChoice = {
  readonly index: number
  readonly message: {
    readonly role: "assistant"
    readonly content: string | null
    readonly reasoning_content?: string
    readonly reasoning_signature?: string
    readonly tool_calls?: ReadonlyArray<CompletionsToolCall>
  }
  readonly finish_reason: CompletionsFinishReason
}

export type CompletionsResponse = {
  readonly id: string
  readonly object: "chat.completion"
  /** Unix seconds. */
  readonly created: number
  readonly model: string
  readonly choices: ReadonlyArray<CompletionsChoice>
  readonly usage?: CompletionsUsage
  readonly service_tier?: string
}

export type CompletionsToolCallDelta = {
  readonly index: number
  readonly id?: string
  readonly type?: "function"
  readonly function: { readonly name?: string; readonly arguments?: string }
}

export type CompletionsDelta = {
  readonly role?: "assistant"
  readonly content?: string
  readonly reasoning_content?: string
  readonly reasoning_signature?: string
  readonly tool_calls?: ReadonlyArray<CompletionsToolCallDelta>
}

export type CompletionsChunk = {
  readonly id: string
  readonly object: "chat.completion.chunk"
  readonly created: number
  readonly model: string
  readonly service_tier?: string
  readonly choices: ReadonlyArray<{
    readonly index: 0
    readonly delta: CompletionsDelta
    readonly finish_reason: CompletionsFinishReason | null
  }>
  readonly usage?: CompletionsUsage
}

/** The error body of the OpenAI formats, as written for an error that another provider gave. */
export type OpenAiError = {
  readonly event_id: null
  readonly error: { readonly type: string; readonly message: string; readonly code?: string }
}
