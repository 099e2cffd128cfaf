/** Every suite of attacks, with all of its cases and a few generated ones. `npm run attack` does it for long. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { attackClasses } from "./attack.ts"
import { fewest, fewestOfClass, suites } from "./suites.ts"

for (const kind of attackClasses)
  describe(kind, () => {
    const own = suites.filter((suite) => suite.class === kind)

    it.live.each(own)("$name: $proves", (suite) =>
      Effect.gen(function* () {
        const { breaches } = yield* suite.run(suite.few, 1)
        assert.deepStrictEqual(breaches, [])
      })
    )

    it(`has at least ${fewestOfClass} cases, no two of one name`, () => {
      const titles = own.flatMap(({ name, titles }) => titles.map((title) => `${name}: ${title}`))
      assert.deepStrictEqual(doubles(titles), [])
      assert.isAtLeast(titles.length, fewestOfClass)
    })
  })

describe("suites that others began", () => {
  it.each(fewest)("there are at least $count $what, no two of one name", ({ names, count }) => {
    assert.deepStrictEqual(doubles(names), [])
    assert.isAtLeast(names.length, count)
  })
})

const doubles = (titles: ReadonlyArray<string>) => titles.filter((title, i) => titles.indexOf(title) !== i)
