/** Anthropic messages: the bodies and events that the gateway writes. */
import type { JsonObject } from "./json.ts"

export type MessagesImageSource =
  | { readonly type: "base64"; readonly media_type: string; readonly data: string }
  | { readonly type: "url"; readonly url: string }

export type MessagesTextBlock = { readonly type: "text"; readonly text: string }
export type MessagesToolUseBlock = {
  readonly type: "tool_use"
  readonly id: string
  readonly name: string
  /** An object wherever the provider kept to the tool's schema. */
  readonly input: unknown
}
export type MessagesRequestBlock =
  | MessagesTextBlock
  | { readonly type: "image"; readonly source: MessagesImageSource }
  | MessagesToolUseBlock
  | {
      readonly type: "tool_result"
      readonly tool_use_id: string
      readonly content: string | ReadonlyArray<MessagesTextBlock>
    }

export type MessagesToolChoice = {
  readonly type: "auto" | "any" | "tool" | "none"
  readonly name?: string
  readonly disable_parallel_tool_use?: boolean
}

export type MessagesRequest = {
  readonly model: string
  readonly max_tokens: number
  readonly system?: string
  readonly messages: ReadonlyArray<{
    readonly role: "user" | "assistant"
    readonly content: ReadonlyArray<MessagesRequestBlock>
  }>
  readonly tools?: ReadonlyArray<{
    readonly name: string
    readonly description?: string
    readonly input_schema: unknown
  }>
  readonly tool_choice?: MessagesToolChoice
  readonly metadata?: { readonly user_id: string }
  readonly thinking?: { readonly type: "enabled"; readonly budget_tokens: number }
  readonly output_config?: { readonly format: { readonly type: "json_schema"; readonly schema: unknown } }
  readonly stop_sequences?: ReadonlyArray<string>
  readonly temperature?: number
  readonly top_p?: number
  readonly stream?: boolean
}

export type MessagesStopReason =
  | "end_turn"
  | "stop_sequence"
  | "pause_turn"
  | "tool_use"
  | "max_tokens"
  | "model_context_window_exceeded"
  | "refusal"

/** `input_tokens` counts neither cache reads nor cache writes. */
export type MessagesUsage = {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_creation_input_tokens?: number
  readonly cache_read_input_tokens?: number
  readonly service_tier?: string
}

export type MessagesResponseBlock =
  | MessagesTextBlock
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | MessagesToolUseBlock

export type MessagesResponse = {
  readonly id: string
  readonly type: "message"
  readonly role: "assistant"
  readonly model: string
  readonly content: ReadonlyArray<MessagesResponseBlock>
  readonly stop_reason: MessagesStopReason | null
  readonly stop_sequence: null
  readonly usage: MessagesUsage
}

export type MessagesBlockDelta =
  | { readonly type: "text_delta"; readonly text: string }
  | { readonly type: "thinking_delta"; readonly thinking: string }
  | { readonly type: "signature_delta"; readonly signature: string }
  | { readonly type: "input_json_delta"; readonly partial_json: string }

export type MessagesEvent =
  | { readonly type: "message_start"; readonly message: MessagesResponse }
  | { readonly type: "content_block_start"; readonly index: number; readonly content_block: MessagesResponseBlock }
  | { readonly type: "content_block_delta"; readonly index: number; readonly delta: MessagesBlockDelta }
  | { readonly type: "content_block_stop"; readonly index: number }
  | {
      readonly type: "message_delta"
      readonly delta: { readonly stop_reason: MessagesStopReason; readonly stop_sequence: null }
      readonly usage: MessagesUsage
    }
  | { readonly type: "message_stop" }
  | MessagesError

export type MessagesError = {
  readonly type: "error"
  readonly error: { readonly type: string; readonly message: string }
}

const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "authentication_error",
  404: "not_found_error",
  429: "rate_limit_error"
}

/** The error type that stands for a status where the provider named none. */
export const messagesErrorType = (status: number): string => errorTypes[status] ?? "api_error"

export const messagesError = (type: string, message: string): MessagesError => ({
  type: "error",
  error: { type, message }
})

/** Whether an error body is one of this API. */
export const isMessagesError = (body: JsonObject): boolean => {
  if (body["type"] !== "error") return false
  const error = body["error"]
  return typeof error === "object" && error !== null && "message" in error && typeof error.message === "string"
}
