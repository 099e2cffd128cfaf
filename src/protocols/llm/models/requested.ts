/** The model that a client asks for: in the path, in a form field, or in the JSON body. */
import type { Buffer } from "node:buffer"
import { isObject, type JsonObject, parseJson } from "../formats/json.ts"
import { modelInPath } from "./model-path.ts"
import { multipartBoundary, multipartField } from "./multipart.ts"
import { multipartInvalid, multipartMissing, type Refusal, refusal } from "./refusal.ts"

/** The name, and where it stands. `body` is the JSON that was parsed on the way. */
export type RequestedModel =
  | { readonly type: "path"; readonly model: string }
  | { readonly type: "form"; readonly model: string }
  | { readonly type: "body"; readonly model: string; readonly body: JsonObject }

const invalidBody = refusal("invalid_request_body")
const missingModel = refusal("missing_model")
const invalidModel = refusal("invalid_model")

/** `path` without query; `body` decompressed. */
export const requestedModel = (
  path: string,
  contentType: string | undefined,
  body: Buffer
): RequestedModel | Refusal => {
  const at = modelInPath(path)
  if (at !== undefined) return { type: "path", model: at.model }
  if (contentType !== undefined && /^\s*multipart\/form-data\b/i.test(contentType)) return formModel(contentType, body)
  const json = parseJson(body.toString("utf8"))
  if (json === undefined) return invalidBody
  if (!isObject(json)) return missingModel
  const model = Object.hasOwn(json, "model") ? json["model"] : undefined
  return typeof model === "string" ? { type: "body", model, body: json } : missingModel
}

const formModel = (contentType: string, body: Buffer): RequestedModel | Refusal => {
  const boundary = multipartBoundary(contentType)
  if (boundary === undefined) return multipartInvalid
  const field = multipartField(body, boundary, "model")
  switch (field.type) {
    case "text":
      return { type: "form", model: field.text }
    case "missing":
      return multipartMissing
    case "invalid":
      return invalidModel
    case "malformed":
      return multipartInvalid
  }
}
