/** Error bodies of Anthropic messages, both ways. */
import { isObject, jsonText, objectAt, stringAt } from "../../formats/json.ts"
import { type MessagesError, messagesError, messagesErrorType } from "../../formats/messages.ts"
import { decodeGoogleError } from "../google-error.ts"
import type { ProviderError } from "../reply.ts"

export const encodeError = (status: number, error: ProviderError): MessagesError =>
  messagesError(error.kind ?? messagesErrorType(status), error.message)

/** Vertex answers for Claude in Google's shape. Without an error to read, the body itself is the message; the type has no other name elsewhere. */
export const decodeError = (body: unknown): ProviderError => {
  const google = decodeGoogleError(body)
  if (google !== undefined) return google
  const error = isObject(body) ? objectAt(body, "error") : undefined
  const text = typeof body === "string" ? body : (jsonText(body) ?? "")
  return { kind: undefined, message: (error && stringAt(error, "message")) ?? text, code: undefined }
}
