/** The interfaces of providers: what decides the path of a call. What their bodies look like is mostly, not always, the same. */
import type { UpstreamFormat } from "../formats/format.ts"

export const wireFormats = [
  "completions",
  "messages",
  "responses",
  "generateContent",
  "converse",
  "embeddings",
  "rerank",
  "anthropicTokenCount",
  "geminiCountTokens",
  "realtime"
] as const

export type WireFormat = (typeof wireFormats)[number]

const interfaces: { readonly [U in UpstreamFormat]?: WireFormat } = {
  titan: "embeddings",
  nova: "embeddings",
  cohereInvoke: "embeddings",
  vertexPredict: "embeddings",
  vertexRank: "rerank",
  bedrockRerank: "rerank",
  bedrockCountTokens: "anthropicTokenCount"
}

const isWireFormat = (format: UpstreamFormat): format is WireFormat =>
  (wireFormats as ReadonlyArray<string>).includes(format)

/** The interface that takes such bodies; `passthrough` for what is forwarded to wherever the client says. */
export const wireFormatOf = (body: UpstreamFormat): WireFormat | "passthrough" =>
  isWireFormat(body) ? body : (interfaces[body] ?? "passthrough")
