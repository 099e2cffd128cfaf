import { assert, describe, it } from "@effect/vitest"
import { choose } from "./choice.ts"
import { EndpointHealth, type Eviction } from "./health.ts"
import { retryHint } from "./retry-hint.ts"

const draws = (...values: ReadonlyArray<number>) => {
  let at = 0
  return () => values[at++ % values.length]!
}

describe("the health of an endpoint", () => {
  it("follows its answers, and what is nothing has no history", () => {
    const health = new EndpointHealth()
    health.failed(0, undefined, undefined)
    assert.closeTo(health.health, 0.7, 1e-9)
    health.failed(0, undefined, undefined)
    assert.closeTo(health.health, 0.49, 1e-9)
    health.succeeded(1)
    assert.closeTo(health.health, 0.643, 1e-9)
    assert.closeTo(health.score, 0.643 / 2, 1e-9)
    const over = health.begin()
    assert.closeTo(health.score, 0.643 / 2.1, 1e-9)
    over()
    over()
    assert.closeTo(health.score, 0.643 / 2, 1e-9)
    assert.isTrue(health.active(0))
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
    ["a health below the threshold, not above", { healthThreshold: 0.5 }, 1, undefined, 0],
    ["a health below the threshold", { healthThreshold: 0.5 }, 2, undefined, 3000]
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

  it("comes back as healthy as configured", () => {
    const health = failing({ restoreHealth: 0.9 }, 1)
    assert.closeTo(health.health, 0.7, 1e-9)
    assert.isTrue(health.active(3000))
    assert.strictEqual(health.health, 0.9)
  })
})

describe("choosing", () => {
  const candidate = (...failures: ReadonlyArray<Eviction | undefined>) => {
    const health = new EndpointHealth()
    for (const eviction of failures) health.failed(0, eviction, undefined)
    return { health }
  }
  it("takes the better of two draws", () => {
    const [good, bad] = [candidate(), candidate(undefined)]
    assert.strictEqual(choose([[good, bad]], 0, draws(0, 0.9)), good)
    assert.strictEqual(choose([[good, bad]], 0, draws(0.9, 0)), good)
    assert.strictEqual(choose([[good, bad]], 0, draws(0.9, 0.9)), bad)
  })
  it("goes to the next group while nobody of the first may be called, and back", () => {
    const [first, second] = [candidate({ duration: 10_000 }), candidate()]
    assert.strictEqual(choose([[first], [second]], 9_999, draws(0)), second)
    assert.strictEqual(choose([[first], [second]], 10_000, draws(0)), first)
  })
  it("never leaves a request without anybody", () => {
    const [first, second] = [candidate({}), candidate({})]
    assert.strictEqual(choose([[first], [second]], 0, draws(0)), first)
    assert.isUndefined(choose([], 0, draws(0)))
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
