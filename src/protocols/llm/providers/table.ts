/**
 * The providers as a table: host, paths, headers and credential of every kind. `{model}` stands for the model of the call, the other
 * names in braces for settings. What one row cannot say (model families, api versions) picks between rows, in `provider.ts`.
 */
import type { UpstreamFormat } from "../formats/format.ts"
import type { Credential } from "./credential.ts"
import { bedrockEmbeddings } from "./model-family.ts"
import type { WireFormat } from "./wire-format.ts"

/** Path of one format: the same for streams, or one of their own; perhaps on another host, or paid otherwise, than the rest. */
export type Endpoint =
  | string
  | { readonly path: string; readonly streaming?: string; readonly host?: string; readonly credential?: Credential }
/** A format without an endpoint is not served. */
export type Endpoints = { readonly [F in WireFormat]?: Endpoint }

/** One kind of provider, or one of its families of models. */
export interface Row {
  readonly host: string
  /** What stands before every path of the row. */
  readonly base: string
  /** A configured prefix replaces the base, comes before it, or is already part of the endpoints. */
  readonly pathPrefix: "replaces" | "precedes" | "included"
  readonly endpoints: Endpoints
  /** What bodies an endpoint takes where they are not the ones that it is named after; for Bedrock's embeddings the model decides. */
  readonly bodies?: { readonly [F in WireFormat]?: UpstreamFormat | ((model: string) => UpstreamFormat) }
  readonly credential: Credential
  readonly setHeaders?: ReadonlyArray<readonly [name: string, value: string]>
  readonly removeHeaders?: ReadonlyArray<string>
}

const plainKey: Credential = { type: "key" }
/** OAuth tokens of subscriptions stay bearer tokens, API keys have their header. */
const anthropicKey: Credential = { type: "key", move: { header: "x-api-key", exceptPrefix: "sk-ant-oat" } }
const googleKey: Credential = { type: "key", move: { header: "x-goog-api-key", onlyPrefix: "AIza" } }

const anthropicVersion = [["anthropic-version", "2023-06-01"]] as const
const anthropicEndpoints: Endpoints = { messages: "/messages", anthropicTokenCount: "/messages/count_tokens" }
const openaiEndpoints: Endpoints = {
  completions: "/chat/completions",
  responses: "/responses",
  embeddings: "/embeddings",
  rerank: "/rerank",
  realtime: "/realtime"
}

export const openai: Row = {
  host: "api.openai.com",
  base: "/v1",
  pathPrefix: "replaces",
  endpoints: openaiEndpoints,
  credential: plainKey
}

export const anthropic: Row = {
  host: "api.anthropic.com",
  base: "/v1",
  pathPrefix: "replaces",
  endpoints: anthropicEndpoints,
  credential: anthropicKey,
  setHeaders: anthropicVersion,
  // The API refuses calls that look like a browser's own.
  removeHeaders: [
    "origin",
    "access-control-request-method",
    "access-control-request-headers",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-storage",
    "sec-fetch-user"
  ]
}

export const gemini: Row = {
  host: "generativelanguage.googleapis.com",
  base: "/v1beta",
  pathPrefix: "precedes",
  endpoints: {
    // The OpenAI-compatible paths want a bearer token; only the native ones know the header of Google's keys.
    completions: { path: "/openai/chat/completions", credential: plainKey },
    embeddings: { path: "/openai/embeddings", credential: plainKey },
    generateContent: { path: "/{model}:generateContent", streaming: "/{model}:streamGenerateContent?alt=sse" },
    geminiCountTokens: "/{model}:countTokens"
  },
  credential: googleKey
}

/** `us` and `eu` are multi-regions with hosts of their own; any other region is part of the common name. */
export const vertexHosts: ReadonlyMap<string, string> = new Map([
  ["global", "aiplatform.googleapis.com"],
  ["us", "aiplatform.us.rep.googleapis.com"],
  ["eu", "aiplatform.eu.rep.googleapis.com"]
])

const vertex = {
  host: "{vertexHost}",
  base: "/v1/projects/{project}/locations/{location}",
  pathPrefix: "precedes",
  bodies: { embeddings: "vertexPredict", rerank: "vertexRank" },
  credential: { type: "gcp" }
} as const
const vertexEveryModel: Endpoints = {
  embeddings: "/publishers/google/models/{model}:predict",
  rerank: { host: "discoveryengine.googleapis.com", path: "/rankingConfigs/default_ranking_config:rank" }
}

export const vertexGemini: Row = {
  ...vertex,
  endpoints: {
    ...vertexEveryModel,
    completions: "/endpoints/openapi/chat/completions",
    generateContent: {
      path: "/publishers/google/models/{model}:generateContent",
      streaming: "/publishers/google/models/{model}:streamGenerateContent?alt=sse"
    },
    geminiCountTokens: "/publishers/google/models/{model}:countTokens"
  }
}

