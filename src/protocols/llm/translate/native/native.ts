/** Requests and errors of clients whose format the provider speaks: forwarded as they came but for the little that must be otherwise. */
import type { ClientFormat } from "../../formats/format.ts"
import { isObject, type JsonObject } from "../../formats/json.ts"
import { isMessagesError, messagesError, messagesErrorType } from "../../formats/messages.ts"
import type { Quirks } from "../codec.ts"
import { encodeError } from "../completions/error.ts"
import { decodeGoogleError } from "../google-error.ts"
import { decodeError } from "../messages/error.ts"
import { withCamelNames } from "./gemini-names.ts"
import { without } from "./unchanged.ts"

/** Token limits need the usage of a stream, and tell it only to those who ask. The client gets the extra chunk, too. */
const askForUsage = (body: JsonObject): JsonObject =>
  body["stream"] === true && (body["stream_options"] === undefined || body["stream_options"] === null)
    ? { ...body, stream_options: { include_usage: true } }
    : body

const renameMaxTokens = (body: JsonObject): JsonObject => {
  if (!Object.hasOwn(body, "max_tokens") || typeof body["model"] !== "string" || !body["model"].startsWith("gpt-"))
    return body
  const rest = without(body, ["max_tokens"])
  return Object.hasOwn(body, "max_completion_tokens") ? rest : { ...rest, max_completion_tokens: body["max_tokens"] }
}

/** The client's body as it is forwarded; the very same object when nothing is to change. */
export const nativeRequest = (body: JsonObject, client: ClientFormat, quirks: Quirks): JsonObject => {
  switch (client) {
    case "completions": {
      const asked = askForUsage(body)
      return quirks.maxCompletionTokens === true ? renameMaxTokens(asked) : asked
    }
    case "generateContent":
    case "geminiCountTokens":
      // The model is in the URL, and the gateway put it into the body for its own use.
      return withCamelNames(without(body, ["model"]))
    default:
      return body
  }
}

const messagesErrorBody = (status: number, body: unknown): unknown => {
  if (isObject(body) && isMessagesError(body)) return body
  return messagesError(messagesErrorType(status), decodeError(body).message)
}

/** The error body of a provider as its own clients know it. Google answers in its own shape even where it speaks OpenAI's. */
export const nativeError = (client: ClientFormat, status: number, body: unknown): unknown => {
  switch (client) {
    case "completions": {
      const google = decodeGoogleError(body)
      return google === undefined ? body : encodeError(status, google)
    }
    case "messages":
      return messagesErrorBody(status, body)
    default:
      return body
  }
}
