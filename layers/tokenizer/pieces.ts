/**
 * Cuts text so that a byte pair encoder takes linear time. The encoder's cost is quadratic in the longest unbroken run: a hundred kilobytes
 * of one Chinese character keep it busy for half a minute. A cut inside such a run costs at most a token or two of accuracy.
 */

const longestRun = 128
/** So that nobody waits long for a turn. */
const longestPiece = 16_384

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** Pieces that add up to `text`, none of which has a run of blanks or of non-blanks over 128 characters. A short text is one piece. */
export const boundedPieces = (text: string): ReadonlyArray<string> => {
  const cuts: Array<number> = []
  let runStart = 0
  let runIsSpace = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const space = isSpace(code)
    if (space !== runIsSpace) {
      // Encodings part words before the blanks: such a cut costs nothing.
      if (space && i - (cuts.at(-1) ?? 0) >= longestPiece) cuts.push(i)
      runIsSpace = space
      runStart = i
    } else if (i - runStart >= longestRun && !isLowSurrogate(code)) {
      cuts.push(i)
      runStart = i
    }
  }
  if (cuts.length === 0) return [text]
  return [...cuts, text.length].map((end, n) => text.slice(n === 0 ? 0 : cuts[n - 1], end))
}
