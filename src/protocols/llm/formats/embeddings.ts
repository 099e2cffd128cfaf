/** Embeddings: the OpenAI answer, and the request bodies of Vertex and of the embedding families behind Bedrock InvokeModel. */

export type EmbeddingsResponse = {
  readonly object: "list"
  readonly model: string
  /** `embedding` is a list of numbers, or base64 text where the client asked for it. */
  readonly data: ReadonlyArray<{ readonly object: "embedding"; readonly index: number; readonly embedding: unknown }>
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number }
}

export type VertexPredictRequest = {
  readonly instances: ReadonlyArray<{ readonly content: string; readonly task_type: string; readonly title?: string }>
  readonly parameters: { readonly autoTruncate?: boolean; readonly outputDimensionality?: number }
}

export type TitanRequest = {
  readonly inputText: string
  readonly dimensions?: number
  readonly normalize?: boolean
  readonly embeddingTypes?: ReadonlyArray<"float">
}

export type NovaRequest = {
  readonly taskType: "SINGLE_EMBEDDING"
  readonly singleEmbeddingParams: {
    readonly embeddingPurpose: string
    readonly embeddingDimension?: number
    readonly text: { readonly truncationMode: string; readonly value: string }
  }
}

export type CohereInvokeRequest = {
  readonly texts: ReadonlyArray<string>
  readonly input_type: string
  readonly truncate?: string
  readonly output_dimension?: number
}
