/** What the terminals for models are made from: the `llm` section, and `ai` backends, in their normalised form. */
import { Schema } from "effect"
import type { BackendAuth } from "../../spec/connection/policies.ts"
import type { PromptCaching, PromptGuard, PromptMessage } from "../../spec/guardrails.ts"
import type { HeaderModifier } from "../../spec/header.ts"
import type { HealthPolicy } from "../../spec/health.ts"
import type { Endpoint, Model, VirtualModel } from "../../spec/models.ts"
import type { RuleSet } from "../../spec/rules.ts"
import type { ConnectionOptions } from "../../src/policy/terminal.ts"
import type { Ai } from "../ai/schema.ts"

/** The interfaces that paths may speak. */
type RouteType = NonNullable<(typeof Ai)["Type"]["routes"]>[string]
type Path = ReadonlyArray<string | number>

/** A policy of a model or provider, with where it was written. They have no conditions. */
export interface EndpointPolicy {
  readonly name: string
  readonly path: Path
  readonly branches: ReadonlyArray<{
    readonly config: unknown
    readonly path: Path
    /** Where parts of it were written that do not stand at that path. */
    readonly origins?: ReadonlyArray<{ readonly part: Path; readonly path: Path }>
  }>
}

type EndpointPolicySet = Readonly<Record<string, EndpointPolicy>>

/** How its connections are opened. */
interface Connected {
  /** `undefined`: what is said of them is wrong, and was told. */
  readonly connections: ConnectionOptions | undefined
}

/** A provider, and everything that holds for its calls. */
export type EndpointConfig = Endpoint<EndpointPolicySet> & Connected
export type ModelConfig = Model<EndpointPolicySet> & Connected

export interface LlmRouterConfig {
  readonly models: ReadonlyArray<ModelConfig>
  readonly virtualModels: ReadonlyArray<VirtualModel>
}

/** The section was decoded with the file; here it only has a type. */
export const LlmRouterSchema = Schema.declare(
  (value: unknown): value is LlmRouterConfig => typeof value === "object" && value !== null && "models" in value
)

/** Groups of providers of equal rank, the best first. */
export interface AiConfig {
  readonly groups: ReadonlyArray<{ readonly providers: ReadonlyArray<EndpointConfig> }>
}

/** Decoded with the file as well, each provider with the policies that are in force for it. */
export const AiSchema = Schema.declare(
  (value: unknown): value is AiConfig => typeof value === "object" && value !== null && "groups" in value
)

/** What the policies of a model or provider decode to, as far as they are applied. */
export interface EndpointPolicies {
  readonly backendAuth?: (typeof BackendAuth)["Type"]
  readonly health?: (typeof HealthPolicy)["Type"]
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
    readonly prompts?: {
      readonly prepend?: ReadonlyArray<(typeof PromptMessage)["Type"]>
      readonly append?: ReadonlyArray<(typeof PromptMessage)["Type"]>
    }
    readonly modelAliases?: Readonly<Record<string, string>>
    readonly routes?: Readonly<Record<string, RouteType>>
  }
}

/** The policies that an endpoint applies itself; everything else that it may have is refused, never ignored. */
export const endpointPolicies = [
  "ai",
  "backendAuth",
  "health",
  "requestHeaderModifier",
  "responseHeaderModifier"
] as const
