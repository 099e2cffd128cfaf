/** Providers that speak well-known formats at a known address: a custom provider each, under a name. */
import type { AddressOverride, CustomFormat } from "./settings.ts"

type Address = AddressOverride & { readonly host: string }

/** Address and formats. */
export interface Preset {
  readonly address: Address
  readonly formats: ReadonlyArray<CustomFormat>
}

type Format = CustomFormat["type"]
const preset = (address: Address, ...formats: ReadonlyArray<Format | readonly [Format, string]>): Preset => ({
  address: { scheme: "https", ...address },
  formats: formats.map((format) =>
    typeof format === "string" ? { type: format } : { type: format[0], path: format[1] }
  )
})

/** The name in configuration is the name in telemetry and in the cost catalogue. */
export const presets = {
  cohere: preset(
    { host: "api.cohere.ai" },
    ["completions", "/compatibility/v1/chat/completions"],
    ["embeddings", "/compatibility/v1/embeddings"],
    ["rerank", "/v2/rerank"]
  ),
  ollama: preset(
    { scheme: "http", host: "localhost", port: 11434, pathPrefix: "/v1" },
    "completions",
    "responses",
    "embeddings"
  ),
  baseten: preset({ host: "inference.baseten.co", pathPrefix: "/v1" }, "completions", "messages"),
  cerebras: preset({ host: "api.cerebras.ai", pathPrefix: "/v1" }, "completions"),
  deepinfra: preset(
    { host: "api.deepinfra.com", pathPrefix: "/v1/openai" },
    "completions",
    ["messages", "/anthropic/v1/messages"],
    "embeddings"
  ),
  deepseek: preset(
    { host: "api.deepseek.com", pathPrefix: "/v1" },
    "completions",
    ["messages", "/anthropic/v1/messages"],
    "responses"
  ),
  groq: preset({ host: "api.groq.com", pathPrefix: "/openai/v1" }, "completions", "responses"),
  huggingface: preset({ host: "router.huggingface.co", pathPrefix: "/v1" }, "completions", "responses"),
  mistral: preset({ host: "api.mistral.ai", pathPrefix: "/v1" }, "completions", "embeddings"),
  openrouter: preset(
    { host: "openrouter.ai", pathPrefix: "/api/v1" },
    "completions",
    "messages",
    "responses",
    "embeddings",
    "rerank"
  ),
  togetherai: preset({ host: "api.together.xyz", pathPrefix: "/v1" }, "completions", "embeddings", "rerank"),
  xai: preset({ host: "api.x.ai", pathPrefix: "/v1" }, "completions", "responses", "realtime"),
  fireworks: preset(
    { host: "api.fireworks.ai", pathPrefix: "/inference/v1" },
    "completions",
    "messages",
    "responses",
    "embeddings",
    "rerank"
  )
} as const satisfies Record<string, Preset>

export type PresetName = keyof typeof presets
