/** The model in the path of a Gemini, Vertex AI or Bedrock request: found, checked, and exchanged for another. */
import { modelSegment } from "../providers/model-segment.ts"

/** A model name found in a path. */
export interface PathModel {
  readonly model: string
  /** Where its segment stands in the path, still encoded. */
  readonly start: number
  readonly end: number
}

const methods = [":generateContent", ":streamGenerateContent", ":countTokens", ":rawPredict", ":streamRawPredict"]
const operations = ["/invoke", "/invoke-with-response-stream", "/converse", "/converse-stream"]

/** Anthropic's token counting on Vertex AI has a method's name in the model's place; the model is in the body. */
const notAModel = "count-tokens"

/** What no path segment of an upstream may hold once it is decoded. */
const unsafe = /[\\%?#<>"`{}|^\s\p{Cc}]/u

const decoded = (segment: string): string | undefined => {
  let model: string
  try {
    model = decodeURIComponent(segment)
  } catch {
    return undefined
  }
  const safe = (part: string) => part !== "" && part !== "." && part !== ".." && !unsafe.test(part)
  return model.split("/").every(safe) ? model : undefined
}

const between = (path: string, before: string, after: string): PathModel | undefined => {
  const found = path.lastIndexOf(before)
  const start = found + before.length
  const end = path.length - after.length
  if (found === -1 || start >= end) return undefined
  const model = decoded(path.slice(start, end))
  return model === undefined || model === notAModel ? undefined : { model, start, end }
}

/** The model of `path` (without query), or `undefined` when there is none that can be trusted to stay in its segment. */
export const modelInPath = (path: string): PathModel | undefined => {
  const method = methods.find((method) => path.endsWith(method))
  if (method !== undefined) {
    const tuned = between(path, "/tunedModels/", method)
    return tuned === undefined ? between(path, "/models/", method) : { ...tuned, model: `tunedModels/${tuned.model}` }
  }
  const operation = operations.find((operation) => path.endsWith(operation))
  return operation === undefined ? undefined : between(path, "/model/", operation)
}

/** The path with another model in it, or `undefined` for a name that no segment can carry. */
export const withModelInPath = (path: string, { start, end }: PathModel, model: string): string | undefined => {
  const segment = modelSegment(model)
  return segment === undefined ? undefined : path.slice(0, start) + segment + path.slice(end)
}
