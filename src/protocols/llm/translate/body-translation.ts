/** The contract of translations without a conversation: one request body, one answer, no stream. */
import type { Result } from "effect"
import type { LlmError } from "../formats/error.ts"
import type { JsonObject } from "../formats/json.ts"
import type { RequestReader } from "../formats/reader.ts"
import type { HeaderLookup } from "../formats/stream.ts"
import type { Call, Quirks } from "./codec.ts"

export interface BodyTranslation {
  readonly encodeRequest: (body: JsonObject, reader: RequestReader, call: Call, quirks: Quirks) => JsonObject
  /** `request`: the client's body. `header`: headers of the provider's answer. */
  readonly decodeResponse: (
    body: JsonObject,
    request: JsonObject,
    call: Call,
    header: HeaderLookup | undefined
  ) => Result.Result<JsonObject, LlmError>
  /** The client's error body for the provider's. */
  readonly encodeError: (body: unknown) => unknown
}
