/** The error body of Bedrock: a message under one of two names, or plain text. */
import { isObject, jsonText, stringAt } from "../../formats/json.ts"
import type { ProviderError } from "../reply.ts"

export const decodeError = (body: unknown): ProviderError => {
  const said = isObject(body) ? (stringAt(body, "message") ?? stringAt(body, "Message")) : undefined
  const message = said ?? (typeof body === "string" ? body : (jsonText(body) ?? ""))
  return { kind: "invalid_request_error", message, code: undefined }
}
