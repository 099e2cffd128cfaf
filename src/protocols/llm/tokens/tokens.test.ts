import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { modelToEncodingMap } from "gpt-tokenizer/mapping"
import { readResponse } from "../usage/read.ts"
import {
  type Bucket,
  type BucketRule,
  bucketHeaders,
  fullBucket,
  refillBucket,
  reserveEstimate,
  reserveExact,
  settleBucket,
  takeRequest
} from "./bucket.ts"
import { chatTokens } from "./chat.ts"
import { encodingOf } from "./encoding.ts"
import { estimateTokens } from "./estimate.ts"
import { settlement } from "./settlement.ts"

const rule: BucketRule = { capacity: 100, refill: 10, intervalMs: 1000 }

describe("token bucket", () => {
  it("starts full and refills in whole intervals up to its capacity", () => {
    const full = fullBucket(rule, 0)
    assert.deepStrictEqual(full, { available: 100, refillAt: 1000 })
    const used: Bucket = { available: 5, refillAt: 1000 }
    assert.strictEqual(refillBucket(rule, used, 999), used)
    assert.deepStrictEqual(refillBucket(rule, used, 1000), { available: 15, refillAt: 2000 })
    assert.deepStrictEqual(refillBucket(rule, used, 3500), { available: 35, refillAt: 4000 })
    assert.deepStrictEqual(refillBucket(rule, used, 1e12).available, 100)
  })

  it("a request needs one whole unit", () => {
    assert.isTrue(takeRequest({ available: 1, refillAt: 0 }).admitted)
    assert.isFalse(takeRequest({ available: 0, refillAt: 0 }).admitted)
  })

  it("an estimate is admitted while anything is left and never charges below zero", () => {
    assert.deepStrictEqual(reserveEstimate({ available: 1, refillAt: 9 }, 500), {
      admitted: true,
      charged: 1,
      bucket: { available: 0, refillAt: 9 }
    })
    assert.isFalse(reserveEstimate({ available: 0, refillAt: 9 }, 0).admitted)
  })

  it("an exact count must fit, and zero does not", () => {
    assert.isTrue(reserveExact({ available: 5, refillAt: 0 }, 5).admitted)
    assert.isFalse(reserveExact({ available: 5, refillAt: 0 }, 6).admitted)
    assert.isFalse(reserveExact({ available: 5, refillAt: 0 }, 0).admitted)
  })

  it("a refund fills the bucket at most, an overrun empties it at most", () => {
    assert.strictEqual(settleBucket(rule, { available: 95, refillAt: 0 }, -10).available, 100)
    assert.strictEqual(settleBucket(rule, { available: 5, refillAt: 0 }, 10).available, 0)
  })

  it("the budget of the documented table: crossing completes, then 429 until the refill", () => {
    const daily: BucketRule = { capacity: 10, refill: 10, intervalMs: 1000 }
    let bucket = fullBucket(daily, 0)
    const first = reserveEstimate(bucket, 3)
    assert.isTrue(first.admitted)
    bucket = settleBucket(
      daily,
      first.bucket,
      settlement(
        first.charged,
        readResponse("completions", { usage: { prompt_tokens: 5, completion_tokens: 20 } }).usage
      )
    )
    assert.deepStrictEqual(bucket, { available: 0, refillAt: 1000 })
    assert.isFalse(reserveEstimate(refillBucket(daily, bucket, 999), 3).admitted)
    assert.isTrue(reserveEstimate(refillBucket(daily, bucket, 1000), 3).admitted)
  })

  it("headers count whole seconds down", () => {
    assert.deepStrictEqual(bucketHeaders(rule, { available: 7, refillAt: 2500 }, 1000), {
      limit: 100,
      remaining: 7,
      reset: 1
    })
    assert.strictEqual(bucketHeaders(rule, { available: 7, refillAt: 500 }, 1000).reset, 0)
  })

  const n = (maximum: number, minimum = 0) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })))
  const rules = Arbitrary.map(Arbitrary.all({ capacity: n(200), refill: n(200), intervalMs: n(50, 1) }), (r) => ({
    ...r,
    refill: Math.min(r.refill, r.capacity)
  }))
  const steps = Arbitrary.array(Arbitrary.all({ wait: n(60), estimate: n(80), actual: n(120), back: n(2) }), {
    maxLength: 20
  })

  it.prop("never leaves its bounds, and charges what it says", { rules, steps }, ({ rules: rule, steps }) => {
    let now = 0
    let bucket = fullBucket(rule, now)
    for (const { wait, estimate, actual, back } of steps) {
      now += back === 0 ? -wait : wait
      const before = refillBucket(rule, bucket, now)
      for (const admission of [
        reserveEstimate(before, estimate),
        reserveExact(before, estimate),
        takeRequest(before)
      ]) {
        assert.strictEqual(before.available - admission.bucket.available, admission.charged)
        if (!admission.admitted) assert.strictEqual(admission.charged, 0)
        assert.isTrue(admission.bucket.available >= 0)
      }
      const { charged, bucket: reserved } = reserveEstimate(before, estimate)
      bucket = settleBucket(rule, reserved, actual - charged)
      assert.isTrue(bucket.available >= 0 && bucket.available <= rule.capacity)
      // Without clamping on the way, reserve and settle together take exactly what was used.
      if (actual <= before.available) assert.strictEqual(bucket.available, before.available - actual)
    }
  })

  it.prop(
    "refilling in two steps is refilling in one",
    { rules, a: n(200), b: n(200), used: n(200) },
    ({ rules: rule, a, b, used }) => {
      const bucket = { available: Math.max(0, rule.capacity - used), refillAt: rule.intervalMs }
      assert.deepStrictEqual(
        refillBucket(rule, refillBucket(rule, bucket, a), a + b),
        refillBucket(rule, bucket, a + b)
      )
    }
  )
})

