/** Embeddings over Bedrock InvokeModel, whose body is that of the model's family: Titan, Nova or Cohere. */
import { Result } from "effect"
import type { CohereInvokeRequest, NovaRequest, TitanRequest } from "../../formats/embeddings.ts"
import { responseUnreadable } from "../../formats/error.ts"
import {
  defined,
  isObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt
} from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import type { BodyTranslation } from "../body-translation.ts"
import type { Call } from "../codec.ts"
import { encodeError as encodeOpenAiError } from "../completions/error.ts"
import { decodeError } from "../converse/error.ts"
import { encodeEmbeddings, readInput, readSingleInput, tokensOfHeader } from "./embeddings.ts"

const encodeError = (body: unknown) => encodeOpenAiError(400, decodeError(body))

const missing = (field: string) => Result.fail(responseUnreadable(`missing field: ${field}`, field))

/** Titan's other number type is one bit a dimension, which is not what OpenAI's base64 holds: the floats are encoded on the way back. */
const encodeTitan = (body: JsonObject, reader: RequestReader): TitanRequest =>
  defined({
    inputText: readSingleInput(body, reader),
    dimensions: reader.number(body, "dimensions"),
    normalize: reader.boolean(body, "normalize"),
    embeddingTypes: reader.string(body, "encoding_format") === undefined ? undefined : (["float"] as const)
  })

export const titan: BodyTranslation = {
  encodeRequest: encodeTitan,
  decodeResponse: (body, request, call) => {
    const embedding = body["embedding"] ?? objectAt(body, "embeddingsByType")?.["float"]
    if (embedding === undefined) return missing("embedding")
    return Result.succeed(encodeEmbeddings([embedding], numberAt(body, "inputTextTokenCount") ?? 0, request, call))
  },
  encodeError
}

const encodeNova = (body: JsonObject, reader: RequestReader): NovaRequest => ({
  taskType: "SINGLE_EMBEDDING",
  singleEmbeddingParams: defined({
    embeddingPurpose: reader.string(body, "embedding_purpose") ?? "GENERIC_INDEX",
    embeddingDimension: reader.number(body, "dimensions"),
    text: {
      truncationMode: reader.string(body, "truncation_mode") ?? "END",
      value: readSingleInput(body, reader)
    }
  })
})

export const nova: BodyTranslation = {
  encodeRequest: encodeNova,
  decodeResponse: (body, request, call, header) => {
    const embeddings = objectsAt(body, "embeddings").flatMap((each) =>
      Array.isArray(each["embedding"]) ? [each["embedding"]] : []
    )
    return embeddings.length === 0
      ? missing("embeddings")
      : Result.succeed(encodeEmbeddings(embeddings, tokensOfHeader(header), request, call))
  },
  encodeError
}

const encodeCohere = (body: JsonObject, reader: RequestReader, { model }: Call): CohereInvokeRequest => {
  const dimensions = reader.number(body, "dimensions")
  return defined({
    texts: readInput(body, reader),
    input_type: reader.string(body, "input_type") ?? "search_query",
    truncate: stringAt(body, "truncate"),
    // Earlier versions have one size.
    output_dimension: model.includes("embed-v4") ? dimensions : undefined
  })
}

export const cohereInvoke: BodyTranslation = {
  encodeRequest: encodeCohere,
  decodeResponse: (body, request, call, header) => {
    const { embeddings } = body
    // Version 4 answers with one list per number type.
    const list = isObject(embeddings) ? listAt(embeddings, "float") : listAt(body, "embeddings")
    return list.length === 0
      ? missing("embeddings")
      : Result.succeed(encodeEmbeddings(list, tokensOfHeader(header), request, call))
  },
  encodeError
}
