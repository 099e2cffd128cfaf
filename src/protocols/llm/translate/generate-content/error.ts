/** The error body of Gemini: Google's, or what a proxy before it has written. */
import { jsonText } from "../../formats/json.ts"
import { decodeGoogleError } from "../google-error.ts"
import type { ProviderError } from "../reply.ts"

export const decodeError = (body: unknown): ProviderError =>
  decodeGoogleError(body) ?? {
    kind: "api_error",
    message: typeof body === "string" ? body : (jsonText(body) ?? ""),
    code: undefined
  }