export const vertexClaude: Row = {
  ...vertex,
  endpoints: {
    ...vertexEveryModel,
    messages: {
      path: "/publishers/anthropic/models/{model}:rawPredict",
      streaming: "/publishers/anthropic/models/{model}:streamRawPredict"
    },
    anthropicTokenCount: "/publishers/anthropic/models/count-tokens:rawPredict"
  }
}

export const vertexOther: Row = {
  ...vertex,
  endpoints: { ...vertexEveryModel, completions: "/endpoints/openapi/chat/completions" }
}

const bedrockEveryModel: Endpoints = {
  converse: { path: "/model/{model}/converse", streaming: "/model/{model}/converse-stream" },
  embeddings: "/model/{model}/invoke",
  rerank: { host: "bedrock-agent-runtime.{region}.amazonaws.com", path: "/rerank" }
}

export const bedrock: Row = {
  host: "bedrock-runtime.{region}.amazonaws.com",
  base: "",
  pathPrefix: "precedes",
  endpoints: bedrockEveryModel,
  bodies: {
    embeddings: bedrockEmbeddings,
    rerank: "bedrockRerank",
    anthropicTokenCount: "bedrockCountTokens"
  },
  credential: { type: "aws", service: "bedrock", region: "{region}" }
}

/** Only Claude's tokens can be counted there. */
export const bedrockClaude: Row = {
  ...bedrock,
  endpoints: { ...bedrockEveryModel, anthropicTokenCount: "/model/{model}/count-tokens" }
}

/** Tokens of Entra ID are JWTs and stay bearer tokens; keys have their header. */
const azureCredential = { type: "azure", move: { header: "api-key", exceptPrefix: "eyJ" } } as const

const azureOpenAi = {
  host: "{resource}.openai.azure.com",
  pathPrefix: "precedes",
  credential: azureCredential
} as const

/** Api version `v1`. */
export const azureV1: Row = {
  ...azureOpenAi,
  base: "/openai/v1",
  endpoints: { completions: "/chat/completions", responses: "/responses", embeddings: "/embeddings" }
}

/** Api version `preview`. */
export const azurePreview: Row = {
  ...azureOpenAi,
  base: "/openai/v1",
  endpoints: {
    completions: "/chat/completions?api-version=preview",
    responses: "/responses?api-version=preview",
    embeddings: "/embeddings?api-version=preview"
  }
}

/** A dated api version: the model is a deployment in the path. */
export const azureDated: Row = {
  ...azureOpenAi,
  base: "/openai",
  endpoints: {
    completions: "/deployments/{model}/chat/completions?api-version={apiVersion}",
    responses: "/responses?api-version={apiVersion}",
    embeddings: "/deployments/{model}/embeddings?api-version={apiVersion}"
  }
}

const azureFoundryHost = {
  host: "{resource}.services.ai.azure.com",
  pathPrefix: "precedes",
  credential: azureCredential
} as const

export const azureFoundry: Row = {
  ...azureFoundryHost,
  base: "",
  endpoints: {
    completions: "/api/projects/{project}/openai/v1/chat/completions",
    responses: "/api/projects/{project}/openai/v1/responses",
    embeddings: "/api/projects/{project}/openai/v1/embeddings",
    rerank: "/providers/cohere/v2/rerank"
  }
}

export const azureFoundryClaude: Row = {
  ...azureFoundryHost,
  base: "/anthropic/v1",
  endpoints: anthropicEndpoints,
  setHeaders: anthropicVersion
}

/** The models each have formats of their own: `copilotFormats`. */
export const copilot: Row = {
  host: "api.githubcopilot.com",
  base: "",
  pathPrefix: "precedes",
  endpoints: {
    completions: "/chat/completions",
    messages: "/v1/messages",
    responses: "/responses",
    embeddings: "/embeddings",
    rerank: "/rerank"
  },
  credential: { type: "copilot" }
}

/** The row of a custom provider, whose endpoints are its declared formats. */
export const custom = { base: "", pathPrefix: "included", credential: plainKey } as const

/** Where a custom provider is expected to serve a format that was declared without a path, and under which base; a prefix takes its place. */
export const customEndpoints: Readonly<
  Record<Exclude<WireFormat, "converse">, readonly [base: string, endpoint: Endpoint]>
> = {
  completions: ["/v1", "/chat/completions"],
  responses: ["/v1", "/responses"],
  embeddings: ["/v1", "/embeddings"],
  rerank: ["/v1", "/rerank"],
  realtime: ["/v1", "/realtime"],
  messages: ["/v1", "/messages"],
  anthropicTokenCount: ["/v1", "/messages/count_tokens"],
  generateContent: [
    "/v1beta",
    { path: "/{model}:generateContent", streaming: "/{model}:streamGenerateContent?alt=sse" }
  ],
  geminiCountTokens: ["/v1beta", "/{model}:countTokens"]
}
