/** What the model router is made from: the `llm` section in its normalised form. */
import { Schema } from "effect"
import type { PromptCaching, PromptGuard } from "../../spec/guardrails.ts"
import type { HeaderMatch, HeaderModifier } from "../../spec/header.ts"
import type { RuleSet } from "../../spec/rules.ts"
import type { MockParams, presetProviders } from "../../spec/standalone/llm.ts"
import type { AiProvider } from "../../spec/standalone/provider.ts"
import type { Address } from "../../spec/target.ts"

type Path = ReadonlyArray<string | number>

/** A policy of a model, with where it was written. Policies of models have no conditions. */
export interface ModelPolicy {
  readonly name: string
  readonly path: Path
  readonly branches: ReadonlyArray<{
    readonly config: unknown
    readonly path: Path
    /** Where parts of it were written that do not stand at that path. */
    readonly origins?: ReadonlyArray<{ readonly part: Path; readonly path: Path }>
  }>
}

export type ModelProvider =
  | AiProvider
  | {
      readonly kind: "preset"
      readonly config: { readonly name: (typeof presetProviders)[number]; readonly model?: string }
    }
  | { readonly kind: "mock"; readonly config: MockParams & { readonly model?: string } }

export interface ModelConfig {
  readonly name: string
  readonly visibility: "public" | "internal"
  readonly provider: ModelProvider
  readonly matches: ReadonlyArray<{ readonly headers?: ReadonlyArray<(typeof HeaderMatch)["Type"]> }>
  readonly passthrough: "detect" | "opaque" | undefined
  readonly hostOverride: Address | undefined
  readonly pathOverride: string | undefined
  readonly pathPrefix: string | undefined
  readonly tokenize: boolean
  readonly policies: Readonly<Record<string, ModelPolicy>>
  readonly path: Path
}

export interface VirtualConfig {
  readonly name: string
  readonly routing:
    | {
        readonly kind: "weighted"
        readonly targets: ReadonlyArray<{ readonly model: string; readonly weight: number }>
      }
    | {
        readonly kind: "failover"
        readonly targets: ReadonlyArray<{ readonly model: string; readonly priority: number }>
      }
    | {
        readonly kind: "conditional"
        readonly targets: ReadonlyArray<{ readonly model: string; readonly when: string | undefined }>
      }
  readonly path: Path
}

export interface LlmRouterConfig {
  readonly models: ReadonlyArray<ModelConfig>
  readonly virtualModels: ReadonlyArray<VirtualConfig>
}

/** The section was decoded with the file; here it only has a type. */
export const LlmRouterSchema = Schema.declare(
  (value: unknown): value is LlmRouterConfig => typeof value === "object" && value !== null && "models" in value
)

/** What the policies of a model decode to, as far as the router applies them. */
export interface ModelPolicies {
  readonly requestHeaderModifier?: (typeof HeaderModifier)["Type"]
  readonly responseHeaderModifier?: (typeof HeaderModifier)["Type"]
  readonly authorization?: (typeof RuleSet)["Type"]
  readonly ai?: {
    readonly defaults?: Readonly<Record<string, unknown>>
    readonly overrides?: Readonly<Record<string, unknown>>
    readonly transformations?: Readonly<Record<string, string>>
    readonly finalTransformations?: Readonly<Record<string, string>>
    readonly promptCaching?: (typeof PromptCaching)["Type"]
    readonly promptGuard?: PromptGuard
  }
}
