/** Token usage of one call, in the words that all providers share. */

/** Counts as the provider reported them; `undefined` is "not reported". */
export interface Usage {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly total: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheWrite: number | undefined
  readonly reasoning: number | undefined
  readonly inputText: number | undefined
  readonly inputImage: number | undefined
  readonly inputAudio: number | undefined
  readonly outputText: number | undefined
  readonly outputImage: number | undefined
  readonly outputAudio: number | undefined
  /** Whether `input` already contains the cache tokens: so with OpenAI and Google, not so with Anthropic and Bedrock. */
  readonly cacheInInput: boolean
  readonly serviceTier: string | undefined
}

/** The members that are counts. */
export type UsageCount = Exclude<keyof Usage, "cacheInInput" | "serviceTier">

/** All of them. */
export const usageCounts: ReadonlyArray<UsageCount> = [
  "input",
  "output",
  "total",
  "cacheRead",
  "cacheWrite",
  "reasoning",
  "inputText",
  "inputImage",
  "inputAudio",
  "outputText",
  "outputImage",
  "outputAudio"
]

/** A usage from the counts that are known. */
export const usageFrom = (
  counts: { readonly [C in UsageCount]?: number | undefined },
  cacheInInput: boolean,
  serviceTier: string | undefined
): Usage => ({
  input: counts.input,
  output: counts.output,
  total: counts.total,
  cacheRead: counts.cacheRead,
  cacheWrite: counts.cacheWrite,
  reasoning: counts.reasoning,
  inputText: counts.inputText,
  inputImage: counts.inputImage,
  inputAudio: counts.inputAudio,
  outputText: counts.outputText,
  outputImage: counts.outputImage,
  outputAudio: counts.outputAudio,
  cacheInInput,
  serviceTier
})

/** Input tokens with the cache tokens in them, whatever the provider's convention: the `input` of metrics and limits. */
export const inputTokens = (usage: Usage): number =>
  (usage.input ?? 0) + (usage.cacheInInput ? 0 : (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0))

/** What a token limit counts: input, cache included, plus output. */
export const totalTokens = (usage: Usage): number => inputTokens(usage) + (usage.output ?? 0)

/** Usage that comes in pieces: a later piece replaces the counts that it reports and leaves the others. */
export const mergeUsage = (earlier: Usage | undefined, later: Usage): Usage =>
  earlier === undefined
    ? later
    : {
        input: later.input ?? earlier.input,
        output: later.output ?? earlier.output,
        total: later.total ?? earlier.total,
        cacheRead: later.cacheRead ?? earlier.cacheRead,
        cacheWrite: later.cacheWrite ?? earlier.cacheWrite,
        reasoning: later.reasoning ?? earlier.reasoning,
        inputText: later.inputText ?? earlier.inputText,
        inputImage: later.inputImage ?? earlier.inputImage,
        inputAudio: later.inputAudio ?? earlier.inputAudio,
        outputText: later.outputText ?? earlier.outputText,
        outputImage: later.outputImage ?? earlier.outputImage,
        outputAudio: later.outputAudio ?? earlier.outputAudio,
        // A piece without cache counts cannot tell the conventions apart when the format is only guessed.
        cacheInInput: earlier.cacheInInput && later.cacheInInput,
        serviceTier: later.serviceTier ?? earlier.serviceTier
      }
