/** The known name that a mistyped one most likely meant. */

/** Edits between two words, a swap of neighbours counting as one (optimal string alignment). */
const distance = (a: string, b: string): number => {
  let previous: Array<number> = []
  let current = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let edits = Math.min(current[j]! + 1, next[j - 1]! + 1, current[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, previous[j - 2]! + 1)
      next.push(edits)
    }
    previous = current
    current = next
  }
  return current[b.length]!
}

// Separators and case are what people remember worst.
const plain = (word: string) => word.toLowerCase().replace(/[-_]/g, "")

/**
 * The closest of `known` within a third of the word's length, or nothing.
 * @param likely those of them that are missing: each is an edit closer than it seems.
 */
export const nearest = (
  word: string,
  known: Iterable<string>,
  likely: ReadonlyArray<string> = []
): string | undefined => {
  if (word.length > 64) return undefined
  const wanted = plain(word)
  const most = Math.max(1, Math.floor(wanted.length / 3))
  let best: string | undefined
  let bestDistance = most + 1
  for (const candidate of known) {
    const other = plain(candidate)
    // The beginning of a longer name is closer than another word.
    const beginning = wanted.length > 2 && other.startsWith(wanted)
    const edits = beginning ? 0.5 : distance(wanted, other)
    const seeming = likely.includes(candidate) ? edits - 1 : edits
    if (edits <= most && seeming < bestDistance) {
      best = candidate
      bestDistance = seeming
    }
  }
  return best
}

/** The end of a sentence about a name that is not there: the one that was meant, if any comes near. */
export const didYouMean = (word: string, known: Iterable<string>): string => {
  // Any other short name is one edit away.
  const meant = word.length > 2 ? nearest(word, known) : undefined
  return meant === undefined ? "" : `; did you mean ${meant}?`
}
