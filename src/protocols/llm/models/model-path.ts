/** The model in the path of a Gemini, Vertex AI or Bedrock request: found, checked, and exchanged for another. */
import { modelSegment } from "../providers/model-segment.ts"

/** A model name found in a path. */
export interface PathModel {
  readonly model: string
  /** Where its segment stands in the path, still encoded. */
  readonly start: number
  readonly end: number
}

/** `/models/x:method` and `/model/x/operation`, whatever is done with the model there. */
const method = /:[A-Za-z]+$/
const operation = /\/[a-z-]+$/

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

/** Where a model's name has to stand. */
interface Place {
  readonly start: number
  readonly end: number
  readonly collection: "" | "tunedModels/"
}

/** What `/model/`, `/models/` and `/tunedModels/` have in common, and most paths have not. */
const ofCollections = "odel"

const placeIn = (path: string): Place | undefined => {
  if (!path.includes(ofCollections)) return undefined
  const ofMethod = method.exec(path)
  const place = (before: string, end: number, collection: Place["collection"]) => {
    const found = path.lastIndexOf(before)
    const start = found + before.length
    return found === -1 || start > end ? undefined : { start, end, collection }
  }
  if (ofMethod !== null)
    return place("/tunedModels/", ofMethod.index, "tunedModels/") ?? place("/models/", ofMethod.index, "")
  const ofOperation = operation.exec(path)
  return ofOperation === null ? undefined : place("/model/", ofOperation.index, "")
}

/** The model of `path` (without query), or `undefined` when there is none that can be trusted to stay in its segment. */
export const modelInPath = (path: string): PathModel | undefined => {
  const place = placeIn(path)
  if (place === undefined) return undefined
  const { start, end, collection } = place
  const model = decoded(path.slice(start, end))
  return model === undefined || model === notAModel ? undefined : { model: collection + model, start, end }
}

/** Whether there is something in a model's place that cannot be read as one: others may read it all the same. */
export const hidesModel = (path: string): boolean => {
  const place = placeIn(path)
  return place !== undefined && modelInPath(path) === undefined && path.slice(place.start, place.end) !== notAModel
}

/** The path with another model in it, or `undefined` for a name that no segment can carry. */
export const withModelInPath = (path: string, { start, end }: PathModel, model: string): string | undefined => {
  const stays = model.startsWith("tunedModels/") && path.startsWith("/tunedModels/", start - "/tunedModels/".length)
  const segment = modelSegment(stays ? model.slice("tunedModels/".length) : model)
  return segment === undefined ? undefined : path.slice(0, start) + segment + path.slice(end)
}
