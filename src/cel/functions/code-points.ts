/** Positions in text counted in code points, as the language counts, against positions in UTF-16, as JavaScript counts. */

const surrogate = /[\ud800-\udfff]/

const isPair = (text: string, at: number) =>
  (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00

/** The number of code points before a UTF-16 offset. */
export const codePointsBefore = (text: string, offset: number): number => {
  if (!surrogate.test(text)) return offset
  let count = 0
  for (let at = 0; at < offset; at += isPair(text, at) ? 2 : 1) count++
  return count
}

/** The number of code points of a text. */
export const codePointLength = (text: string): number => codePointsBefore(text, text.length)

/** The UTF-16 offset of a code point; `undefined` where the text is shorter. */
export const offsetOf = (text: string, index: bigint): number | undefined => {
  if (index < 0n || index > text.length) return undefined
  const wanted = Number(index)
  if (!surrogate.test(text)) return wanted
  let at = 0
  for (let count = 0; count < wanted; count++) {
    if (at >= text.length) return undefined
    at += isPair(text, at) ? 2 : 1
  }
  return at
}
