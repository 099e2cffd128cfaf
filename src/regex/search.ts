/**
 * Where a pattern matches in a text, in linear time. The automaton says of most texts that it does not; for the others a search over the
 * library's program says where (Pike's algorithm: every position and instruction is visited at most once per search, whatever the pattern). The
 * library's own search cannot be stopped when a text takes too much work.
 */
import { Result } from "effect"
import { compileAutomaton, compileLibrary, type Library } from "./re2.ts"

/** Offsets in UTF-16 units; `end` is behind the match. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A pattern that is looked for. Both give `undefined` when the work on a text exceeds its bound. */
export interface Searching {
  /** Whether it matches anywhere, the empty match included. */
  readonly test: (text: string) => boolean | undefined
  /** The matches that are not empty, leftmost first and as a backtracking engine would choose them. */
  readonly findAll: (text: string) => ReadonlyArray<Span> | undefined
}

/**
 * Steps that a text of this length may take before the answer is "cannot be told" (`undefined`): a tenth of a second and more for long
 * texts. One search is linear, but a text can be made of very many matches each of which had to look to the end.
 */
const allowedSteps = (length: number): number => 10_000_000 + 32 * length

// The library's instruction codes (Inst.js of the pinned version). A test holds the search to an independent engine.
const ALT = 1
const ALT_MATCH = 2
const CAPTURE = 3
const EMPTY_WIDTH = 4
const MATCH = 6
const NOP = 7
const RUNE = 8
const RUNE_ANY_NOT_NL = 11
// Its bits of zero-width assertions.
const BEGIN_LINE = 1
const END_LINE = 2
const BEGIN_TEXT = 4
const END_TEXT = 8
const WORD_BOUNDARY = 16
const NO_WORD_BOUNDARY = 32

const isWord = (rune: number): boolean =>
  (rune >= 97 && rune <= 122) || (rune >= 65 && rune <= 90) || (rune >= 48 && rune <= 57) || rune === 95

/** The zero-width assertions that hold between two runes; -1 is the edge of the text. */
const assertionsBetween = (before: number, after: number): number =>
  (before < 0 ? BEGIN_TEXT | BEGIN_LINE : before === 10 ? BEGIN_LINE : 0) |
  (after < 0 ? END_TEXT | END_LINE : after === 10 ? END_LINE : 0) |
  (isWord(before) === isWord(after) ? NO_WORD_BOUNDARY : WORD_BOUNDARY)

/** Threads in order of priority: where each is in the program, and where its match began. */
class Threads {
  readonly pcs: Int32Array
  readonly starts: Int32Array
  length = 0
  private readonly seen: Int32Array
  private round = 0

  constructor(size: number) {
    this.pcs = new Int32Array(size)
    this.starts = new Int32Array(size)
    this.seen = new Int32Array(size)
  }

  clear(): void {
    this.length = 0
    if (++this.round === 0x7fff_ffff) {
      this.seen.fill(0)
      this.round = 1
    }
  }

  /** Marks an instruction as visited at this position; false when it was already, by a thread of higher priority. */
  enter(pc: number): boolean {
    if (this.seen[pc] === this.round) return false
    this.seen[pc] = this.round
    return true
  }

  add(pc: number, start: number): void {
    this.pcs[this.length] = pc
    this.starts[this.length++] = start
  }
}

type Program = ReturnType<Library["re2"]>["prog"]
type Instruction = ReturnType<Program["getInst"]>

/** For every ASCII character whether an instruction takes it. The library's own answer is asked for once, and for all others each time. */
const asciiOf = (instruction: Instruction): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, unit) => (instruction.matchRune(unit) ? 1 : 0))

class Search {
  private readonly start: number
  private readonly instructions: ReadonlyArray<Instruction>
  /** Of every instruction what it does, where it goes on, and its argument. */
  private readonly ops: Uint8Array
  private readonly outs: Int32Array
  private readonly args: Int32Array
  /** Made when an instruction is first reached with a character. */
  private readonly ascii: Array<Uint8Array | undefined>
  /** For every ASCII character whether a match can begin with it; `undefined` when a match can be empty and so begin anywhere. */
  private readonly first: Uint8Array | undefined
  private current: Threads
  private next: Threads
  private readonly stack: Array<number> = []
  private steps = 0
  private maxSteps = 0

  constructor(program: Program) {
    const size = program.numInst()
    this.start = program.start
    this.instructions = Array.from({ length: size }, (_, pc) => program.getInst(pc))
    this.ops = Uint8Array.from(this.instructions, ({ op }) => op)
    this.outs = Int32Array.from(this.instructions, ({ out }) => out)
    this.args = Int32Array.from(this.instructions, ({ arg }) => arg)
    this.ascii = Array.from({ length: size }, () => undefined)
    this.current = new Threads(size)
    this.next = new Threads(size)
    this.first = this.firstCharacters()
  }

  /** Begins work on a text. */
  begin(text: string): void {
    this.steps = 0
    this.maxSteps = allowedSteps(text.length)
  }

