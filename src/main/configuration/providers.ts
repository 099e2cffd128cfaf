/** Providers of models as people have them: by the variables that hold their keys, under the names that their own tools use. */
import type { builtinProviders, presetProviders } from "../../../spec/standalone/llm.ts"

export type ProviderName = Exclude<(typeof builtinProviders)[number], "openAI"> | (typeof presetProviders)[number]

interface Setting {
  /** The parameter of a model that it becomes. */
  readonly param: "apiKey" | "awsRegion" | "azureResourceName" | "vertexProject"
  /** Variables that may hold it; the first one is asked for. */
  readonly variables: readonly [string, ...ReadonlyArray<string>]
}

interface Provider {
  readonly settings: ReadonlyArray<Setting>
  /** Parameters that are the same for everyone. */
  readonly params?: Readonly<Record<string, string>>
  /** A model to try. */
  readonly model: string
}

const key = (...variables: Setting["variables"]): ReadonlyArray<Setting> => [{ param: "apiKey", variables }]

export const providers: Readonly<Record<ProviderName, Provider>> = {
  openai: { settings: key("OPENAI_API_KEY"), model: "gpt-5-mini" },
  anthropic: { settings: key("ANTHROPIC_API_KEY"), model: "claude-sonnet-4-5" },
  gemini: { settings: key("GEMINI_API_KEY", "GOOGLE_API_KEY"), model: "gemini-2.5-flash" },
  azure: {
    settings: [
      { param: "apiKey", variables: ["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"] },
      { param: "azureResourceName", variables: ["AZURE_RESOURCE_NAME"] }
    ],
    params: { azureResourceType: "openAI" },
    model: "gpt-5-mini"
  },
  bedrock: {
    settings: [
      { param: "apiKey", variables: ["AWS_BEARER_TOKEN_BEDROCK"] },
      { param: "awsRegion", variables: ["AWS_REGION", "AWS_DEFAULT_REGION"] }
    ],
    model: "amazon.nova-lite-v1:0"
  },
  vertex: {
    settings: [
      { param: "apiKey", variables: ["VERTEX_ACCESS_TOKEN"] },
      { param: "vertexProject", variables: ["GOOGLE_CLOUD_PROJECT"] }
    ],
    model: "google/gemini-2.5-flash"
  },
  copilot: { settings: key("COPILOT_API_KEY"), model: "gpt-5-mini" },
  cohere: { settings: key("COHERE_API_KEY", "CO_API_KEY"), model: "command-a-03-2025" },
  ollama: { settings: [], model: "llama3.2" },
  baseten: { settings: key("BASETEN_API_KEY"), model: "deepseek-ai/DeepSeek-V3.1" },
  cerebras: { settings: key("CEREBRAS_API_KEY"), model: "llama-3.3-70b" },
  deepinfra: { settings: key("DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"), model: "meta-llama/Llama-3.3-70B-Instruct" },
  deepseek: { settings: key("DEEPSEEK_API_KEY"), model: "deepseek-chat" },
  groq: { settings: key("GROQ_API_KEY"), model: "llama-3.3-70b-versatile" },
  huggingface: { settings: key("HF_TOKEN", "HUGGINGFACE_API_KEY"), model: "meta-llama/Llama-3.3-70B-Instruct" },
  mistral: { settings: key("MISTRAL_API_KEY"), model: "mistral-small-latest" },
  openrouter: { settings: key("OPENROUTER_API_KEY"), model: "openai/gpt-5-mini" },
  togetherai: {
    settings: key("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"),
    model: "meta-llama/Llama-3.3-70B-Instruct-Turbo"
  },
  xai: { settings: key("XAI_API_KEY"), model: "grok-4" },
  fireworks: { settings: key("FIREWORKS_API_KEY"), model: "accounts/fireworks/models/llama-v3p3-70b-instruct" },
  mock: { settings: [], model: "demo" }
}

export const providerNames = Object.keys(providers) as ReadonlyArray<ProviderName>
