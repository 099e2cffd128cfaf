/** Anchors that say nothing about a match of the whole text. Without them the library sees with which text a pattern begins. */

/** The pattern without a `^` at its beginning and a `$` at its end. */
export const withoutAnchors = (source: string): string => {
  if (source.includes("\\Q")) return source
  const body = source.replace(/^\^(?![*+?{]|\(\?[A-Za-z-]*\))/, "")
  const end = /(\\*)\$$/.exec(body)
  return end !== null && end[1]!.length % 2 === 0 ? body.slice(0, -1) : body
}
