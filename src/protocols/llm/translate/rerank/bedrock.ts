/** Rerank over the Bedrock agent runtime. */
import { Result } from "effect"
import { responseUnreadable } from "../../formats/error.ts"
import { defined, type JsonObject, numberAt, objectAt, objectsAt, stringAt } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import type { BedrockRerankRequest, RerankResponse } from "../../formats/rerank.ts"
import type { BodyTranslation } from "../body-translation.ts"
import type { Call, Quirks } from "../codec.ts"
import { encodeError } from "../completions/error.ts"
import { decodeError } from "../converse/error.ts"
import { readRerank } from "./rerank.ts"

/** Members that the request names itself; the others are the model's own. */
const known: ReadonlySet<string> = new Set(["model", "query", "documents", "top_n", "return_documents"])

const modelArn = (model: string, region: string): string =>
  model.startsWith("arn:") ? model : `arn:aws:bedrock:${region}::foundation-model/${model}`

const encodeRequest = (
  body: JsonObject,
  reader: RequestReader,
  { model }: Call,
  { region = "" }: Quirks
): BedrockRerankRequest => {
  const { query, documents, topN } = readRerank(body, reader)
  const extra = Object.fromEntries(Object.entries(body).filter(([key]) => !known.has(key)))
  return {
    queries: [{ type: "TEXT", textQuery: { text: query } }],
    sources: documents.map((text) => ({
      type: "INLINE",
      inlineDocumentSource: { type: "TEXT", textDocument: { text } }
    })),
    rerankingConfiguration: {
      type: "BEDROCK_RERANKING_MODEL",
      bedrockRerankingConfiguration: {
        modelConfiguration: defined({
          modelArn: modelArn(model, region),
          additionalModelRequestFields: Object.keys(extra).length > 0 ? extra : undefined
        }),
        numberOfResults: topN ?? documents.length
      }
    }
  }
}

export const bedrockRerank: BodyTranslation = {
  encodeRequest,
  decodeResponse: (body) => {
    if (!Array.isArray(body["results"])) return Result.fail(responseUnreadable("missing field: results", "results"))
    const results = objectsAt(body, "results").map((result) => {
      const text = stringAt(objectAt(objectAt(result, "document") ?? {}, "textDocument") ?? {}, "text")
      return defined({
        index: numberAt(result, "index") ?? 0,
        relevance_score: numberAt(result, "relevanceScore") ?? 0,
        document: text === undefined ? undefined : { text }
      })
    })
    return Result.succeed<RerankResponse>({ results })
  },
  encodeError: (body) => encodeError(400, decodeError(body))
}
