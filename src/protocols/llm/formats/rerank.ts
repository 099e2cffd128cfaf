/** Rerank: the Cohere answer, and the request bodies of Bedrock and Vertex. */
import type { JsonObject } from "./json.ts"

export type RerankResponse = {
  readonly results: ReadonlyArray<{
    readonly index: number
    readonly relevance_score: number
    readonly document?: { readonly text: string }
  }>
}

export type BedrockRerankRequest = {
  readonly queries: ReadonlyArray<{ readonly type: "TEXT"; readonly textQuery: { readonly text: string } }>
  readonly sources: ReadonlyArray<{
    readonly type: "INLINE"
    readonly inlineDocumentSource: { readonly type: "TEXT"; readonly textDocument: { readonly text: string } }
  }>
  readonly rerankingConfiguration: {
    readonly type: "BEDROCK_RERANKING_MODEL"
    readonly bedrockRerankingConfiguration: {
      readonly modelConfiguration: {
        readonly modelArn: string
        readonly additionalModelRequestFields?: JsonObject
      }
      readonly numberOfResults: number
    }
  }
}

export type VertexRankRequest = {
  readonly model: string
  readonly query: string
  readonly records: ReadonlyArray<{ readonly id: string; readonly content: string }>
  readonly topN?: number
  readonly ignoreRecordDetailsInResponse: boolean
}
