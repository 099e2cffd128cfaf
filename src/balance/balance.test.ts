import { assert, describe, it } from "@effect/vitest"
import { best } from "./affinity.ts"
import { type Candidate, choose, halfEvicted } from "./choice.ts"
import { EndpointHealth, type Eviction } from "./endpoint-health.ts"
import { retryHint } from "./retry-hint.ts"
import { Balancing, draws, seeded } from "./simulation.ts"

describe("the health of an endpoint", () => {
  it("follows its answers, and what is nothing has no history", () => {
    const health = new EndpointHealth()
    health.failed(0, undefined, undefined)
    assert.closeTo(health.health, 0.7, 1e-9)
    health.failed(0, undefined, undefined)
    assert.closeTo(health.health, 0.49, 1e-9)
    health.succeeded(1)
    assert.closeTo(health.health, 0.643, 1e-9)
    assert.closeTo(health.score(0, 0), 0.643 / 2, 1e-9)
    const call = health.begin()
    assert.closeTo(health.score(0, 0), 0.643 / 2.1, 1e-9)
    call.over(0)
    call.over(0)
    assert.closeTo(health.score(0, 0), 0.643 / 2, 1e-9)
    assert.isTrue(health.active(0))
  })

  it("counts at least as long as the oldest call that has no answer", () => {
    const health = new EndpointHealth()
    health.succeeded(0.1)
    const [first, second, third] = [health.begin(), health.begin(), health.begin()]
    assert.strictEqual(health.latency(500, 0), 0.1, "requests on their way are waited for by nobody")
    first.sent(1000)
    second.sent(1500)
    third.sent(1700)
    assert.strictEqual(health.latency(1050, 0), 0.1)
    assert.strictEqual(health.latency(3000, 0), 2)
    second.answered(3000)
    assert.strictEqual(health.latency(3000, 0), 2)
    assert.strictEqual(first.answered(3000), 2)
    assert.closeTo(health.latency(3000, 0), 1.3, 1e-9)
    third.answered(3000)
    third.sent(3000)
    assert.strictEqual(health.latency(9000, 0), 0.1)
    for (const call of [first, second, third]) call.over(9000)
    assert.strictEqual(health.sampled, 0.1)
  })

  it("has a call that was given up count by its age, if that is more than was known", () => {
    const health = new EndpointHealth()
    const giveUp = (after: number) => {
      const call = health.begin()
      call.sent(0)
      call.over(after)
    }
    giveUp(2000)
    assert.strictEqual(health.sampled, 2)
    giveUp(100)
    assert.strictEqual(health.sampled, 2)
    giveUp(12_000)
    assert.closeTo(health.sampled!, 5, 1e-9)
    assert.strictEqual(health.health, 1)
  })

  const failing = (eviction: Eviction, times: number, asked?: number) => {
    const health = new EndpointHealth()
    for (let i = 0; i < times; i++) health.failed(0, eviction, asked)
    return health
  }
  it.each([
    ["one failure is enough", {}, 1, undefined, 3000],
    ["as long as configured", { duration: 500 }, 1, 9000, 500],
    ["as long as the answer asks", {}, 1, 9000, 9000],
    ["so many failures in a row, not fewer", { consecutiveFailures: 3 }, 2, undefined, 0],
    ["so many failures in a row", { consecutiveFailures: 3 }, 3, undefined, 3000],
    ["a health that was below the threshold before, not above", { healthThreshold: 0.5 }, 2, undefined, 0],
    ["a health that was below the threshold before", { healthThreshold: 0.5 }, 3, undefined, 3000]
  ] as const)("%s", (_, eviction, times, asked, until) => {
    const health = failing(eviction, times, asked)
    assert.isFalse(until > 0 && health.active(until - 1))
    assert.isTrue(health.active(until))
  })

  it("is left alone longer each time, failures meanwhile do not count, and success forgets", () => {
    const health = failing({ duration: 100 }, 2)
    assert.isTrue(health.active(100))
    health.failed(100, { duration: 100 }, undefined)
    assert.isFalse(health.active(299))
    assert.isTrue(health.active(300))
    health.succeeded(0)
    health.failed(300, { duration: 100 }, undefined)
    assert.isTrue(health.active(400))
  })

  it("is left alone for no longer than it may be", () => {
    const health = new EndpointHealth()
    health.failed(0, { duration: 900_000 }, undefined, 300_000)
    assert.isFalse(health.active(299_999))
    assert.isTrue(health.active(300_000))
  })

  it("comes back as healthy as configured, and grows to its share over ten seconds", () => {
    const health = failing({ restoreHealth: 0.9 }, 1)
    assert.closeTo(health.health, 0.7, 1e-9)
    assert.strictEqual(health.grown(0), 1)
    assert.isTrue(health.active(3000))
    assert.strictEqual(health.health, 0.9)
    assert.deepStrictEqual(
      [3000, 4000, 8000, 13_000, 3000].map((now) => health.grown(now)),
      [0.1, 0.1, 0.5, 1, 1]
    )
  })
})

