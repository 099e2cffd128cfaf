/** A regular expression as instructions for a machine that is in many places at once, after Thompson. */
import { type Assertion, type CharSet, maxCodePoint, type Regex } from "./syntax.ts"

export type Instruction =
  | { readonly op: "set"; readonly set: CharSet; readonly next: number }
  | { readonly op: "assert"; readonly assertion: Assertion; readonly next: number }
  | { readonly op: "split"; readonly first: number; readonly second: number }
  | { readonly op: "match" }

export interface Program {
  readonly instructions: ReadonlyArray<Instruction>
  readonly start: number
}

/** More instructions than this are left to the library. */
const maxInstructions = 2_000

/** The program of an expression; `undefined` when repetition makes it too long. It is built from its end. */
export const programOf = (regex: Regex): Program | undefined => {
  const instructions: Array<Instruction> = [{ op: "match" }]
  let tooLong = false
  const emit = (instruction: Instruction): number => {
    if (instructions.length >= maxInstructions) {
      tooLong = true
      return 0
    }
    return instructions.push(instruction) - 1
  }
  const build = (part: Regex, next: number): number => {
    if (tooLong) return 0
    switch (part.kind) {
      case "set":
        return emit({ op: "set", set: part.set, next })
      case "assert":
        return emit({ op: "assert", assertion: part.assertion, next })
      case "sequence":
        return part.parts.reduceRight((after, each) => build(each, after), next)
      case "choice":
        return part.parts
          .map((each) => build(each, next))
          .reduceRight((second, first) => emit({ op: "split", first, second }))
      case "repeat":
        return repeat(part.part, part.min, part.max, next)
    }
  }
  const repeat = (part: Regex, min: number, max: number, next: number): number => {
    let at = next
    if (max === Number.POSITIVE_INFINITY) {
      const loop = emit({ op: "split", first: next, second: next })
      const body = build(part, loop)
      instructions[loop] = { op: "split", first: body, second: next }
      at = loop
    } else for (let i = min; i < max && !tooLong; i++) at = emit({ op: "split", first: build(part, at), second: next })
    for (let i = 0; i < min && !tooLong; i++) at = build(part, at)
    return at
  }
  const start = build(regex, 0)
  return tooLong ? undefined : { instructions, start }
}

/** Code points in classes that no instruction tells apart: `bounds` are the first code points of all classes but the first. */
export const classBounds = (program: Program): Int32Array => {
  const bounds = new Set<number>()
  const separate = (set: CharSet) => {
    for (let i = 0; i < set.length; i += 2) bounds.add(set[i]!).add(set[i + 1]! + 1)
  }
  for (const instruction of program.instructions) {
    if (instruction.op === "set") separate(instruction.set)
    else if (instruction.op === "assert") {
      if (instruction.assertion.startsWith("line")) separate([10, 10])
      else if (instruction.assertion.endsWith("Boundary")) separate([48, 57, 65, 90, 95, 95, 97, 122])
    }
  }
  bounds.delete(0)
  bounds.delete(maxCodePoint + 1)
  return Int32Array.from(bounds).sort()
}
