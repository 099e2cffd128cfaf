/** The error body of Google's APIs: an object, or a list of one. */
import { isObject, objectAt, stringAt } from "../formats/json.ts"
import type { ProviderError } from "./reply.ts"

const kinds: ReadonlyMap<string, string> = new Map([
  ["INVALID_ARGUMENT", "invalid_request_error"],
  ["FAILED_PRECONDITION", "invalid_request_error"],
  ["NOT_FOUND", "not_found_error"],
  ["PERMISSION_DENIED", "authentication_error"],
  ["UNAUTHENTICATED", "authentication_error"],
  ["RESOURCE_EXHAUSTED", "rate_limit_error"]
])

/** `undefined` when the body is not of this shape, which its status word tells. `code` is that word. */
export const decodeGoogleError = (body: unknown): ProviderError | undefined => {
  const outer: unknown = Array.isArray(body) && body.length === 1 ? body[0] : body
  const error = isObject(outer) ? objectAt(outer, "error") : undefined
  const code = error && stringAt(error, "status")
  if (error === undefined || code === undefined) return undefined
  return { kind: kinds.get(code) ?? "api_error", message: stringAt(error, "message") ?? "", code }
}