describe("choosing", () => {
  const candidate = (...failures: ReadonlyArray<Eviction | undefined>): Candidate => {
    const health = new EndpointHealth()
    for (const eviction of failures) health.failed(0, eviction, undefined)
    return { health, key: String(failures.length) }
  }
  const drawing = (now: number, ...values: ReadonlyArray<number>) => ({ now, random: draws(...values) })

  it("takes the better of two draws", () => {
    const [good, bad] = [candidate(), candidate(undefined)]
    assert.strictEqual(choose([[good, bad]], drawing(0, 0, 0.9)), good)
    assert.strictEqual(choose([[good, bad]], drawing(0, 0.9, 0)), good)
  })
  it("takes what was drawn against nobody as often as it is worth beside the best", () => {
    const [good, bad] = [candidate(), candidate(undefined)]
    assert.strictEqual(choose([[good, bad]], drawing(0, 0.9, 0.9, 0.69)), bad)
    assert.strictEqual(choose([[good, bad]], drawing(0, 0.9, 0.9, 0.71)), good)
    assert.strictEqual(choose([[good, bad]], drawing(0, 0, 0)), good)
  })
  it("goes to the next group while nobody of the first may be called, and back", () => {
    const [first, second] = [candidate({ duration: 10_000 }), candidate()]
    assert.strictEqual(choose([[first], [second]], drawing(9_999, 0)), second)
    assert.strictEqual(choose([[first], [second]], drawing(10_000, 0)), first)
  })
  it("never leaves a request without anybody", () => {
    const [first, second] = [candidate({}), candidate({})]
    assert.strictEqual(choose([[first], [second]], drawing(0, 0)), first)
    assert.strictEqual(choose([[], [second]], drawing(0, 0)), second)
    assert.isUndefined(choose([], drawing(0, 0)))
    assert.isUndefined(choose([[]], drawing(0, 0)))
  })
  it("leaves alone no more than may be, and calls first who would be back first", () => {
    const [long, short, fine] = [candidate({ duration: 9000 }), candidate({ duration: 5000 }), candidate()]
    const asked = (at: number) => choose([[long, short], [fine]], { ...drawing(0, at), mostEvicted: halfEvicted })
    assert.strictEqual(asked(0), short)
    assert.strictEqual(asked(0.9), short)
    assert.strictEqual(choose([[long], [fine]], { ...drawing(0, 0), mostEvicted: halfEvicted }), fine)
    assert.strictEqual(choose([[long]], { ...drawing(0, 0), mostEvicted: halfEvicted }), long)
  })
})

