/** An answer in no format, whole or as a stream of deltas: what the decoders of provider formats yield and the encoders of client formats take. */

/** Why the model stopped, in the finest distinction that any format makes. */
export type Finish =
  | "end"
  | "stopSequence"
  | "pause"
  | "toolUse"
  | "maxTokens"
  | "contextWindow"
  | "refusal"
  | "contentFilter"

/** Token counts as the provider reported them. A member that it did not report is `undefined`. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly total: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheWrite: number | undefined
  readonly reasoning: number | undefined
  /** Whether `input` includes the cache counts (OpenAI, Gemini) or not (Anthropic, Bedrock). */
  readonly cacheInInput: boolean
}

export type ReplyPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly signature: string | undefined }
  | { readonly type: "redacted"; readonly data: string }
  | { readonly type: "toolCall"; readonly id: string; readonly name: string; readonly arguments: string }

export interface Choice {
  readonly parts: ReadonlyArray<ReplyPart>
  readonly finish: Finish | undefined
}

export interface Reply {
  readonly id: string
  readonly model: string
  readonly serviceTier: string | undefined
  /** At least one. Formats with one answer take the first. */
  readonly choices: readonly [Choice, ...Array<Choice>]
  readonly usage: Usage | undefined
}

/**
 * One step of a streamed answer. Blocks are numbered by the decoder; a block is opened, filled and closed, and tool blocks may be open
 * beside each other. `finish` and `usage` come when the provider tells them, `done` when its answer is complete.
 */
export type Delta =
  | {
      readonly type: "start"
      readonly id: string | undefined
      readonly model: string | undefined
      readonly serviceTier: string | undefined
    }
  | { readonly type: "open"; readonly block: number; readonly kind: "text" | "reasoning" }
  | { readonly type: "openTool"; readonly block: number; readonly id: string | undefined; readonly name: string }
  | { readonly type: "text"; readonly block: number; readonly text: string }
  | { readonly type: "reasoning"; readonly block: number; readonly text: string }
  | { readonly type: "signature"; readonly block: number; readonly signature: string }
  | { readonly type: "redacted"; readonly block: number; readonly data: string }
  | { readonly type: "arguments"; readonly block: number; readonly text: string }
  | { readonly type: "close"; readonly block: number }
  | { readonly type: "finish"; readonly finish: Finish }
  | { readonly type: "usage"; readonly usage: Usage }
  | { readonly type: "done" }
  | { readonly type: "error"; readonly kind: string; readonly message: string }

/** An upstream error body, read. `kind` is its error type, `code` its status word where it has one. */
export interface ProviderError {
  readonly kind: string | undefined
  readonly message: string
  readonly code: string | undefined
}
