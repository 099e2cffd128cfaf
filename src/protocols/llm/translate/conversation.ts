/** A chat request in no format: what the decoders of client formats yield and the encoders of provider formats take. */
import type { JsonObject } from "../formats/json.ts"

/** Where media comes from. An inline source may not know its media type (a file given as bare base64). */
export type MediaSource =
  | { readonly kind: "inline"; readonly mediaType: string | undefined; readonly data: string }
  | { readonly kind: "url"; readonly url: string; readonly mediaType: string | undefined }
  | { readonly kind: "file"; readonly id: string }

/** `cache`: the client marked a cache breakpoint here. `cited`: the text carries citations. */
export interface TextPart {
  readonly type: "text"
  readonly text: string
  readonly cache: boolean
  readonly cited: boolean
}
export interface ImagePart {
  readonly type: "image"
  readonly source: MediaSource
  readonly cache: boolean
}
export interface AudioPart {
  readonly type: "audio"
  readonly format: string
  readonly data: string
}
export interface FilePart {
  readonly type: "file"
  readonly name: string | undefined
  readonly source: MediaSource
}
/** `id` is absent from the deprecated function call alone. `custom`: the input is free text, not JSON. */
export interface ToolCallPart {
  readonly type: "toolCall"
  readonly id: string | undefined
  readonly name: string
  readonly input: ToolInput
  readonly custom: boolean
  readonly cache: boolean
}
/** OpenAI formats carry the input as text, the others as a value; it is converted only where a pair needs it. */
export type ToolInput = { readonly text: string } | { readonly value: unknown }

/** `callId` is absent from the deprecated function message alone, which has a `name` instead. */
export interface ToolResultPart {
  readonly type: "toolResult"
  readonly callId: string | undefined
  readonly name: string | undefined
  readonly content: string | ReadonlyArray<Part>
  readonly isError: boolean | undefined
  readonly cache: boolean
}
export interface ReasoningPart {
  readonly type: "reasoning"
  readonly text: string
  readonly signature: string | undefined
}
/** Content that is not the gateway's to read, or that only one provider has; `kind` is its name there. */
export interface OtherPart {
  readonly type: "other"
  readonly kind: string
}
export type Part =
  | TextPart
  | ImagePart
  | AudioPart
  | FilePart
  | ToolCallPart
  | ToolResultPart
  | ReasoningPart
  | OtherPart

export type Role = "system" | "developer" | "user" | "assistant"

/** `at`: the path of the message in the client's body, for errors. */
export interface Turn {
  readonly role: Role
  readonly content: string | ReadonlyArray<Part>
  readonly at: string
}

export interface Tool {
  readonly name: string
  readonly description: string | undefined
  /** JSON Schema of the input, as the client wrote it. */
  readonly parameters: unknown
  readonly strict: boolean | undefined
  readonly cache: boolean
}

/** `allowed` restricts the model to some of the tools without naming one. */
export type ToolChoice =
  | { readonly type: "auto" | "required" | "none" }
  | { readonly type: "tool"; readonly name: string }
  | { readonly type: "allowed"; readonly required: boolean; readonly names: ReadonlyArray<string> }

export type OutputFormat =
  | { readonly type: "object" }
  | {
      readonly type: "schema"
      readonly name: string | undefined
      readonly description: string | undefined
      readonly schema: unknown
      readonly strict: boolean | undefined
    }

/** What the client asked of the model's thinking. `switch` exists in messages requests alone, where an effort by itself is something else. */
export interface ReasoningRequest {
  readonly switch: "enabled" | "adaptive" | "disabled" | undefined
  readonly budget: number | undefined
  readonly effort: string | undefined
}

export interface Conversation {
  readonly model: string
  readonly stream: boolean | undefined
  /** Text above the list of messages: the system field, or the instructions. */
  readonly instructions: string | ReadonlyArray<TextPart> | undefined
  readonly turns: ReadonlyArray<Turn>
  /** Function tools only: the others exist in their own format alone and are dropped by every pair. */
  readonly tools: ReadonlyArray<Tool>
  readonly toolChoice: ToolChoice | undefined
  readonly parallelToolCalls: boolean | undefined
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly topK: number | undefined
  readonly frequencyPenalty: number | undefined
  readonly presencePenalty: number | undefined
  readonly seed: number | undefined
  readonly candidates: number | undefined
  readonly stop: ReadonlyArray<string>
  readonly reasoning: ReasoningRequest
  readonly format: OutputFormat | undefined
  readonly user: string | undefined
  readonly metadata: JsonObject | undefined
  /** The client's body, for the members that only one pair reads. */
  readonly body: JsonObject
}

export const textPart = (text: string, cache = false, cited = false): TextPart => ({ type: "text", text, cache, cited })

/** The content of a turn as parts. */
export const partsOf = (content: string | ReadonlyArray<Part>): ReadonlyArray<Part> =>
  typeof content === "string" ? [textPart(content)] : content

/** Whether a text says nothing; such parts are refused by Anthropic and Bedrock. */
export const isBlank = (text: string): boolean => text.trim() === ""

/** The texts of some content, in order. Blank ones are left out of lists, not of plain strings. */
export const textsOf = (content: string | ReadonlyArray<Part>): ReadonlyArray<string> =>
  typeof content === "string"
    ? [content]
    : content.flatMap((part) => (part.type === "text" && !isBlank(part.text) ? [part.text] : []))
