/**
 * The part of RE2's syntax that the automaton understands, as a tree. Only whether a text matches is asked of it, so groups and greediness
 * leave no trace. What it does not know (Unicode classes, quoting) it says so, and the library takes over.
 */

/** Code points as pairs of first and last, ascending and disjoint. */
export type CharSet = ReadonlyArray<number>

export type Assertion = "textBegin" | "textEnd" | "lineBegin" | "lineEnd" | "wordBoundary" | "noWordBoundary"

export type Regex =
  | { readonly kind: "set"; readonly set: CharSet }
  | { readonly kind: "assert"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly parts: ReadonlyArray<Regex> }
  | { readonly kind: "choice"; readonly parts: ReadonlyArray<Regex> }
  | { readonly kind: "repeat"; readonly part: Regex; readonly min: number; readonly max: number }

export const maxCodePoint = 0x10ffff

const digit: CharSet = [48, 57]
const word: CharSet = [48, 57, 65, 90, 95, 95, 97, 122]
const space: CharSet = [9, 10, 12, 13, 32, 32]

const posix: Readonly<Record<string, CharSet>> = {
  alnum: [48, 57, 65, 90, 97, 122],
  alpha: [65, 90, 97, 122],
  ascii: [0, 127],
  blank: [9, 9, 32, 32],
  cntrl: [0, 31, 127, 127],
  digit,
  graph: [33, 126],
  lower: [97, 122],
  print: [32, 126],
  punct: [33, 47, 58, 64, 91, 96, 123, 126],
  space: [9, 13, 32, 32],
  upper: [65, 90],
  word,
  xdigit: [48, 57, 65, 70, 97, 102]
}

/** Sorts and merges ranges. */
const normalised = (ranges: ReadonlyArray<number>): CharSet => {
  const pairs: Array<readonly [number, number]> = []
  for (let i = 0; i < ranges.length; i += 2) pairs.push([ranges[i]!, ranges[i + 1]!])
  pairs.sort((a, b) => a[0] - b[0])
  const merged: Array<number> = []
  for (const [first, last] of pairs) {
    const end = merged.at(-1)
    if (end !== undefined && first <= end + 1) merged[merged.length - 1] = Math.max(end, last)
    else merged.push(first, last)
  }
  return merged
}

const complement = (set: CharSet): CharSet => {
  const rest: Array<number> = []
  let from = 0
  for (let i = 0; i < set.length; i += 2) {
    if (set[i]! > from) rest.push(from, set[i]! - 1)
    from = set[i + 1]! + 1
  }
  if (from <= maxCodePoint) rest.push(from, maxCodePoint)
  return rest
}

/** The set with both cases of its letters, or `undefined` where that takes tables: outside ASCII. */
const folded = (set: CharSet): CharSet | undefined => {
  const ranges = [...set]
  for (let i = 0; i < set.length; i += 2) {
    const [first, last] = [set[i]!, set[i + 1]!]
    if (last > 127 && !(first <= 128 && last === maxCodePoint)) return undefined
    for (const [from, to, shift] of [
      [65, 90, 32],
      [97, 122, -32]
    ] as const) {
      const [low, high] = [Math.max(first, from), Math.min(last, to)]
      if (low <= high) ranges.push(low + shift, high + shift)
    }
    // The two letters beyond ASCII whose other case is within it: the Kelvin sign and the long s.
    const has = (letter: number) => first <= letter && letter <= last
    if (has(75) || has(107)) ranges.push(0x212a, 0x212a)
    if (has(83) || has(115)) ranges.push(0x17f, 0x17f)
  }
  return normalised(ranges)
}

interface Flags {
  readonly i: boolean
  readonly m: boolean
  readonly s: boolean
}

const unknown = Symbol("beyond the automaton's syntax")
type Unknown = typeof unknown

/** Parses a pattern that RE2 accepts; `undefined` where the automaton does not know a part of it. */
export const parseRegex = (pattern: string): Regex | undefined => {
  const parser = new RegexParser(pattern)
  const regex = parser.choice({ i: false, m: false, s: false })
  return regex === unknown || !parser.atEnd ? undefined : regex
}

const controls: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }
const classes: Readonly<Record<string, CharSet>> = {
  d: digit,
  D: complement(digit),
  w: word,
  W: complement(word),
  s: space,
  S: complement(space)
}
const assertions: Readonly<Record<string, Assertion>> = {
  A: "textBegin",
  z: "textEnd",
  b: "wordBoundary",
  B: "noWordBoundary"
}

