import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Schema, Scope } from "effect"
import { Monotonic } from "../../src/services/monotonic.ts"
import { type BucketRule, type Draw, RateLimits } from "../../src/services/rate-limits.ts"
import { MemoryBuckets } from "./buckets.ts"
import { layer } from "./memory.ts"

const rule = (over: Partial<BucketRule> = {}): BucketRule => ({
  maxTokens: 3,
  tokensPerFill: 1,
  fillInterval: 1000,
  type: "requests",
  ...over
})

/** Buckets with a clock that the test moves. */
const bucketsOf = (over: Partial<BucketRule> = {}, capacity?: number) => {
  const time = { now: 5000 }
  const buckets = new MemoryBuckets(rule(over), () => time.now, capacity)
  return { time, take: (key?: string) => buckets.draw(key, 1, "all"), buckets }
}

const shown = ({ admitted, remaining, reset }: Draw) => [admitted, remaining, reset]

describe("a token bucket", () => {
  it("starts full, is refilled in whole intervals from its first use, and tells when", () => {
    const { time, take } = bucketsOf()
    assert.deepStrictEqual(shown(take()), [true, 2, 1000])
    time.now += 400
    assert.deepStrictEqual(shown(take()), [true, 1, 600])
    assert.deepStrictEqual(shown(take()), [true, 0, 600])
    assert.deepStrictEqual(shown(take()), [false, 0, 600])
    time.now += 599
    assert.deepStrictEqual(shown(take()), [false, 0, 1])
    time.now += 1
    assert.deepStrictEqual(shown(take()), [true, 0, 1000])
    time.now += 2500
    assert.deepStrictEqual(shown(take()), [true, 1, 500])
  })

  it("is never fuller than its size, however long it waits", () => {
    const { time, take } = bucketsOf()
    take()
    time.now += 1e9
    assert.strictEqual(take().remaining, 2)
  })

  it("of size nothing admits nothing", () => {
    assert.isFalse(bucketsOf({ maxTokens: 0, tokensPerFill: 0 }).take().admitted)
  })

  it("each key has its own; no key and the empty key share one", () => {
    const { take } = bucketsOf({ maxTokens: 1 })
    assert.isTrue(take("a").admitted)
    assert.isTrue(take("b").admitted)
    assert.isFalse(take("a").admitted)
    assert.isTrue(take().admitted)
    assert.isFalse(take("").admitted)
  })

  it("long keys are told apart, and no short key is the digest of a long one", () => {
    const { take } = bucketsOf({ maxTokens: 1 })
    const long = "k".repeat(5000)
    assert.isTrue(take(`${long}1`).admitted)
    assert.isTrue(take(`${long}2`).admitted)
    assert.isFalse(take(`${long}1`).admitted)
  })

  it("the least recently used key gives way, the shared bucket never", () => {
    const { take } = bucketsOf({ maxTokens: 1 }, 3)
    take()
    for (const key of ["a", "b", "c"]) take(key)
    take("a") // refused, yet a use
    take("d")
    assert.isTrue(take("b").admitted, "b was the oldest")
    assert.isFalse(take("a").admitted)
    assert.isFalse(take().admitted)
  })

  it("holds 65,536 keys", () => {
    const { take } = bucketsOf({ maxTokens: 1 })
    for (let i = 0; i < 65_536; i++) take(String(i))
    assert.isFalse(take("0").admitted)
    take("one more")
    assert.isTrue(take("1").admitted, "1 was the oldest once 0 had been used again")
  })
})

