/** What the model router is made from: the `llm` section, decoded. */
import type { Llm } from "../../spec/standalone/llm.ts"

export type LlmRouterConfig = Pick<Llm, "models" | "virtualModels" | "providers" | "guardrails">
export type ModelConfig = Llm["models"][number]
export type ProviderConfig = NonNullable<Llm["providers"]>[number]
