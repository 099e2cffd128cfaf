/** A model name as one segment of an upstream path. Names come from clients: none may leave its segment. */

const plain = /^[A-Za-z0-9._:@~-]+$/
// Characters that encodeURIComponent escapes although a path segment may hold them (RFC 3986, 3.3). Signatures and clouds expect them bare.
const allowed = /%(?:3A|40|24|26|2B|2C|3B|3D)/g

/** The escaped segment, or `undefined` for a name that no segment can carry: empty, `.` and `..`. */
export const modelSegment = (model: string): string | undefined => {
  if (model === "" || model === "." || model === "..") return undefined
  if (plain.test(model)) return model
  return encodeURIComponent(model.toWellFormed()).replace(allowed, decodeURIComponent)
}

/** The same for Gemini, whose ids carry their collection: `models/x` or `tunedModels/x`, bare ids meaning the former. */
export const geminiResource = (model: string): string | undefined => {
  const collection = model.startsWith("tunedModels/") ? "tunedModels/" : "models/"
  const segment = modelSegment(model.startsWith(collection) ? model.slice(collection.length) : model)
  return segment === undefined ? undefined : collection + segment
}
