/**
 * The forms in which a request's path is compared with the ends that say what it speaks: as it is meant, and as somebody behind the
 * gateway might read it. Where they differ in what they speak, nobody can tell what a provider would do with the request.
 */

/** Providers forgive doubled and trailing slashes and parameters of segments: such a path must not be handled as another one. */
export const canonicalPath = (path: string): string => {
  // What follows a colon is Google's method, wherever it stands.
  const plain = path.includes(";") ? path.replace(/;[^/:]*/g, "") : path
  return plain.includes("//") || plain.endsWith("/") ? plain.replace(/\/{2,}/g, "/").replace(/\/$/, "") : plain
}

/** The path as a provider may read it that decodes it first; `undefined` where it may leave its own place or cannot be decoded. */
export const decodedPath = (path: string): string | undefined => {
  try {
    const decoded = canonicalPath(
      decodeURIComponent(path)
        .replaceAll("\\", "/")
        .replace(/[?#].*$/s, "")
    )
    return /\/\.\.?(?:\/|$)/.test(decoded) ? undefined : decoded
  } catch {
    return undefined
  }
}

/**
 * The path as the most forgiving readers take it: decoded twice, in small letters, without blanks and dots behind its segments; and once
 * more without anything from a colon in a parameter on.
 */
export const forgivenPaths = (decoded: string): ReadonlyArray<string> => {
  const again = decoded.includes("%") ? (decodedPath(decoded) ?? decoded) : decoded
  const forgiven = canonicalPath(again.replace(/[\s\p{Cc}.]+(?=\/|$)/gu, "")).toLowerCase()
  return [forgiven, forgiven.replace(/:[^/]*/g, "")]
}
