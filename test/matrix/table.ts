/** The matrix as data: every provider, and how each client's format is answered there (reference: preference table of the formats). */
import type { ClientName } from "./clients.ts"
import type { ServiceName } from "./services.ts"

/**
 * `native`: forwarded as it came. The name of a format: translated to it. `refused`: 400 by the gateway, because nothing can express it.
 * `foreign`: forwarded unread, and the provider knows no such path.
 */
export type Cell =
  | "native"
  | "refused"
  | "foreign"
  | "completions"
  | "messages"
  | "responses"
  | "generateContent"
  | "converse"

/** `local`: the gateway counts itself. `served`: the provider answers at the path of that service. */
export type ServiceCell = "served" | "local" | "refused"

export interface Row {
  readonly name: string
  /** As in the configuration of a model, below `provider` and `params`. */
  readonly provider: string
  readonly params: Readonly<Record<string, string>>
  /** What the base URL says after the address of the provider. */
  readonly base?: string
  /** Absent for a model that holds no conversations. */
  readonly cells?: { readonly [C in ClientName]: Cell }
  readonly services: { readonly [S in ServiceName]: ServiceCell }
  /** Path of every format and service that the provider is reached in; the second one is for streams. */
  readonly paths: {
    readonly [F in Exclude<Cell, "native" | "refused" | "foreign"> | ServiceName]?: string | readonly [string, string]
  }
}

const openaiPaths = { completions: "/v1/chat/completions", responses: "/v1/responses" }
const openaiCells = {
  completions: "native",
  responses: "native",
  messages: "completions",
  generateContent: "refused",
  converse: "foreign"
} as const
const claudeCells = {
  completions: "messages",
  responses: "refused",
  messages: "native",
  generateContent: "refused",
  converse: "foreign"
} as const
const geminiCells = {
  completions: "generateContent",
  responses: "completions",
  messages: "completions",
  generateContent: "native",
  converse: "foreign"
} as const
const bedrockCells = {
  completions: "converse",
  responses: "converse",
  messages: "converse",
  generateContent: "refused",
  converse: "native"
} as const
const vertex = { vertexProject: "p1", vertexRegion: "us-central1" }
const vertexBase = "/v1/projects/p1/locations/us-central1"

const google = (base: string, model: string) =>
  [`${base}/models/${model}:generateContent`, `${base}/models/${model}:streamGenerateContent?alt=sse`] as const
const bedrock = (model: string) => [`/model/${model}/converse`, `/model/${model}/converse-stream`] as const