describe("an estimate that is settled", () => {
  const of = (maxTokens: number) => bucketsOf({ type: "tokens", maxTokens, tokensPerFill: 10 })

  it("gives back what was too much", () => {
    const { buckets } = of(100)
    buckets.draw("k", 60, "any").settle(20)
    assert.strictEqual(buckets.draw("k", 0, "any").remaining, 80)
  })

  it("takes what was too little, down to nothing", () => {
    const { buckets } = of(100)
    buckets.draw("k", 60, "any").settle(500)
    assert.deepStrictEqual(shown(buckets.draw("k", 1, "any")), [false, 0, 1000])
  })

  it("gives back no more than was taken, though the estimate was larger", () => {
    const { buckets } = of(100)
    buckets.draw("k", 90, "any")
    const second = buckets.draw("k", 50, "any")
    assert.deepStrictEqual([second.admitted, second.remaining], [true, 0])
    second.settle(0)
    assert.strictEqual(buckets.draw("k", 0, "any").remaining, 10)
  })

  it("counts once, and nothing when it was refused", () => {
    const { buckets } = of(100)
    const first = buckets.draw("k", 100, "any")
    const refused = buckets.draw("k", 10, "any")
    refused.settle(0)
    assert.strictEqual(buckets.draw("k", 0, "any").remaining, 0)
    first.settle(40)
    first.settle(0)
    assert.strictEqual(buckets.draw("k", 0, "any").remaining, 60)
  })

  it("asks for the whole amount where it is exact", () => {
    const { buckets } = of(100)
    assert.isFalse(buckets.draw("k", 101, "all").admitted)
    assert.strictEqual(buckets.draw("k", 100, "all").remaining, 0)
  })
})

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Moment = Schema.Struct({
  pause: between(0, 2500),
  key: Schema.Literals(["", "a", "b"]),
  amount: between(0, 6),
  used: between(0, 12),
  /** After how many further moments it is settled. */
  later: between(0, 4)
})

describe("laws of buckets", () => {
  it.prop(
    "no more is used than a full bucket and its refills hold, for any interleaving of takes",
    {
      maxTokens: between(0, 5),
      tokensPerFill: between(0, 5),
      moments: Arbitrary.array(Arbitrary.schema(Moment), { maxLength: 40 })
    },
    ({ maxTokens, tokensPerFill, moments }) => {
      const { time, take } = bucketsOf({ maxTokens, tokensPerFill: Math.min(tokensPerFill, maxTokens) })
      const first = new Map<string, number>()
      const admitted = new Map<string, number>()
      for (const { pause, key } of moments) {
        time.now += pause
        if (!first.has(key)) first.set(key, time.now)
        if (take(key).admitted) admitted.set(key, (admitted.get(key) ?? 0) + 1)
        const refills = Math.floor((time.now - first.get(key)!) / 1000)
        assert.isAtMost(admitted.get(key) ?? 0, maxTokens + refills * Math.min(tokensPerFill, maxTokens))
      }
    }
  )

  it.prop(
    "shares that are settled later, in any interleaving, leave what counting by hand leaves",
    { moments: Arbitrary.array(Arbitrary.schema(Moment), { maxLength: 40 }) },
    ({ moments }) => {
      const { time, buckets } = bucketsOf({ type: "tokens", maxTokens: 10, tokensPerFill: 2 })
      // By hand: a refill a second since the first use, one at a time.
      const byHand = new Map<string, { left: number; due: number }>()
      const tick = (key: string) => {
        const hand = byHand.get(key) ?? { left: 10, due: time.now + 1000 }
        byHand.set(key, hand)
        for (; hand.due <= time.now; hand.due += 1000) hand.left = Math.min(10, hand.left + 2)
        return hand
      }
      const open: Array<{ draw: Draw; key: string; taken: number; used: number; at: number }> = []
      for (const [at, { pause, key, amount, used, later }] of moments.entries()) {
        time.now += pause
        for (const share of open.filter((each) => each.at === at)) {
          share.draw.settle(share.used)
          share.draw.settle(0)
          const hand = tick(share.key)
          hand.left = Math.min(10, Math.max(0, hand.left + share.taken - share.used))
        }
        const hand = tick(key)
        const admitted = hand.left > 0
        const taken = Math.min(hand.left, amount)
        hand.left -= taken
        const draw = buckets.draw(key, amount, "any")
        assert.deepStrictEqual(shown(draw), [admitted, hand.left, hand.due - time.now])
        if (admitted) open.push({ draw, key, taken, used, at: at + 1 + later })
      }
    }
  )
})

