/** Sorting in steps: a list of many thousands must not hold up the requests that are served meanwhile. */
import { Effect } from "effect"

const run = 256

/** A sorted copy; equal items keep their order. */
export const sorted = <A>(items: ReadonlyArray<A>, compare: (a: A, b: A) => number): Effect.Effect<ReadonlyArray<A>> =>
  Effect.gen(function* () {
    let runs: Array<ReadonlyArray<A>> = []
    for (let from = 0; from < items.length; from += run)
      runs.push(yield* Effect.sync(() => items.slice(from, from + run).sort(compare)))
    while (runs.length > 1) {
      const longer: Array<ReadonlyArray<A>> = []
      for (let i = 0; i < runs.length; i += 2)
        longer.push(yield* Effect.sync(() => merged(runs[i]!, runs[i + 1] ?? [], compare)))
      runs = longer
    }
    return runs[0] ?? []
  })

const merged = <A>(left: ReadonlyArray<A>, right: ReadonlyArray<A>, compare: (a: A, b: A) => number) => {
  const out: Array<A> = []
  let l = 0
  let r = 0
  while (l < left.length && r < right.length) out.push(compare(left[l]!, right[r]!) <= 0 ? left[l++]! : right[r++]!)
  while (l < left.length) out.push(left[l++]!)
  while (r < right.length) out.push(right[r++]!)
  return out
}