export const rows: ReadonlyArray<Row> = [
  {
    name: "openai",
    provider: "openai",
    params: { model: "gpt-4o" },
    base: "/v1",
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: openaiCells,
    paths: { ...openaiPaths, embeddings: "/v1/embeddings", rerank: "/v1/rerank" }
  },
  {
    name: "azure",
    provider: "azure",
    params: { model: "gpt-4o", azureResourceName: "res", azureResourceType: "openAI" },
    base: "/",
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "refused",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: openaiCells,
    paths: {
      embeddings: "/openai/v1/embeddings",
      completions: "/openai/v1/chat/completions",
      responses: "/openai/v1/responses"
    }
  },
  {
    name: "azure-dated",
    provider: "azure",
    params: { model: "gpt-4o", azureResourceName: "res", azureResourceType: "openAI", azureApiVersion: "2024-10-21" },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "refused",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: openaiCells,
    paths: {
      embeddings: "/openai/deployments/gpt-4o/embeddings?api-version=2024-10-21",
      completions: "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
      responses: "/openai/responses?api-version=2024-10-21"
    }
  },
  {
    name: "azure-foundry",
    provider: "azure",
    params: { model: "gpt-4o", azureResourceName: "res", azureResourceType: "foundry", azureProjectName: "pr" },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: openaiCells,
    paths: {
      embeddings: "/api/projects/pr/openai/v1/embeddings",
      rerank: "/providers/cohere/v2/rerank",
      completions: "/api/projects/pr/openai/v1/chat/completions",
      responses: "/api/projects/pr/openai/v1/responses"
    }
  },
  {
    name: "azure-claude",
    provider: "azure",
    params: { model: "claude-sonnet-4-5", azureResourceName: "res", azureResourceType: "foundry" },
    services: {
      embeddings: "refused",
      base64Embeddings: "refused",
      rerank: "refused",
      anthropicTokenCount: "served",
      geminiCountTokens: "refused"
    },
    cells: claudeCells,
    paths: { anthropicTokenCount: "/anthropic/v1/messages/count_tokens", messages: "/anthropic/v1/messages" }
  },
  {
    name: "anthropic",
    provider: "anthropic",
    params: { model: "claude-sonnet-4-5" },
    base: "/v1",
    services: {
      embeddings: "refused",
      base64Embeddings: "refused",
      rerank: "refused",
      anthropicTokenCount: "served",
      geminiCountTokens: "refused"
    },
    cells: claudeCells,
    paths: { anthropicTokenCount: "/v1/messages/count_tokens", messages: "/v1/messages" }
  },
  {
    name: "gemini",
    provider: "gemini",
    params: { model: "gemini-2.5-pro" },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "refused",
      anthropicTokenCount: "local",
      geminiCountTokens: "served"
    },
    cells: geminiCells,
    paths: {
      embeddings: "/v1beta/openai/embeddings",
      geminiCountTokens: "/v1beta/models/gemini-2.5-pro:countTokens",
      completions: "/v1beta/openai/chat/completions",
      generateContent: google("/v1beta", "gemini-2.5-pro")
    }
  },
  {
    name: "vertex-gemini",
    provider: "vertex",
    params: { model: "gemini-2.5-pro", ...vertex },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "local",
      geminiCountTokens: "served"
    },
    cells: geminiCells,
    paths: {
      embeddings: `${vertexBase}/publishers/google/models/gemini-2.5-pro:predict`,
      rerank: `${vertexBase}/rankingConfigs/default_ranking_config:rank`,
      geminiCountTokens: `${vertexBase}/publishers/google/models/gemini-2.5-pro:countTokens`,
      completions: `${vertexBase}/endpoints/openapi/chat/completions`,
      generateContent: google(`${vertexBase}/publishers/google`, "gemini-2.5-pro")
    }
  },
  {
    name: "vertex-claude",
    provider: "vertex",
    params: { model: "claude-sonnet-4-5-20250929", ...vertex },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "served",
      geminiCountTokens: "refused"
    },
    cells: claudeCells,
    paths: {
      embeddings: `${vertexBase}/publishers/google/models/claude-sonnet-4-5@20250929:predict`,
      rerank: `${vertexBase}/rankingConfigs/default_ranking_config:rank`,
      anthropicTokenCount: `${vertexBase}/publishers/anthropic/models/count-tokens:rawPredict`,
      messages: [
        `${vertexBase}/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict`,
        `${vertexBase}/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict`
      ]
    }
  },
  {
    name: "vertex-other",
    provider: "vertex",
    params: { model: "llama-4", ...vertex },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: {
      completions: "native",
      responses: "completions",
      messages: "completions",
      generateContent: "refused",
      converse: "foreign"
    },
    paths: {
      embeddings: `${vertexBase}/publishers/google/models/llama-4:predict`,
      rerank: `${vertexBase}/rankingConfigs/default_ranking_config:rank`,
      completions: `${vertexBase}/endpoints/openapi/chat/completions`
    }
  },
  {
    name: "bedrock",
    provider: "bedrock",
    params: { model: "amazon.nova-pro-v1:0", awsRegion: "us-east-1" },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: bedrockCells,
    paths: {
      embeddings: "/model/amazon.nova-pro-v1:0/invoke",
      rerank: "/rerank",
      converse: bedrock("amazon.nova-pro-v1:0")
    }
  },
  {
    name: "bedrock-claude",
    provider: "bedrock",
    params: { model: "anthropic.claude-sonnet-4-5-20250929-v1:0", awsRegion: "us-east-1" },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "served",
      geminiCountTokens: "refused"
    },
    cells: bedrockCells,
    paths: {
      embeddings: "/model/anthropic.claude-sonnet-4-5-20250929-v1:0/invoke",
      rerank: "/rerank",
      anthropicTokenCount: "/model/anthropic.claude-sonnet-4-5-20250929-v1:0/count-tokens",
      converse: bedrock("anthropic.claude-sonnet-4-5-20250929-v1:0")
    }
  },
  {
    name: "bedrock-titan",
    provider: "bedrock",
    params: { model: "amazon.titan-embed-text-v2:0", awsRegion: "us-east-1" },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    paths: { embeddings: "/model/amazon.titan-embed-text-v2:0/invoke", rerank: "/rerank" }
  },
  {
    name: "bedrock-cohere",
    provider: "bedrock",
    params: { model: "cohere.embed-v4:0", awsRegion: "us-east-1" },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    paths: { embeddings: "/model/cohere.embed-v4:0/invoke", rerank: "/rerank" }
  },
  {
    name: "copilot-claude",
    provider: "copilot",
    params: { model: "claude-sonnet-4.5" },
    services: {
      embeddings: "refused",
      base64Embeddings: "refused",
      rerank: "refused",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: { ...openaiCells, responses: "completions", messages: "native" },
    paths: { completions: "/chat/completions", messages: "/v1/messages" }
  },
  {
    name: "copilot-responses",
    provider: "copilot",
    params: { model: "gpt-5" },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: { ...openaiCells, completions: "refused", messages: "responses" },
    paths: { embeddings: "/embeddings", rerank: "/rerank", responses: "/responses" }
  },
  {
    name: "copilot-chat",
    provider: "copilot",
    params: { model: "gpt-4o" },
    services: {
      embeddings: "served",
      base64Embeddings: "served",
      rerank: "served",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: { ...openaiCells, responses: "completions" },
    paths: { embeddings: "/embeddings", rerank: "/rerank", completions: "/chat/completions" }
  },
  {
    name: "groq",
    provider: "groq",
    params: { model: "llama-4" },
    base: "/openai/v1",
    services: {
      embeddings: "refused",
      base64Embeddings: "refused",
      rerank: "refused",
      anthropicTokenCount: "local",
      geminiCountTokens: "refused"
    },
    cells: openaiCells,
    paths: { completions: "/openai/v1/chat/completions", responses: "/openai/v1/responses" }
  }
]
