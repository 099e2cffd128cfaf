/** The request formats that providers speak: what a translation aims at and what decides the path of a call. */

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
