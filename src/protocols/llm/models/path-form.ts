/**
 * The forms in which a request's path is compared with the ends that say what it speaks: as it is meant, and as somebody behind the
 * gateway might read it. Where they differ in what they speak, nobody can tell what a provider would do with the request.
 */
import { isOrdinary, readPath } from "../../../http/path.ts"

/**
 * The path in its normal form, which it need not have where paths stay as received. Providers forgive a trailing slash and parameters of
 * segments. What follows a colon is Google's method, wherever it stands.
 */
export const canonicalPath = (path: string): string => {
  if (path !== last.path) last = { path, canonical: canonicalised(path) }
  return last.canonical
}

/** Several ask for the same request, and most requests are for the same path. */
let last = { path: "", canonical: "" }

const canonicalised = (path: string): string => {
  if (isOrdinary(path)) return withoutTrailingSlash(path)
  const read = readPath(path)
  // What has no normal form is refused before it is sent.
  return withoutTrailingSlash(("fault" in read ? path : read.path).replace(/;[^/:]*/g, "").replace(/\/{2,}/g, "/"))
}

/** The path to a provider that decodes more of it; `undefined` where nobody can tell how it is read. */
export const otherReading = (path: string): string | undefined => {
  if (isOrdinary(path)) return withoutTrailingSlash(path)
  const read = readPath(path)
  return "fault" in read ? undefined : withoutTrailingSlash(read.other ?? read.path)
}

/** A reading as the most forgiving have it: decoded twice, in small letters, without blanks and dots behind its segments. */
export const forgivenPath = (reading: string): string => {
  const decoded = reading.includes("%") ? decode(decode(reading)) : reading
  return withoutTrailingSlash(
    decoded
      .replace(/[;?#][^/]*/g, "")
      .replace(/[\s\p{Cc}.]+(?=\/|$)/gu, "")
      .replace(/\/{2,}/g, "/")
      .toLowerCase()
  )
}

const withoutTrailingSlash = (path: string): string => (path.endsWith("/") ? path.slice(0, -1) : path)

const decode = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