  get exhausted(): boolean {
    return this.steps > this.maxSteps
  }

  /** The leftmost match that begins at or behind `from`. */
  find(text: string, from: number): Span | undefined {
    let found: Span | undefined
    let at = from
    let before = from === 0 ? -1 : runeBefore(text, from)
    this.current.clear()
    while (!this.exhausted) {
      if (found === undefined && this.current.length === 0) {
        const candidate = this.candidate(text, at)
        if (candidate > at) before = runeBefore(text, candidate)
        at = candidate
      }
      const rune = at < text.length ? text.codePointAt(at)! : -1
      if (found === undefined) this.follow(this.current, this.start, at, assertionsBetween(before, rune))
      if (this.current.length === 0) {
        if (found !== undefined || rune === -1) return found
      }
      const behind = at + (rune > 0xffff ? 2 : 1)
      const assertions =
        rune === -1 ? 0 : assertionsBetween(rune, behind < text.length ? text.codePointAt(behind)! : -1)
      this.next.clear()
      for (let i = 0; i < this.current.length; i++) {
        this.steps++
        const pc = this.current.pcs[i]!
        const start = this.current.starts[i]!
        if (this.ops[pc] === MATCH) {
          found = { start, end: at }
          // What has less priority than a match cannot win any more.
          break
        }
        if (rune !== -1 && this.takes(pc, rune)) this.follow(this.next, this.outs[pc]!, start, assertions)
      }
      if (rune === -1) return found
      ;[this.current, this.next] = [this.next, this.current]
      before = rune
      at = behind
    }
    return undefined
  }

  private takes(pc: number, rune: number): boolean {
    if (rune > 127) return this.instructions[pc]!.matchRune(rune)
    let ascii = this.ascii[pc]
    if (ascii === undefined) {
      ascii = asciiOf(this.instructions[pc]!)
      this.ascii[pc] = ascii
    }
    return ascii[rune] === 1
  }

  /** The next position where a match can begin. */
  private candidate(text: string, from: number): number {
    const { first } = this
    if (first === undefined) return from
    let at = from
    for (; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit >= 128 || first[unit] === 1) break
    }
    return at
  }

  private firstCharacters(): Uint8Array | undefined {
    this.current.clear()
    this.follow(this.current, this.start, 0, ~0)
    const first = new Uint8Array(128)
    for (const pc of this.current.pcs.subarray(0, this.current.length)) {
      if (this.ops[pc] === MATCH) return undefined
      for (let unit = 0; unit < 128; unit++) if (this.takes(pc, unit)) first[unit] = 1
    }
    return first
  }

  /** Adds a thread at `pc`, and follows what consumes nothing: the preferred branch first. */
  private follow(threads: Threads, from: number, start: number, assertions: number): void {
    const { stack, ops, outs, args } = this
    stack.push(from)
    for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
      if (!threads.enter(pc)) continue
      this.steps++
      const op = ops[pc]!
      if (op === MATCH || (op >= RUNE && op <= RUNE_ANY_NOT_NL)) threads.add(pc, start)
      else if (op === ALT || op === ALT_MATCH) stack.push(args[pc]!, outs[pc]!)
      else if (op === NOP || op === CAPTURE) stack.push(outs[pc]!)
      else if (op === EMPTY_WIDTH && (args[pc]! & ~assertions) === 0) stack.push(outs[pc]!)
    }
  }
}

const runeBefore = (text: string, at: number): number => {
  const unit = text.charCodeAt(at - 1)
  const isLow = unit >= 0xdc00 && unit <= 0xdfff && at > 1
  const whole = isLow ? text.codePointAt(at - 2)! : unit
  return whole > 0xffff ? whole : unit
}

/** Work for the construction of the automaton. */
const automatonWork = 1_000_000

/** Look-around and back-references are not in the language. Fails with what is wrong. */
export const compileSearch = (source: string): Result.Result<Searching, string> => {
  const compiled = compileLibrary(source)
  if (Result.isFailure(compiled)) return Result.fail(`not a regular expression in RE2 syntax: ${compiled.failure}`)
  const search = new Search(compiled.success.re2().prog)
  const automaton = compileAutomaton(source, automatonWork)
  return Result.succeed({
    test: (text) => {
      if (automaton !== undefined) return automaton.test(text)
      search.begin(text)
      const found = search.find(text, 0)
      return search.exhausted ? undefined : found !== undefined
    },
    findAll: (text) => {
      if (automaton?.test(text) === false) return []
      search.begin(text)
      const spans: Array<Span> = []
      let at = 0
      while (at <= text.length) {
        const found = search.find(text, at)
        if (search.exhausted) return undefined
        if (found === undefined) break
        if (found.end > found.start) spans.push(found)
        // Behind an empty match the search goes on one character further.
        at = found.end > found.start ? found.end : found.end + ((text.codePointAt(found.end) ?? 0) > 0xffff ? 2 : 1)
      }
      return spans
    }
  })
}
