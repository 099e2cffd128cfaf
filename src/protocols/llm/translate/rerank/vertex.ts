/** Rerank over the Vertex ranking service, whose records have ids: the place of the document in the client's list. */
import { Result } from "effect"
import { responseUnreadable } from "../../formats/error.ts"
import { defined, isObject, type JsonObject, numberAt, objectsAt, stringAt } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import type { RerankResponse, VertexRankRequest } from "../../formats/rerank.ts"
import type { BodyTranslation } from "../body-translation.ts"
import type { Call } from "../codec.ts"
import { encodeError } from "../completions/error.ts"
import { decodeGoogleError } from "../google-error.ts"
import { readRerank } from "./rerank.ts"

const encodeRequest = (body: JsonObject, reader: RequestReader, { model }: Call): VertexRankRequest => {
  const { query, documents, topN, returnDocuments } = readRerank(body, reader)
  return defined({
    model,
    query,
    records: documents.map((content, index) => ({ id: String(index), content })),
    topN,
    ignoreRecordDetailsInResponse: !returnDocuments
  })
}

export const vertexRank: BodyTranslation = {
  encodeRequest,
  decodeResponse: (body) => {
    if (!Array.isArray(body["records"])) return Result.fail(responseUnreadable("missing field: records", "records"))
    const results: Array<RerankResponse["results"][number]> = []
    for (const record of objectsAt(body, "records")) {
      const index = Number(stringAt(record, "id") ?? Number.NaN)
      if (!Number.isInteger(index)) return Result.fail(responseUnreadable("unknown record id", "records"))
      const text = stringAt(record, "content")
      // Without record details the service may leave the score out, too.
      const score = numberAt(record, "score") ?? 1
      results.push(defined({ index, relevance_score: score, document: text === undefined ? undefined : { text } }))
    }
    return Result.succeed<RerankResponse>({ results })
  },
  encodeError: (body) => {
    const error = decodeGoogleError(body)
    return error === undefined || !(isObject(body) || Array.isArray(body)) ? body : encodeError(400, error)
  }
}
