import { assert, describe, it } from "@effect/vitest"
import { weightedChoice } from "./weights.ts"

const choice = (...weights: ReadonlyArray<number>) =>
  weightedChoice(weights.map((weight, value) => ({ weight, value })))

describe("weighted choice", () => {
  it("gives each its share of the range of random numbers", () => {
    const choose = choice(1, 0, 2, 1)
    const at = (random: number) => choose(() => random)
    assert.deepStrictEqual([0, 0.2499, 0.25, 0.7499, 0.75, 0.9999].map(at), [0, 0, 2, 2, 3, 3])
  })

  it("never chooses weight 0", () => {
    const choose = choice(0, 3, 0, 5, 0)
    const seen = new Set(Array.from({ length: 1000 }, (_, n) => choose(() => n / 1000)))
    assert.deepStrictEqual(seen, new Set([1, 3]))
    assert.strictEqual(
      choose(() => 1 - 2 ** -53),
      3
    )
  })

  it("has nothing to choose from without a positive weight", () => {
    assert.isUndefined(choice()(() => 0))
    assert.isUndefined(choice(0, 0)(() => 0.5))
  })

  it("asks for no random number when there is one answer", () => {
    assert.strictEqual(
      choice(0, 7)(() => assert.fail("asked")),
      1
    )
  })

  it("approaches the weights", () => {
    const choose = choice(1, 9)
    let state = 42
    const random = () => {
      state = (state * 48_271) % 2_147_483_647
      return state / 2_147_483_647
    }
    const first = Array.from({ length: 20_000 }, () => choose(random)).filter((chosen) => chosen === 0).length
    assert.approximately(first / 20_000, 0.1, 0.01)
  })
})
