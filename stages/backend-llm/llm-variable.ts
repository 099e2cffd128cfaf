/** The variable `llm`: a live view of a call, which knows more the further the call gets. */
import type { HostVariable } from "../../src/policy/terminal.ts"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import type { StreamFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import { inputTokens, type Usage } from "../../src/protocols/llm/usage/usage.ts"

export class LlmVariable implements HostVariable<"llm"> {
  readonly streaming: boolean
  readonly requestModel: string
  readonly params: JsonObject
  /** Set when the provider is about to be called. */
  call:
    | { readonly facts: StreamFacts; readonly endpoint: { readonly provider: { readonly name: string } } }
    | undefined = undefined

  constructor(requestModel: string, streaming: boolean, params: JsonObject) {
    this.requestModel = requestModel
    this.streaming = streaming
    this.params = params
  }
  get #usage(): Usage | undefined {
    return this.call?.facts.usage
  }
  get provider() {
    return this.call?.endpoint.provider.name
  }
  get responseModel() {
    return this.call?.facts.model
  }
  get inputTokens() {
    return this.#usage === undefined ? undefined : inputTokens(this.#usage)
  }
  get outputTokens() {
    return this.#usage?.output
  }
  get totalTokens() {
    return this.#usage === undefined ? undefined : inputTokens(this.#usage) + (this.#usage.output ?? 0)
  }
  get providerInputTokens() {
    return this.#usage?.input
  }
  get providerTotalTokens() {
    return this.#usage?.total
  }
  get cachedInputTokens() {
    return this.#usage?.cacheRead
  }
  get cacheCreationInputTokens() {
    return this.#usage?.cacheWrite
  }
  get reasoningTokens() {
    return this.#usage?.reasoning
  }
  get inputImageTokens() {
    return this.#usage?.inputImage
  }
  get inputTextTokens() {
    return this.#usage?.inputText
  }
  get inputAudioTokens() {
    return this.#usage?.inputAudio
  }
  get outputImageTokens() {
    return this.#usage?.outputImage
  }
  get outputTextTokens() {
    return this.#usage?.outputText
  }
  get outputAudioTokens() {
    return this.#usage?.outputAudio
  }
  get serviceTier() {
    return this.#usage?.serviceTier
  }
}
