/** Providers as LiteLLM names them: the word before the slash of a model, or the name of a model that is known without one. */
import type { ProviderName } from "../configuration/providers.ts"

interface Named {
  readonly provider: ProviderName
  /** A server of one's own, which has no usual address. */
  readonly needsAddress?: true
}

const names: Readonly<Record<string, Named>> = {
  openai: { provider: "openai" },
  "text-completion-openai": { provider: "openai" },
  anthropic: { provider: "anthropic" },
  gemini: { provider: "gemini" },
  vertex_ai: { provider: "vertex" },
  bedrock: { provider: "bedrock" },
  azure: { provider: "azure" },
  github_copilot: { provider: "copilot" },
  cohere: { provider: "cohere" },
  cohere_chat: { provider: "cohere" },
  ollama: { provider: "ollama" },
  ollama_chat: { provider: "ollama" },
  baseten: { provider: "baseten" },
  cerebras: { provider: "cerebras" },
  deepinfra: { provider: "deepinfra" },
  deepseek: { provider: "deepseek" },
  groq: { provider: "groq" },
  huggingface: { provider: "huggingface" },
  mistral: { provider: "mistral" },
  openrouter: { provider: "openrouter" },
  together_ai: { provider: "togetherai" },
  xai: { provider: "xai" },
  fireworks_ai: { provider: "fireworks" },
  hosted_vllm: { provider: "openai", needsAddress: true },
  openai_like: { provider: "openai", needsAddress: true },
  custom_openai: { provider: "openai", needsAddress: true },
  lm_studio: { provider: "openai", needsAddress: true },
  litellm_proxy: { provider: "openai", needsAddress: true }
}

const bare: ReadonlyArray<readonly [pattern: RegExp, provider: ProviderName]> = [
  [/^(?:gpt-|chatgpt-|o\d|text-embedding-|davinci|babbage)/, "openai"],
  [/^claude/, "anthropic"],
  [/^gemini/, "vertex"],
  [/^(?:command|rerank-|embed-)/, "cohere"]
]

export interface Deployed extends Named {
  /** As the provider is asked for it; `*` for whatever the client asks for. */
  readonly model: string
  /** What stands before the name, slash included. */
  readonly prefix: string
}

/** @param custom `custom_llm_provider`, which wins over the word before the slash. */
export const deployedModel = (model: string, custom: string | undefined): Deployed | undefined => {
  const slash = model.indexOf("/")
  const word = slash === -1 ? undefined : model.slice(0, slash)
  if (custom !== undefined) {
    const named = names[custom]
    const prefix = word === custom ? `${word}/` : ""
    return named && { ...named, model: model.slice(prefix.length), prefix }
  }
  if (word !== undefined && Object.hasOwn(names, word))
    return { ...names[word]!, model: model.slice(slash + 1), prefix: `${word}/` }
  const found = bare.find(([pattern]) => pattern.test(model))
  return found && { provider: found[1], model, prefix: "" }
}
