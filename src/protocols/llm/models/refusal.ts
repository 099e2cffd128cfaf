/** The router's own answers to requests that no model can serve, in the shape of OpenAI's errors. */

const table = {
  model_not_found: [404, "Model not found"],
  model_authorization_denied: [403, "Model authorization denied"],
  model_not_allowed: [403, "Model is not allowed for this API key"],
  request_body_too_large: [413, "LLM request body exceeded the buffer limit"],
  invalid_request_body: [400, "LLM request body must be valid JSON"],
  missing_model: [400, "LLM request body is missing string field 'model'"],
  invalid_model: [400, "LLM multipart request body has invalid string field 'model'"],
  request_body_decode_failed: [400, "Failed to decode LLM request body"],
  request_body_read_failed: [400, "Failed to read LLM request body"],
  request_body_rewrite_failed: [400, "Failed to rewrite LLM request body model"],
  request_uri_rewrite_failed: [400, "Failed to rewrite LLM request URI model"],
  virtual_model_not_resolved: [404, "Virtual model could not be resolved"],
  virtual_model_target_not_found: [404, "Virtual model target was not found"],
  path_not_guarded: [404, "Prompt guards cannot read this path, and the configuration does not forward it past them"],
  virtual_model_no_matching_target: [400, "Virtual model did not match any conditional target"]
} as const satisfies Record<string, readonly [status: number, message: string]>

/** The `code` of the error body. */
export type RefusalCode = keyof typeof table

/** An answer that is sent as it is, with content type application/json. */
export interface Refusal {
  readonly type: "refused"
  readonly code: RefusalCode
  readonly status: number
  readonly message: string
  readonly body: string
}

/** The answer for `code`; `message` where it names more than the table can. */
export const refusal = (code: RefusalCode, message: string = table[code][1]): Refusal => ({
  type: "refused",
  code,
  status: table[code][0],
  message,
  body: JSON.stringify({ error: { message, type: "invalid_request_error", code } })
})

/** The body is no form. */
export const multipartInvalid = refusal(
  "invalid_request_body",
  "LLM multipart request body must be valid multipart/form-data"
)
/** The form has no model. */
export const multipartMissing = refusal("missing_model", "LLM multipart request body is missing string field 'model'")

/** All weights are 0. */
export const virtualNotResolved = (name: string): Refusal =>
  refusal("virtual_model_not_resolved", `Virtual model ${name} could not be resolved`)
/** The picked target is no configured model. */
export const virtualTargetNotFound = (name: string, target: string): Refusal =>
  refusal(
    "virtual_model_target_not_found",
    `Virtual model ${name} selected target ${target}, but no matching model was found`
  )
/** No condition holds. */
export const virtualNoTarget = (name: string): Refusal =>
  refusal("virtual_model_no_matching_target", `Virtual model ${name} did not match any conditional target`)