describe("buckets of a configuration", () => {
  const configured = (rules: ReadonlyArray<BucketRule>, places: ReadonlyArray<string> = []) =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const scope = yield* Scope.make()
      const buckets = yield* Effect.forEach(rules, (each, index) =>
        Scope.provide(limits.open(each, places[index] ?? `routes[${index}]`), scope)
      )
      return { buckets, close: Scope.close(scope, Exit.void) }
    })
  const run = <A, E>(effect: Effect.Effect<A, E, RateLimits>) =>
    Effect.provideService(Effect.provide(effect, layer, { local: true }), Monotonic, () => 0)

  it.effect("of one that stays where it stood are its own, when an equal one in front of it goes", () =>
    Effect.gen(function* () {
      const { open } = yield* RateLimits
      const [before, after] = [yield* Scope.make(), yield* Scope.make()]
      const one = yield* Scope.provide(open(rule(), "routes[0]"), before)
      const other = yield* Scope.provide(open(rule(), "routes[1]"), before)
      assert.notStrictEqual(one, other)
      assert.strictEqual(yield* Scope.provide(open(rule(), "routes[1]"), after), other)
      yield* Scope.close(before, Exit.void)
      yield* Scope.close(after, Exit.void)
    }).pipe(Effect.provide(layer, { local: true }))
  )

  it.effect("outlive a reload that does not change the rule, and end with the last that holds it", () =>
    run(
      Effect.gen(function* () {
        const old = yield* configured([rule({ maxTokens: 5 }), rule()])
        old.buckets[1]!.draw("k", 2, "all")
        const next = yield* configured([rule(), rule({ maxTokens: 4 })])
        yield* old.close
        assert.strictEqual(next.buckets[0]!.draw("k", 0, "any").remaining, 1)
        assert.strictEqual(next.buckets[1]!.draw("k", 0, "any").remaining, 4)
        yield* next.close
        const fresh = yield* configured([rule()])
        assert.strictEqual(fresh.buckets[0]!.draw("k", 0, "any").remaining, 3)
      })
    )
  )

  it.effect("rules of one configuration that look alike do not share, and are taken over in order", () =>
    run(
      Effect.gen(function* () {
        const old = yield* configured([rule(), rule()])
        old.buckets[0]!.draw("k", 1, "all")
        old.buckets[1]!.draw("k", 3, "all")
        const next = yield* configured([rule(), rule(), rule()])
        yield* old.close
        assert.deepStrictEqual(
          next.buckets.map((buckets) => buckets.draw("k", 0, "any").remaining),
          [2, 0, 3]
        )
      })
    )
  )

  it.effect("one place has one set of buckets, however often it is opened", () =>
    run(
      Effect.gen(function* () {
        const twice = ["routes[0]", "routes[0]", "routes[1]"]
        const old = yield* configured([rule(), rule(), rule()], twice)
        assert.strictEqual(old.buckets[0], old.buckets[1])
        assert.notStrictEqual(old.buckets[0], old.buckets[2])
        const next = yield* configured([rule(), rule(), rule()], twice)
        yield* old.close
        assert.deepStrictEqual(next.buckets, old.buckets)
      })
    )
  )

  it.effect("a configuration that is given up leaves them where they were", () =>
    run(
      Effect.gen(function* () {
        const old = yield* configured([rule()])
        old.buckets[0]!.draw(undefined, 3, "all")
        const rejected = yield* configured([rule()])
        yield* rejected.close
        const next = yield* configured([rule()])
        assert.isFalse(next.buckets[0]!.draw(undefined, 1, "all").admitted)
      })
    )
  )
})
