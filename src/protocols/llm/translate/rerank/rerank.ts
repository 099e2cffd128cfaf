/** What the rerank translations share: the client's request in Cohere's words. */
import { isObject, type JsonObject, stringAt } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"

export interface RerankRequest {
  readonly query: string
  readonly documents: ReadonlyArray<string>
  readonly topN: number | undefined
  readonly returnDocuments: boolean
}

/** Documents are texts, or objects with a text. */
const readDocuments = (body: JsonObject, reader: RequestReader): ReadonlyArray<string> => {
  const { documents } = body
  reader.required(body, "documents")
  if (!Array.isArray(documents)) {
    reader.refuse("invalid field: documents: expected a list", "documents")
    return []
  }
  if (documents.length === 0) reader.refuse("invalid field: documents: expected at least one", "documents")
  return documents.map((document, index) => {
    const text = isObject(document) ? stringAt(document, "text") : document
    if (typeof text === "string") return text
    reader.refuse(`invalid field: documents[${index}]: expected a text`, `documents[${index}]`)
    return ""
  })
}

export const readRerank = (body: JsonObject, reader: RequestReader): RerankRequest => {
  reader.required(body, "query")
  return {
    query: reader.string(body, "query") ?? "",
    documents: readDocuments(body, reader),
    topN: reader.number(body, "top_n"),
    returnDocuments: reader.boolean(body, "return_documents") ?? false
  }
}
