import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { longestKey, TokenCache } from "./token-cache.ts"

const claims = (sub: string) => ({ sub })
const Use = Schema.Struct({ token: Schema.Literals(["a", "b", "c", "d", "e"]), set: Schema.Boolean })

describe("the cache of verified tokens", () => {
  it("answers until a token expires", () => {
    const cache = new TokenCache()
    cache.set("a", claims("ada"), 1000)
    assert.deepStrictEqual(cache.get("a", 999), { sub: "ada" })
    assert.strictEqual(cache.get("a", 1000), undefined)
    assert.strictEqual(cache.get("b", 0), undefined)
  })

  it("keeps what is used, and lets go of what is not, when it is full", () => {
    const cache = new TokenCache(8)
    cache.set("used", claims("used"), 9)
    cache.set("idle", claims("idle"), 9)
    for (let i = 0; i < 10; i++) {
      cache.set(`other-${i}`, claims("other"), 9)
      assert.isDefined(cache.get("used", 0))
    }
    assert.strictEqual(cache.get("idle", 0), undefined)
  })

  it("forgets everything when it is told to", () => {
    const cache = new TokenCache(1)
    cache.set("a", claims("a"), 9)
    cache.set("b", claims("b"), 9)
    cache.clear()
    assert.deepStrictEqual([cache.get("a", 0), cache.get("b", 0)], [undefined, undefined])
  })

  it("does not hold what the map would tell apart by comparing texts", () => {
    const cache = new TokenCache()
    for (const [length, held] of [
      [longestKey, true],
      [longestKey + 1, false]
    ] as const) {
      cache.set("a".repeat(length), claims("a"), 9)
      assert.strictEqual(cache.get("a".repeat(length), 0) !== undefined, held)
    }
  })

  it("holds so many characters of tokens, not so many tokens", () => {
    const cache = new TokenCache(200)
    cache.set("short", claims("short"), 9)
    for (let i = 0; i < 5; i++) cache.set(`${i}`.repeat(100), claims("long"), 9)
    assert.strictEqual(cache.get("short", 0), undefined)
  })

  it.prop(
    "what it holds is what was set last, and it always holds what was set last",
    [Arbitrary.array(Arbitrary.schema(Use), { maxLength: 40 })],
    ([uses]) => {
      const cache = new TokenCache(2)
      const last = new Map<string, number>()
      for (const [i, { token, set }] of uses.entries()) {
        if (set) {
          cache.set(token, { i }, 9)
          last.set(token, i)
          assert.deepStrictEqual(cache.get(token, 0), { i })
        } else {
          const found = cache.get(token, 0)
          if (found !== undefined) assert.deepStrictEqual(found, { i: last.get(token) })
        }
      }
    }
  )
})