describe("settlement", () => {
  const usage = (format: "completions" | "messages", body: object) => readResponse(format, { usage: body }).usage
  it.each([
    [
      "input and output beyond the estimate",
      10,
      usage("completions", { prompt_tokens: 12, completion_tokens: 30 }),
      32
    ],
    ["a refund", 10, usage("completions", { prompt_tokens: 4, completion_tokens: 1 }), -5],
    [
      "cache beside the input counts toward it",
      0,
      usage("messages", {
        input_tokens: 1,
        output_tokens: 2,
        cache_read_input_tokens: 50,
        cache_creation_input_tokens: 7
      }),
      60
    ],
    ["input that nobody states stays at the estimate", 10, usage("messages", { output_tokens: 3 }), 3],
    ["no usage, nothing more", 10, undefined, 0]
  ])("%s", (_, charged, usage, expected) => {
    assert.strictEqual(settlement(charged, usage), expected)
  })
})

describe("counting", () => {
  it("the estimate is a quarter of the bytes", () => {
    assert.strictEqual(estimateTokens([]), 0)
    assert.strictEqual(estimateTokens(["abcd", "é€"]), 3)
  })

  it("every model that the library maps is mapped alike, or refused where its encoding is not offered", () => {
    for (const [model, encoding] of Object.entries(modelToEncodingMap))
      assert.strictEqual(
        encodingOf(model),
        encoding === "cl100k_base" || encoding === "o200k_base" ? encoding : undefined,
        model
      )
  })

  it.each([
    ["gpt-4o-2024-11-20", "o200k_base"],
    ["gpt-4.1-mini", "o200k_base"],
    ["gpt-5.4", "o200k_base"],
    ["o3-mini", "o200k_base"],
    ["chatgpt-4o-latest", "o200k_base"],
    ["ft:gpt-4o:org::id", "o200k_base"],
    ["gpt-4-turbo", "cl100k_base"],
    ["gpt-4-0613", "cl100k_base"],
    ["claude-x", "cl100k_base"],
    ["", "cl100k_base"],
    ["gpt-oss-20b", undefined]
  ] as const)("%s counts in %s", (model, encoding) => {
    assert.strictEqual(encodingOf(model), encoding)
  })

  it("a chat is more than its texts", () => {
    assert.strictEqual(chatTokens(2, 10), 21)
  })
})
