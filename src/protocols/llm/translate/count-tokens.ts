/** Anthropic's token count over Bedrock, which takes the request as the body of a call that it does not make. */
import { Buffer } from "node:buffer"
import { Result } from "effect"
import { responseUnreadable } from "../formats/error.ts"
import { type JsonObject, jsonText, numberAt } from "../formats/json.ts"
import type { RequestReader } from "../formats/reader.ts"
import type { BodyTranslation } from "./body-translation.ts"
import type { Call } from "./codec.ts"
import { decodeError } from "./converse/error.ts"
import { encodeError } from "./messages/error.ts"

const defaultVersion = "2023-06-01"

const encodeRequest = (body: JsonObject, reader: RequestReader, { header }: Call): JsonObject => {
  reader.required(body, "messages")
  const { model: _, ...rest } = body
  const call = {
    ...rest,
    max_tokens: body["max_tokens"] ?? 1,
    anthropic_version: body["anthropic_version"] ?? header?.("anthropic-version") ?? defaultVersion
  }
  return { input: { invokeModel: { body: Buffer.from(jsonText(call) ?? "{}", "utf8").toString("base64") } } }
}

export const bedrockCountTokens: BodyTranslation = {
  encodeRequest,
  decodeResponse: (body) => {
    const count = numberAt(body, "input_tokens") ?? numberAt(body, "inputTokens")
    return count === undefined
      ? Result.fail(responseUnreadable("missing field: inputTokens", "inputTokens"))
      : Result.succeed({ ...body, input_tokens: count })
  },
  encodeError: (body) => encodeError(400, decodeError(body))
}
