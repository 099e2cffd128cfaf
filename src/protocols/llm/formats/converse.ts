/** Bedrock Converse: the request bodies that the gateway writes. Answers are read as they come. */

export type CachePoint = { readonly cachePoint: { readonly type: "default" } }
export const cachePoint: CachePoint = { cachePoint: { type: "default" } }

export type ConverseText = { readonly text: string }
export type ConverseImage = {
  readonly image: { readonly format: string; readonly source: { readonly bytes: string } }
}
export type ConverseBlock =
  | ConverseText
  | ConverseImage
  | {
      readonly document: {
        readonly format: string
        readonly name: string
        readonly source: { readonly bytes: string }
      }
    }
  | { readonly toolUse: { readonly toolUseId: string; readonly name: string; readonly input: unknown } }
  | {
      readonly toolResult: {
        readonly toolUseId: string
        readonly content: ReadonlyArray<ConverseText | ConverseImage>
        readonly status?: "success" | "error" | null
      }
    }
  | {
      readonly reasoningContent: { readonly reasoningText: { readonly text: string; readonly signature: string } }
    }
  | CachePoint

export type ConverseMessage = { readonly role: "user" | "assistant"; readonly content: ReadonlyArray<ConverseBlock> }

export type ConverseTool =
  | {
      readonly toolSpec: {
        readonly name: string
        readonly description: string | null
        readonly inputSchema: { readonly json: unknown }
      }
    }
  | CachePoint

export type ConverseToolChoice =
  | { readonly auto: Record<string, never> }
  | { readonly any: Record<string, never> }
  | { readonly tool: { readonly name: string } }

export type ConverseRequest = {
  readonly messages: ReadonlyArray<ConverseMessage>
  readonly system?: ReadonlyArray<ConverseText | CachePoint>
  readonly inferenceConfig?: {
    readonly maxTokens?: number
    readonly temperature?: number
    readonly topP?: number
    readonly stopSequences?: ReadonlyArray<string>
  }
  readonly outputConfig?: {
    readonly textFormat: {
      readonly type: "json_schema"
      readonly structure: {
        readonly jsonSchema: { readonly schema: string; readonly name?: string; readonly description?: string }
      }
    }
  }
  readonly toolConfig?: { readonly tools: ReadonlyArray<ConverseTool>; readonly toolChoice?: ConverseToolChoice }
  readonly guardrailConfig?: {
    readonly guardrailIdentifier: string
    readonly guardrailVersion: string
    readonly trace: "enabled"
  }
  readonly additionalModelRequestFields?: { readonly [key: string]: unknown }
  readonly requestMetadata?: { readonly [key: string]: string }
}
