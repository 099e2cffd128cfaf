/**
 * What can be seen of a whole-text regular expression without parsing it: needless anchors, and the literal text it begins
 * with. A string comparison then does the work of most of the automaton, which keeps a state per character and pattern.
 */

/** The pattern without a `^` at its beginning and a `$` at its end, which say nothing about a whole-text match. */
export const withoutAnchors = (source: string): string => {
  if (source.includes("\\Q")) return source
  const body = source.replace(/^\^(?![*+?{]|\(\?[A-Za-z-]*\))/, "")
  const end = /(\\*)\$$/.exec(body)
  return end !== null && end[1]!.length % 2 === 0 ? body.slice(0, -1) : body
}

/** Characters that stand for themselves, and those that do behind a backslash; unless what follows repeats them. */
const literals = /^(?:(?:[\w/~%:@!&'"=,;<> -]|\\[-./\\+*?()[\]{}|^$])(?![*+?{]))+/

/** Splits a pattern into the literal text it begins with, as far as that is plain to see, and the pattern of the rest. */
export const literalBeginning = (source: string): { readonly literal: string; readonly rest: string } => {
  const head = literals.exec(source)?.[0] ?? ""
  const rest = source.slice(head.length)
  if (head === "" || !standsAlone(rest)) return { literal: "", rest: source }
  return { literal: head.replace(/\\(.)/g, "$1"), rest }
}

/**
 * Whether a pattern means the same wherever it is put: no alternative at its top level, which would take in what comes
 * before, and nothing that looks at the preceding character.
 */
const standsAlone = (pattern: string): boolean => {
  let depth = 0
  for (let i = 0; i < pattern.length; i++) {
    switch (pattern[i]) {
      case "\\":
        if (/[AbBQ]/.test(pattern[++i] ?? "")) return false
        break
      case "[":
        i = endOfClass(pattern, i)
        break
      case "(":
        // Flags on their own do not keep a repetition that follows from what comes before.
        if (/^\(\?[A-Za-z-]*\)/.test(pattern.slice(i))) return false
        depth++
        break
      case ")":
        depth--
        break
      case "|":
        if (depth === 0) return false
        break
      case "^":
        return false
    }
  }
  return true
}

/** The index of the bracket that closes the class opened at `start`. */
const endOfClass = (pattern: string, start: number): number => {
  // A bracket right at the beginning is a member.
  const first = pattern[start + 1] === "^" ? start + 2 : start + 1
  for (let i = pattern[first] === "]" ? first + 1 : first; i < pattern.length; i++) {
    if (pattern[i] === "\\") i++
    else if (pattern.startsWith("[:", i)) i = Math.max(i, pattern.indexOf(":]", i) + 1)
    else if (pattern[i] === "]") return i
  }
  return pattern.length
}
