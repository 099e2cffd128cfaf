/**
 * Searching text for text, in time that grows with the text alone, whoever chose either. The engine's own search is fast on ordinary text
 * but spends up to 6 ns a character on text made to slow it down, and grows with the product of both lengths beyond 250 characters;
 * the work taken from the budget is the worst case of the way chosen.
 */
import { type Frame, outOfWork } from "./frame.ts"
import type { CelError } from "./problem.ts"

/** From this length on the choice of the way matters. */
const longText = 1 << 16
/** Up to this length, the engine's regular expressions find a literal at some 2 ns a character in the worst case. */
const shortPart = 16
/** Up to this length, the engine's search for strings is linear (Boyer and Moore's). */
const mediumPart = 250

/** The offset of the first occurrence at or after `from`, -1 if there is none. */
export const findText = (text: string, part: string, from: number, frame: Frame): number | CelError => {
  const length = text.length - from
  if (part.length > length) return -1
  if (part.length > mediumPart) {
    return frame.spend((length + part.length) >> 1) ? linearSearch(text, part, from, false) : outOfWork
  }
  if (length <= longText) return frame.spend(length >> 3) ? text.indexOf(part, from) : outOfWork
  if (part.length > shortPart) return frame.spend((length * 3) >> 5) ? text.indexOf(part, from) : outOfWork
  return frame.spend(length >> 5) ? searchByPattern(text, part, from) : outOfWork
}

/** The offset of the last occurrence that begins at or before `upTo`, -1 if there is none. */
export const findLastText = (text: string, part: string, upTo: number, frame: Frame): number | CelError => {
  const end = Math.min(upTo + part.length, text.length)
  if (end * part.length <= longText)
    return frame.spend((end * part.length) >> 5) ? text.lastIndexOf(part, upTo) : outOfWork
  return frame.spend((end + part.length) >> 1) ? linearSearch(text.slice(0, end), part, 0, true) : outOfWork
}

const special = /[\\^$.*+?()[\]{}|]/g

const searchByPattern = (text: string, part: string, from: number): number => {
  // The empty group keeps the engine from taking its search for strings after all.
  const pattern = new RegExp(`${part.replace(special, "\\$&")}(?:)`, "g")
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? -1
}

/** Knuth, Morris and Pratt's search: every character of the text is looked at once. */
const linearSearch = (text: string, part: string, from: number, last: boolean): number => {
  const fallback = new Int32Array(part.length)
  for (let at = 1, matched = 0; at < part.length; at++) {
    while (matched > 0 && part.charCodeAt(at) !== part.charCodeAt(matched)) matched = fallback[matched - 1]!
    if (part.charCodeAt(at) === part.charCodeAt(matched)) matched++
    fallback[at] = matched
  }
  let found = -1
  for (let at = from, matched = 0; at < text.length; at++) {
    while (matched > 0 && text.charCodeAt(at) !== part.charCodeAt(matched)) matched = fallback[matched - 1]!
    if (text.charCodeAt(at) === part.charCodeAt(matched)) matched++
    if (matched === part.length) {
      found = at - part.length + 1
      if (!last) return found
      matched = fallback[matched - 1]!
    }
  }
  return found
}
