import { assert, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { sorted } from "./sorted.ts"

/** Few different ranks, so that many are equal, and lists far longer than a run. */
const lists = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })))

it.effect.prop("sorts as the language does, equal items in their old order", [Arbitrary.schema(lists)], ([ranks]) =>
  Effect.gen(function* () {
    const items = Array.from({ length: ranks.length * 150 }, (_, index) => ({
      rank: (ranks[index % ranks.length]! * (index + 1)) % 21,
      index
    }))
    const byRank = (a: { readonly rank: number }, b: { readonly rank: number }) => a.rank - b.rank
    assert.deepStrictEqual(yield* sorted(items, byRank), items.toSorted(byRank))
  })
)
