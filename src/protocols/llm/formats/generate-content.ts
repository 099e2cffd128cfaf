/** Gemini generateContent: the bodies that the gateway writes. Answers are read as they come. */
import type { JsonObject } from "./json.ts"

export type GeminiPart =
  | { readonly text: string }
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly mimeType: string; readonly fileUri: string } }
  | {
      readonly functionCall: { readonly name: string; readonly args: unknown }
      readonly thoughtSignature?: string
    }
  | { readonly functionResponse: { readonly name: string; readonly response: { readonly content: string } } }

export type GeminiContent = { readonly role: "user" | "model"; readonly parts: ReadonlyArray<GeminiPart> }

export type GeminiRequest = {
  readonly contents: ReadonlyArray<GeminiContent>
  readonly systemInstruction?: { readonly parts: ReadonlyArray<{ readonly text: string }> }
  readonly tools?: ReadonlyArray<{
    readonly functionDeclarations: ReadonlyArray<{
      readonly name: string
      readonly description?: string
      readonly parameters?: unknown
    }>
  }>
  readonly toolConfig?: {
    readonly functionCallingConfig: {
      readonly mode: "AUTO" | "ANY" | "NONE"
      readonly allowedFunctionNames?: ReadonlyArray<string>
    }
  }
  readonly generationConfig?: JsonObject
  readonly safetySettings?: unknown
  readonly labels?: JsonObject
  readonly cachedContent?: string
}

/** The answer (400) to a client that streams without `alt=sse`: the other form, one growing JSON list, is not relayed. */
export const sseRequired = {
  error: {
    code: 400,
    message: "streamGenerateContent requires alt=sse; the JSON-array streaming variant is not supported",
    status: "INVALID_ARGUMENT"
  }
} as const
