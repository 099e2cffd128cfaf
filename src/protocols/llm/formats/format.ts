/** The names of the API formats: those that clients speak to the gateway, and those that the gateway speaks to providers. */

/**
 * What a client speaks; the names of the route types. `detect` and `passthrough` are for everything that is forwarded without being
 * understood: images, audio, moderations and whatever else a provider offers.
 */
export const clientFormats = [
  "completions",
  "messages",
  "responses",
  "generateContent",
  "embeddings",
  "rerank",
  "anthropicTokenCount",
  "geminiCountTokens",
  "realtime",
  "detect",
  "passthrough"
] as const
export type ClientFormat = (typeof clientFormats)[number]

/**
 * What a provider speaks. Azure, Vertex and Copilot speak these formats with quirks rather than formats of their own.
 * `converse` is Bedrock Converse and ConverseStream; `titan`, `nova` and `cohereInvoke` are embedding bodies of Bedrock InvokeModel;
 * `vertexPredict` is embeddings over `:predict`; the others are named after their operation.
 */
export const upstreamFormats = [
  ...clientFormats,
  "converse",
  "titan",
  "nova",
  "cohereInvoke",
  "vertexPredict",
  "vertexRank",
  "bedrockRerank",
  "bedrockCountTokens"
] as const
export type UpstreamFormat = (typeof upstreamFormats)[number]
