/** Error bodies of the OpenAI formats, both ways; reading knows the shape of Google's, who answers on this API too. */
import type { OpenAiError } from "../../formats/completions.ts"
import { defined, isObject, numberAt, objectAt, stringAt } from "../../formats/json.ts"
import { decodeGoogleError } from "../google-error.ts"
import type { ProviderError } from "../reply.ts"

export const encodeError = (_status: number, error: ProviderError): OpenAiError => ({
  event_id: null,
  error: defined({ type: error.kind ?? "invalid_request_error", message: error.message, code: error.code })
})

export const decodeError = (body: unknown): ProviderError | undefined => {
  const google = decodeGoogleError(body)
  if (google !== undefined) return google
  if (!isObject(body)) return undefined
  const error = objectAt(body, "error")
  // Some servers of this API answer with the error itself, some with its text.
  const message =
    error === undefined ? (stringAt(body, "error") ?? stringAt(body, "message")) : stringAt(error, "message")
  if (message === undefined) return undefined
  const holder = error ?? body
  const code = stringAt(holder, "code") ?? numberAt(holder, "code")?.toString()
  return { kind: stringAt(holder, "type"), message, code }
}
