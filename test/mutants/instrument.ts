/**
 * A file with all its mutants in it, asleep: each place asks whether it is the one that is awake. So one copy of the tree,
 * transformed once, serves every mutant, in processes and threads too.
 */
import { type Mutant, type Span, syntaxOf } from "./mutations.ts"

/** The function that a mutated file asks. */
export const asks = "$mutant"

interface Place extends Span {
  readonly kind: "expression" | "statement" | "block"
  readonly mutants: Array<readonly [id: number, becomes: string]>
}

/** @param mutants of this file, by their numbers. @param from the module that tells which of them is awake. */
export const instrumented = (
  file: string,
  source: string,
  mutants: ReadonlyMap<number, Mutant>,
  from: string
): string => {
  const places: Array<Place> = []
  const placeOf = ({ start, end }: Span, kind: Place["kind"]): Place => {
    const known = places.find((place) => place.start === start && place.end === end && place.kind === kind)
    if (known !== undefined) return known
    const place: Place = { start, end, kind, mutants: [] }
    places.push(place)
    return place
  }
  for (const [id, mutant] of mutants) {
    placeOf(mutant, mutant.kind).mutants.push([id, mutant.becomes])
    if (mutant.begins !== undefined) placeOf(mutant.begins, "block")
  }
  // Outer places first; where a statement is one expression, the statement is the outer one.
  const rank = { statement: 0, block: 1, expression: 2 }
  places.sort((one, other) => one.start - other.start || other.end - one.end || rank[one.kind] - rank[other.kind])

  let at = 0
  const until = (from: number, end: number): string => {
    let text = ""
    let done = from
    while (at < places.length && places[at]!.start < end) {
      const place = places[at++]!
      text += source.slice(done, place.start) + filled(place, until(place.start, place.end))
      done = place.end
    }
    return text + source.slice(done, end)
  }
  const body = until(0, source.length)
  const text = `import { ${asks} } from ${JSON.stringify(from)}; ${body}`
  syntaxOf(file, text)
  return text
}

const filled = ({ kind, mutants }: Place, code: string): string => {
  if (kind === "block") return `{ ${code} }`
  if (kind === "expression")
    return `(${mutants.map(([id, becomes]) => `${asks}(${id}) ? (${becomes}) : `).join("")}(${code}))`
  return `{ ${mutants.map(([id, becomes]) => `if (${asks}(${id})) { ${becomes} } else `).join("")}{ ${code} } }`
}
