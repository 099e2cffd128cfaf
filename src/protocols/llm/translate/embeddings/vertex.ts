/** Embeddings over Vertex `:predict`. Members of the instances are in snake case, parameters in camel case; both are Google's. */
import { Result } from "effect"
import type { VertexPredictRequest } from "../../formats/embeddings.ts"
import { responseUnreadable } from "../../formats/error.ts"
import { defined, isObject, type JsonObject, numberAt, objectAt } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import type { BodyTranslation } from "../body-translation.ts"
import { encodeEmbeddings, readInput } from "./embeddings.ts"

const encodeRequest = (body: JsonObject, reader: RequestReader): VertexPredictRequest => {
  const taskType = reader.string(body, "task_type") ?? "RETRIEVAL_QUERY"
  const title = reader.string(body, "title")
  return {
    instances: readInput(body, reader).map((content) => defined({ content, task_type: taskType, title })),
    parameters: defined({
      autoTruncate: reader.boolean(body, "auto_truncate"),
      outputDimensionality: reader.number(body, "dimensions")
    })
  }
}

export const vertexPredict: BodyTranslation = {
  encodeRequest,
  decodeResponse: (body, request, call) => {
    const { predictions } = body
    if (!Array.isArray(predictions)) return Result.fail(responseUnreadable("missing field: predictions", "predictions"))
    const embeddings: Array<unknown> = []
    let tokens = 0
    for (const prediction of predictions) {
      const embedding = isObject(prediction) ? objectAt(prediction, "embeddings") : undefined
      if (embedding === undefined || !Array.isArray(embedding["values"]))
        return Result.fail(responseUnreadable("missing field: embeddings.values", "predictions"))
      embeddings.push(embedding["values"])
      tokens += numberAt(objectAt(embedding, "statistics") ?? {}, "token_count") ?? 0
    }
    return Result.succeed(encodeEmbeddings(embeddings, tokens, request, call))
  },
  encodeError: (body) => body
}
