/** What the model router is made from: the `llm` section, without what belongs to its listener. */
import { Schema } from "effect"
import type { Llm } from "../../spec/standalone/llm.ts"

export type LlmRouterConfig = Pick<Llm, "models" | "virtualModels" | "providers" | "guardrails">
export type ModelConfig = Llm["models"][number]
export type ProviderConfig = NonNullable<Llm["providers"]>[number]

/** The section was decoded with the file; here it only has a type. */
export const LlmRouterSchema = Schema.declare(
  (value: unknown): value is LlmRouterConfig => typeof value === "object" && value !== null && "models" in value
)
