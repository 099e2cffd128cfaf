/** What clients ask for beside conversations: embeddings, rankings and counts of tokens. */
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import OpenAI from "openai"

export interface Service {
  readonly library: string
  /** What the library hands out, without what differs from call to call. */
  readonly ask: (address: string, model: string) => Promise<unknown>
  readonly answer: unknown
}

export const vector = [0.25, -0.5, 1]
export const ranking = [
  { index: 1, relevance_score: 0.9 },
  { index: 0, relevance_score: 0.1 }
]
export const counted = 42

const content = "embed me"

const embed = async (address: string, model: string, encoding: { readonly encoding_format?: "float" }) => {
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: "sk-client", maxRetries: 0 })
  const { object, data } = await client.embeddings.create({ model, input: content, ...encoding })
  return { object, data }
}
const embedded = { object: "list", data: [{ object: "embedding", index: 0, embedding: vector }] }

export const services = {
  embeddings: {
    library: "openai (embeddings)",
    ask: (address, model) => embed(address, model, { encoding_format: "float" }),
    answer: embedded
  },
  /** What the library asks for by itself. */
  base64Embeddings: {
    library: "openai (embeddings, base64)",
    ask: (address, model) => embed(address, model, {}),
    answer: embedded
  },
  /** There is no library of OpenAI's for it, and Cohere's wants an address of its own. */
  rerank: {
    library: "fetch (rerank)",
    ask: async (address, model) => {
      const response = await fetch(`${address}/v2/rerank`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model, query: "which is best", documents: ["a", "b"], top_n: 2 })
      })
      const text = await response.text()
      if (!response.ok) throw Object.assign(new Error(text), { $metadata: { httpStatusCode: response.status } })
      return (JSON.parse(text) as { readonly results: unknown }).results
    },
    answer: ranking
  },
  anthropicTokenCount: {
    library: "@anthropic-ai/sdk (count)",
    ask: async (address, model) => {
      const { messages } = new Anthropic({ baseURL: address, apiKey: "sk-client", maxRetries: 0 })
      return (await messages.countTokens({ model, messages: [{ role: "user", content }] })).input_tokens
    },
    answer: counted
  },
  geminiCountTokens: {
    library: "@google/genai (count)",
    ask: async (address, model) => {
      const { models } = new GoogleGenAI({
        apiKey: "AIzaClient",
        httpOptions: { baseUrl: address, apiVersion: "v1beta" }
      })
      return (await models.countTokens({ model, contents: content })).totalTokens
    },
    answer: counted
  }
} as const satisfies Record<string, Service>
export type ServiceName = keyof typeof services