class RegexParser {
  readonly #pattern: string
  #at = 0
  #depth = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  get atEnd(): boolean {
    return this.#at >= this.#pattern.length
  }

  /** Alternatives up to a closing parenthesis or the end. Flags set inside a group hold to its end. */
  choice(flags: Flags): Regex | Unknown {
    if (++this.#depth > 200) return unknown
    const alternatives: Array<Regex> = []
    let current = flags
    for (;;) {
      const parts: Array<Regex> = []
      while (!this.atEnd && !this.#sees("|") && !this.#sees(")")) {
        const change = this.#flagChange(current)
        if (change !== undefined) {
          // A repetition behind it is one of what comes before: that is left to the library.
          if (change === unknown || this.#match(/[*+?{]/y) !== undefined) return unknown
          current = change
          continue
        }
        const part = this.#repeated(current)
        if (part === unknown) return unknown
        parts.push(part)
      }
      alternatives.push({ kind: "sequence", parts })
      if (!this.#takes("|")) break
    }
    this.#depth--
    return alternatives.length === 1 ? alternatives[0]! : { kind: "choice", parts: alternatives }
  }

  #sees(text: string): boolean {
    return this.#pattern.startsWith(text, this.#at)
  }

  #takes(text: string): boolean {
    if (!this.#sees(text)) return false
    this.#at += text.length
    return true
  }

  #match(form: RegExp): RegExpExecArray | undefined {
    form.lastIndex = this.#at
    const match = form.exec(this.#pattern)
    if (match === null) return undefined
    this.#at += match[0].length
    return match
  }

  /** `(?i)`: flags for what follows. */
  #flagChange(flags: Flags): Flags | Unknown | undefined {
    const match = this.#match(/\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?\)/y)
    return match && this.#flags(flags, match[1]!, match[2] ?? "")
  }

  #flags(flags: Flags, on: string, off: string): Flags | Unknown {
    if (/[^imsU]/.test(on + off)) return unknown
    const set = (flag: "i" | "m" | "s") => (flags[flag] || on.includes(flag)) && !off.includes(flag)
    return { i: set("i"), m: set("m"), s: set("s") }
  }

  #repeated(flags: Flags): Regex | Unknown {
    let part = this.#atom(flags)
    while (part !== unknown) {
      const range = this.#match(/([*+?])\??|\{(\d{1,4})(?:(,)(\d{1,4})?)?\}\??/y)
      if (range === undefined) break
      const [, sign, low, comma, high] = range
      const min = sign === undefined ? Number(low) : sign === "+" ? 1 : 0
      const open = sign === undefined ? comma !== undefined && high === undefined : sign !== "?"
      const max = open ? Number.POSITIVE_INFINITY : sign === "?" ? 1 : Number(high ?? low)
      part = { kind: "repeat", part, min, max }
    }
    return part
  }

  #atom(flags: Flags): Regex | Unknown {
    if (this.#takes("(")) return this.#group(flags)
    if (this.#takes("[")) return this.#class(flags)
    if (this.#takes(".")) return { kind: "set", set: flags.s ? [0, maxCodePoint] : complement([10, 10]) }
    if (this.#takes("^")) return { kind: "assert", assertion: flags.m ? "lineBegin" : "textBegin" }
    if (this.#takes("$")) return { kind: "assert", assertion: flags.m ? "lineEnd" : "textEnd" }
    if (this.#sees("\\")) {
      const assertion = assertions[this.#pattern[this.#at + 1] ?? ""]
      if (assertion !== undefined) {
        this.#at += 2
        return { kind: "assert", assertion }
      }
      const escaped = this.#escape()
      return escaped === unknown ? unknown : this.#set(escaped, flags)
    }
    const code = this.#codePoint()
    return this.#set([code, code], flags)
  }

  #set(set: CharSet, flags: Flags): Regex | Unknown {
    const wanted = flags.i ? folded(set) : set
    return wanted === undefined ? unknown : { kind: "set", set: wanted }
  }

  #group(flags: Flags): Regex | Unknown {
    let inner: Flags | Unknown = flags
    if (this.#sees("?")) {
      const named = this.#match(/\?P?<\w+>/y)
      const plain = named ?? this.#match(/\?([a-zA-Z]*)(?:-([a-zA-Z]+))?:/y)
      if (plain === undefined) return unknown
      if (named === undefined) inner = this.#flags(flags, plain[1]!, plain[2] ?? "")
    }
    if (inner === unknown) return unknown
    const regex = this.choice(inner)
    return this.#takes(")") ? regex : unknown
  }

  #codePoint(): number {
    const code = this.#pattern.codePointAt(this.#at)!
    this.#at += code > 0xffff ? 2 : 1
    return code
  }

  /** An escape that stands for characters; the backslash comes next. */
  #escape(): CharSet | Unknown {
    const hex = this.#match(/\\x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/y)
    if (hex !== undefined) {
      const code = Number.parseInt(hex[1] ?? hex[2]!, 16)
      return [code, code]
    }
    const escaped = this.#match(/\\(.)/sy)?.[1]
    if (escaped === undefined) return unknown
    if (classes[escaped] !== undefined) return classes[escaped]
    const code = controls[escaped] ?? (/[^\w]/.test(escaped) ? escaped.charCodeAt(0) : undefined)
    return code === undefined || code > 127 ? unknown : [code, code]
  }

  #class(flags: Flags): Regex | Unknown {
    const negative = this.#takes("^")
    const ranges: Array<number> = []
    for (let first = true; first || !this.#sees("]"); first = false) {
      if (this.atEnd) return unknown
      const named = this.#match(/\[:(\^?)(\w+):\]/y)
      if (named !== undefined) {
        const set = posix[named[2]!]
        if (set === undefined) return unknown
        ranges.push(...(named[1] === "" ? set : complement(set)))
        continue
      }
      const low = this.#member()
      if (low === unknown) return unknown
      const single = low.length === 2 && low[0] === low[1]
      if (single && this.#sees("-") && !this.#pattern.startsWith("-]", this.#at)) {
        this.#at++
        const high = this.#member()
        if (high === unknown) return unknown
        ranges.push(low[0]!, high.at(-1)!)
      } else ranges.push(...low)
    }
    this.#at++
    const set = this.#set(normalised(ranges), flags)
    return set === unknown || set.kind !== "set" || !negative ? set : { kind: "set", set: complement(set.set) }
  }

  #member(): CharSet | Unknown {
    if (this.#sees("\\")) return this.#escape()
    const code = this.#codePoint()
    return [code, code]
  }
}
