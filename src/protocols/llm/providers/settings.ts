/** What configuration says about one provider, after defaults and references are resolved. */
import type { WireFormat } from "./wire-format.ts"

/** Where to go instead of the provider's own address. */
export interface AddressOverride {
  /** Another host. Without it the provider's own host over TLS on 443. */
  readonly host?: string
  /** Default 443 for https, 80 for http. */
  readonly port?: number
  /** Of the overriding host; default `http` (TLS comes from an https base URL or a TLS policy). */
  readonly scheme?: "http" | "https"
  /** Replaces path and query of every call. */
  readonly path?: string
  /** Replaces the base prefix or precedes the whole path, by kind: see the table. A trailing slash is ignored. */
  readonly pathPrefix?: string
}

/** One API a custom provider offers; without a path it is at the usual place of that format. */
export interface CustomFormat {
  readonly type: Exclude<WireFormat, "converse">
  readonly path?: string
}

export interface OpenAiSettings extends AddressOverride {
  readonly kind: "openai"
  /** Written into the body field `moderation` of chat completions and responses. */
  readonly moderation?: { readonly [key: string]: unknown }
}
export interface AnthropicSettings extends AddressOverride {
  readonly kind: "anthropic"
}
export interface GeminiSettings extends AddressOverride {
  readonly kind: "gemini"
}
export interface VertexSettings extends AddressOverride {
  readonly kind: "vertex"
  readonly project: string
  /** Default `global`. */
  readonly region?: string
}
export interface BedrockSettings extends AddressOverride {
  readonly kind: "bedrock"
  readonly region: string
  readonly guardrail?: { readonly identifier: string; readonly version: string }
}
export interface AzureSettings extends AddressOverride {
  readonly kind: "azure"
  readonly resourceName: string
  readonly resourceType: "openAI" | "foundry"
  /** `v1` (default), `preview`, or a dated version; of `openAI` resources only. */
  readonly apiVersion?: string
  /** Of `foundry` resources; default the resource name. */
  readonly projectName?: string
}
export interface CopilotSettings extends AddressOverride {
  readonly kind: "copilot"
}
export interface CustomSettings extends AddressOverride {
  readonly kind: "custom"
  /** The name for telemetry and cost lookup. Default `custom`. */
  readonly name?: string
  readonly host: string
  readonly formats: ReadonlyArray<CustomFormat>
}

export type ProviderSettings =
  | OpenAiSettings
  | AnthropicSettings
  | GeminiSettings
  | VertexSettings
  | BedrockSettings
  | AzureSettings
  | CopilotSettings
  | CustomSettings

export type ProviderKind = ProviderSettings["kind"]
