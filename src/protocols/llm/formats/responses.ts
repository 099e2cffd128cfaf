/** OpenAI responses: the bodies and events that the gateway writes. */
import type { CacheBreakpoint } from "./completions.ts"
import type { JsonObject } from "./json.ts"

export type ResponsesInputText = {
  readonly type: "input_text"
  readonly text: string
  readonly prompt_cache_breakpoint?: CacheBreakpoint
}
export type ResponsesInputPart =
  | ResponsesInputText
  | {
      readonly type: "input_image"
      readonly image_url?: string
      readonly file_id?: string
      readonly detail: "auto"
    }

export type ResponsesOutputText = {
  readonly type: "output_text"
  readonly text: string
  readonly annotations: ReadonlyArray<never>
}

export type ItemStatus = "in_progress" | "completed" | "incomplete"

export type ResponsesMessageItem = {
  readonly type: "message"
  readonly id: string
  readonly role: "assistant"
  readonly status: ItemStatus
  readonly content: ReadonlyArray<ResponsesOutputText>
}
export type ResponsesFunctionCall = {
  readonly type: "function_call"
  readonly id: string
  readonly call_id: string
  readonly name: string
  readonly arguments: string
  readonly status: ItemStatus
}
export type ResponsesInputItem =
  | {
      readonly type: "message"
      readonly role: "user" | "system"
      readonly content: ReadonlyArray<ResponsesInputPart>
    }
  | ResponsesMessageItem
  | ResponsesFunctionCall
  | {
      readonly type: "function_call_output"
      readonly call_id: string
      readonly output: string | ReadonlyArray<ResponsesInputText>
      readonly status: ItemStatus
    }

export type ResponsesRequest = {
  readonly model: string
  readonly instructions?: string
  readonly input: ReadonlyArray<ResponsesInputItem>
  readonly max_output_tokens?: number
  readonly metadata?: JsonObject
  readonly tools?: ReadonlyArray<{
    readonly type: "function"
    readonly name: string
    readonly description?: string
    readonly parameters: unknown
  }>
  readonly tool_choice?: "auto" | "required" | "none" | { readonly type: "function"; readonly name: string }
  readonly parallel_tool_calls?: boolean
  readonly reasoning?: { readonly effort: string }
  readonly text?: { readonly format: JsonObject }
  readonly temperature?: number
  readonly top_p?: number
  readonly stream?: boolean
}

/** `input_tokens` includes the cached ones. */
export type ResponsesUsage = {
  readonly input_tokens: number
  readonly input_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens?: number }
  readonly output_tokens: number
  readonly output_tokens_details: { readonly reasoning_tokens: number }
  readonly total_tokens: number
}

export type ResponsesStatus = "in_progress" | "completed" | "incomplete" | "failed"
export type ResponsesOutputItem = ResponsesMessageItem | ResponsesFunctionCall

export type ResponsesResponse = {
  readonly id: string
  readonly object: "response"
  /** Unix seconds. */
  readonly created_at: number
  readonly model: string
  readonly status: ResponsesStatus
  readonly output: ReadonlyArray<ResponsesOutputItem>
  readonly incomplete_details?: { readonly reason: string }
  readonly error?: { readonly code: string; readonly message: string }
  readonly usage?: ResponsesUsage
}

/** An event before it has its `sequence_number`. */
export type ResponsesEvent =
  | {
      readonly type: "response.created" | "response.completed" | "response.incomplete" | "response.failed"
      readonly response: ResponsesResponse
    }
  | {
      readonly type: "response.output_item.added" | "response.output_item.done"
      readonly output_index: number
      readonly item: ResponsesOutputItem
    }
  | {
      readonly type: "response.content_part.added" | "response.content_part.done"
      readonly item_id: string
      readonly output_index: number
      readonly content_index: 0
      readonly part: ResponsesOutputText
    }
  | {
      readonly type: "response.output_text.delta"
      readonly item_id: string
      readonly output_index: number
      readonly content_index: 0
      readonly delta: string
    }
  | {
      readonly type: "response.output_text.done"
      readonly item_id: string
      readonly output_index: number
      readonly content_index: 0
      readonly text: string
    }
  | {
      readonly type: "response.function_call_arguments.delta"
      readonly item_id: string
      readonly output_index: number
      readonly delta: string
    }
  | {
      readonly type: "response.function_call_arguments.done"
      readonly item_id: string
      readonly output_index: number
      readonly name: string
      readonly arguments: string
    }
  | { readonly type: "error"; readonly code: string; readonly message: string; readonly param: null }
