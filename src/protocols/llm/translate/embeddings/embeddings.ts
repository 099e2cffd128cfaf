/** What the embedding translations share: the client's input, and the answer in OpenAI's shape. */
import { Buffer } from "node:buffer"
import type { EmbeddingsResponse } from "../../formats/embeddings.ts"
import type { JsonObject } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import type { HeaderLookup } from "../../formats/stream.ts"
import type { Call } from "../codec.ts"

/** The texts to embed. Lists of token numbers are OpenAI's alone. */
export const readInput = (body: JsonObject, reader: RequestReader): ReadonlyArray<string> => {
  reader.required(body, "input")
  const { input } = body
  if (input === undefined || input === null) return []
  const texts = reader.strings(body, "input")
  if (texts.length === 0) reader.refuse("invalid field: input: expected at least one text", "input")
  return texts
}

/** The one text to embed, for models that take no more at a time. */
export const readSingleInput = (body: JsonObject, reader: RequestReader): string => {
  if (typeof body["input"] === "string") return body["input"]
  reader.required(body, "input")
  reader.refuse("invalid field: input: this model embeds a single string", "input")
  return ""
}

/** A vector as the client asked for it: base64 of little-endian 32-bit floats (the default of OpenAI's Python library), or numbers. */
const encodeVector = (vector: unknown, request: JsonObject): unknown => {
  if (request["encoding_format"] !== "base64" || !Array.isArray(vector)) return vector
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((value: unknown, index) => {
    bytes.writeFloatLE(typeof value === "number" ? value : 0, index * 4)
  })
  return bytes.toString("base64")
}

export const encodeEmbeddings = (
  embeddings: ReadonlyArray<unknown>,
  tokens: number,
  request: JsonObject,
  { model }: Call
): EmbeddingsResponse => ({
  object: "list",
  model,
  data: embeddings.map((vector, index) => ({ object: "embedding", index, embedding: encodeVector(vector, request) })),
  usage: { prompt_tokens: tokens, total_tokens: tokens }
})

/** Bedrock counts the tokens of some models in a header only. */
export const tokensOfHeader = (header: HeaderLookup | undefined): number => {
  const count = Number(header?.("x-amzn-bedrock-input-token-count"))
  return Number.isInteger(count) && count >= 0 ? count : 0
}
