/**
 * A deterministic automaton, built when the pattern is compiled: a test costs one table look-up a character, whatever the pattern and
 * whatever the text. Patterns whose automaton would be large have none, and are left to the library.
 */
import { classBounds, type Program } from "./program.ts"
import type { Assertion, CharSet } from "./syntax.ts"

/** States and table cells an automaton may have, and the work its construction may take. */
const maxStates = 1_000
const maxCells = 1 << 16

/** Targets of transitions that are no states. */
const accepted = -1
const rejected = -2
const notBuilt = -3

/** What stands before or after a position: decides which assertions hold there. */
type Context = "edge" | "word" | "newline" | "other"

const holds = (assertion: Assertion, before: Context, after: Context): boolean => {
  switch (assertion) {
    case "textBegin":
      return before === "edge"
    case "textEnd":
      return after === "edge"
    case "lineBegin":
      return before === "edge" || before === "newline"
    case "lineEnd":
      return after === "edge" || after === "newline"
    case "wordBoundary":
      return (before === "word") !== (after === "word")
    case "noWordBoundary":
      return (before === "word") === (after === "word")
  }
}

const contextOf = (code: number): Context =>
  code === 10
    ? "newline"
    : (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
      ? "word"
      : "other"

const contains = (set: CharSet, code: number): boolean => {
  for (let i = 0; i < set.length; i += 2) if (code <= set[i + 1]!) return code >= set[i]!
  return false
}

export class Automaton {
  readonly #bounds: Int32Array
  /** Classes of the first 256 code points. */
  readonly #latin: Uint8Array
  readonly #width: number
  /** For each state the target for each class, then for the end of the text. */
  readonly #table: Int32Array
  readonly states: number

  private constructor(bounds: Int32Array, table: Int32Array, width: number) {
    this.#bounds = bounds
    this.#table = table
    this.#width = width
    this.states = table.length / width
    this.#latin = Uint8Array.from({ length: 256 }, (_, code) => classOf(bounds, code))
  }

  /** Builds the automaton that searches for a match anywhere; `undefined` when it would be too large or take more work than given. */
  static of(program: Program, work: number): Automaton | undefined {
    const bounds = classBounds(program)
    if (bounds.length > 250) return undefined
    const table = new Construction(program, bounds, work).table()
    return table && new Automaton(bounds, table, bounds.length + 2)
  }

  /** Whether the text has a match. */
  test(text: string): boolean {
    const table = this.#table
    const latin = this.#latin
    const width = this.#width
    const length = text.length
    let row = 0
    for (let i = 0; i < length; i++) {
      let code = text.charCodeAt(i)
      let column: number
      if (code < 256) column = latin[code]!
      else {
        if ((code & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) code = text.codePointAt(i++)!
        column = classOf(this.#bounds, code)
      }
      const target = table[row + column]!
      if (target < 0) return target === accepted
      row = target
    }
    return table[row + width - 1] === accepted
  }
}

const classOf = (bounds: Int32Array, code: number): number => {
  let low = 0
  for (let high = bounds.length; low < high; ) {
    const middle = (low + high) >> 1
    if (bounds[middle]! <= code) low = middle + 1
    else high = middle
  }
  return low
}

interface State {
  /** Instructions before anything that takes no character is followed. */
  readonly at: ReadonlyArray<number>
  readonly before: Context
}

/** Builds the table state by state, each a set of places where the machine can be. */
class Construction {
  readonly #program: Program
  readonly #samples: ReadonlyArray<number>
  readonly #states: Array<State> = []
  readonly #known = new Map<string, number>()
  #work: number
  /** Whether contexts are to be kept apart: states would exist three times where the program does not ask for them. */
  readonly #asksContext: boolean
  /** Whether a match can begin after the first character: no search goes on behind a pattern that is bound to the beginning. */
  readonly #beginsAnywhere: boolean

  constructor(program: Program, bounds: Int32Array, work: number) {
    this.#program = program
    this.#samples = [0, ...bounds]
    this.#work = work
    this.#asksContext = program.instructions.some(
      (instruction) =>
        instruction.op === "assert" && instruction.assertion !== "textBegin" && instruction.assertion !== "textEnd"
    )
    this.#beginsAnywhere =
      this.#asksContext ||
      (["other", "edge"] as const).some((after) => {
        const places = this.#closure({ at: [program.start], before: "other" }, after)
        return typeof places === "number" || places.length > 0
      })
  }

  table(): Int32Array | undefined {
    const width = this.#samples.length + 1
    const rows: Array<number> = []
    this.#number({ at: [this.#program.start], before: "edge" })
    for (let i = 0; i < this.#states.length; i++) {
      if (this.#states.length > maxStates || this.#states.length * width > maxCells) return undefined
      const state = this.#states[i]!
      for (const sample of this.#samples) {
        const target = this.#after(state, sample)
        if (target === notBuilt) return undefined
        rows.push(target < 0 ? target : target * width)
      }
      rows.push(this.#closure(state, "edge") === accepted ? accepted : rejected)
    }
    return Int32Array.from(rows)
  }

  #number(state: State): number {
    const key = `${state.before}:${state.at.join()}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    this.#known.set(key, this.#states.length)
    return this.#states.push(state) - 1
  }

  /** The state after one more character; a search may begin anew at every character. */
  #after(state: State, code: number): number {
    const places = this.#closure(state, contextOf(code))
    if (typeof places === "number") return places
    const next = new Set<number>(this.#beginsAnywhere ? [this.#program.start] : [])
    for (const place of places) {
      const instruction = this.#program.instructions[place]!
      if (instruction.op === "set" && contains(instruction.set, code)) next.add(instruction.next)
    }
    if (next.size === 0) return rejected
    const at = [...next].sort((a, b) => a - b)
    return this.#number({ at, before: this.#asksContext ? contextOf(code) : "other" })
  }

  /** Where the machine can be without taking a character, or that it accepts, or that the work is used up. */
  #closure(state: State, after: Context): ReadonlyArray<number> | typeof accepted | typeof notBuilt {
    const seen = new Set<number>()
    const open = [...state.at]
    const places: Array<number> = []
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (seen.has(at)) continue
      seen.add(at)
      if (--this.#work < 0) return notBuilt
      const instruction = this.#program.instructions[at]!
      switch (instruction.op) {
        case "match":
          return accepted
        case "set":
          places.push(at)
          break
        case "split":
          open.push(instruction.first, instruction.second)
          break
        case "assert":
          if (holds(instruction.assertion, state.before, after)) open.push(instruction.next)
      }
    }
    return places
  }
}