describe("a group under load, by a clock of its own", () => {
  it("leaves one of three that never answers less than a twentieth after two seconds", () => {
    for (const rate of [20, 100, 300]) {
      const group = new Balancing(3, seeded(rate))
      group.run({ seconds: 60, rate, answersAfter: (endpoint) => (endpoint === 0 ? undefined : 0.01) })
      const share = group.share(0, 2)
      assert.isBelow(share, 0.05, `${rate} requests a second`)
      assert.isAbove(share, 0)
    }
  })
  it("does so when the clients give up after a second", () => {
    const group = new Balancing(3, seeded(7))
    group.run({
      seconds: 20,
      rate: 100,
      givenUpAfter: 1,
      answersAfter: (endpoint) => (endpoint === 0 ? undefined : 0.01)
    })
    assert.isBelow(group.share(0, 2), 0.05)
  })
  it("gives each of three that are alike a third", () => {
    const group = new Balancing(3, seeded(1))
    group.run({ seconds: 20, rate: 200, answersAfter: () => 0.02 })
    for (const endpoint of [0, 1, 2]) assert.closeTo(group.share(endpoint, 0), 1 / 3, 0.05)
  })
  it("finds out that one answers again", () => {
    const group = new Balancing(3, seeded(3))
    const answersAfter = (endpoint: number, at: number) => (endpoint === 0 && at < 30 ? undefined : 0.01)
    group.run({ seconds: 120, rate: 100, givenUpAfter: 5, answersAfter })
    assert.isBelow(group.share(0, 2, 30), 0.05)
    assert.isAbove(group.share(0, 100), 0.2)
  })
  it("lets a new one grow to its share", () => {
    const group = new Balancing(3, seeded(5))
    group.run({ seconds: 10, rate: 500, answersAfter: () => 0.01 })
    group.join()
    group.run({ seconds: 20, rate: 500, answersAfter: () => 0.01 })
    assert.isBelow(group.share(3, 10, 11), 0.08)
    assert.closeTo(group.share(3, 14, 16), 0.5 / 3.5, 0.05)
    assert.closeTo(group.share(3, 20), 0.25, 0.05)
  })
})

describe("requests of one kind", () => {
  const some = (count: number) =>
    Array.from({ length: count }, (_, at): Candidate => ({ key: `10.0.0.${at}:80`, health: new EndpointHealth() }))
  const kinds = Array.from({ length: 1000 }, (_, at) => `user-${at}`)
  const choice = (affinity: string) => ({ now: 0, random: () => 0, affinity })

  it("go to the same endpoint, whatever the order of the list", () => {
    const endpoints = some(10)
    for (const kind of kinds)
      assert.strictEqual(choose([endpoints], choice(kind)), choose([endpoints.toReversed()], choice(kind)))
  })
  it("move only from an endpoint that goes", () => {
    const endpoints = some(10)
    const gone = endpoints[3]!
    const moved = kinds.filter((kind) => {
      const before = choose([endpoints], choice(kind))
      const after = choose([endpoints.filter((each) => each !== gone)], choice(kind))
      assert.isTrue(before === gone || before === after)
      return before !== after
    })
    assert.isAbove(moved.length, 60)
    assert.isBelow(moved.length, 140)
  })
  it("are shared by capacity", () => {
    const [small, large] = some(2).map((each, at) => ({ ...each, capacity: at === 0 ? 1 : 3 }))
    const onLarge = kinds.filter((kind) => choose([[small!, large!]], choice(kind)) === large).length
    assert.closeTo(onLarge / kinds.length, 0.75, 0.05)
  })
  it("are spread in every process alike", () => {
    const found = ["a", "b", "c", "d", "é", ""].map((kind) => best(some(5), kind, () => 1)?.key)
    assert.deepStrictEqual(
      found,
      [2, 1, 3, 3, 4, 2].map((at) => `10.0.0.${at}:80`)
    )
  })
})

describe("how long an answer asks to be left alone", () => {
  const now = Date.parse("2026-01-01T00:00:00Z")
  it.each([
    [{ "retry-after": "7" }, 7000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:05 GMT" }, 5000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, undefined],
    [{ "retry-after-ms": "250" }, 250],
    [{ "x-ratelimit-reset": "30" }, 30_000],
    [{ "x-ratelimit-reset": String(now / 1000 + 60) }, 60_000],
    [{ "x-ratelimit-reset-requests": "1m30s", "x-ratelimit-reset-tokens": "20ms" }, 20],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined]
  ] as const)("%o", (headers: Readonly<Record<string, string>>, expected) => {
    assert.strictEqual(
      retryHint((name) => headers[name], now),
      expected
    )
  })
})
