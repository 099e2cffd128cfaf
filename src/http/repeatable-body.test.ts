import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import type { BodyAborted, BodySink, BodySource } from "./body.ts"
import { HeldBytes } from "./held-bytes.ts"
import { RepeatableBody } from "./repeatable-body.ts"

/** A source that pushes one chunk in each turn, and counts what is asked of it. */
class Source implements BodySource {
  readonly #chunks: Array<Uint8Array>
  #sink: BodySink | undefined
  #waiting = false
  starts = 0
  cancelled = false
  pushed = 0
  constructor(chunks: ReadonlyArray<number>) {
    let next = 0
    this.#chunks = chunks.map((length) => Uint8Array.from({ length }, () => next++ % 251))
  }
  start(sink: BodySink): void {
    this.starts++
    this.#sink = sink
    this.#go()
  }
  resume(): void {
    assert.isTrue(this.#waiting, "nobody resumes a source that was not told to wait")
    this.#waiting = false
    this.#go()
  }
  cancel(): void {
    this.cancelled = true
  }
  #go(): void {
    setImmediate(() => {
      if (this.cancelled) return
      const chunk = this.#chunks.shift()
      if (chunk === undefined) this.#sink!.end()
      else {
        this.pushed++
        if (this.#sink!.data(chunk)) this.#go()
        else this.#waiting = true
      }
    })
  }
}

/** Takes a body up to so many bytes and lets go of it; pauses after each chunk where it is slow. */
const take = (body: BodySource, most: number, slow: boolean): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    const done = () => resolve(Buffer.concat(chunks))
    body.start({
      data: (chunk) => {
        chunks.push(chunk)
        size += chunk.length
        if (size >= most) {
          body.cancel()
          done()
          return false
        }
        if (slow) setImmediate(() => body.resume())
        return !slow
      },
      end: done,
      fail: (error: BodyAborted) => reject(error)
    })
  })

/** The next reader may come within the call that hands over a chunk. */
const takeAtOnce = (body: RepeatableBody): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const first = body.next()
    first.start({
      data: () => {
        first.cancel()
        take(body.next(), Number.POSITIVE_INFINITY, false).then(resolve, reject)
        return false
      },
      end: () => resolve(Buffer.alloc(0)),
      fail: reject
    })
  })

const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
const attempt = Schema.Struct({ most: Schema.Literals([1, 5, 20, 1000]), slow: Schema.Boolean, waits: Schema.Boolean })

describe("a body that may be sent again", () => {
  it.effect.prop(
    "is the same each time as long as it may be, at the pace of who takes it, and its source is read once",
    [
      Arbitrary.array(Arbitrary.schema(small), { maxLength: 6 }),
      Arbitrary.array(Arbitrary.schema(attempt), { minLength: 1, maxLength: 4 }),
      Arbitrary.schema(Schema.Literals([0, 8, 1000])),
      Arbitrary.schema(Schema.Literals([4, 1000]))
    ],
    ([lengths, attempts, most, budgeted]) =>
      Effect.promise(async () => {
        const source = new Source(lengths)
        const size = lengths.reduce((sum, length) => sum + length, 0)
        const all = Buffer.from(Uint8Array.from({ length: size }, (_, i) => i % 251))
        // The numbers go on over the chunks.
        const budget = new HeldBytes(budgeted)
        const body = new RepeatableBody(source, most, budget)
        for (const [index, { most, slow, waits }] of attempts.entries()) {
          if (index > 0 && !body.repeatable) break
          const got = await take(body.next(), most, slow)
          assert.isTrue(all.subarray(0, got.length).equals(got), "from its beginning")
          if (size < most) assert.strictEqual(got.length, size, "whole")
          else assert.isAtLeast(got.length, most)
          assert.isAtMost(budget.held, budgeted)
          if (waits) for (let i = 0; i < 3; i++) await new Promise(setImmediate)
        }
        body.giveUp()
        assert.strictEqual(budget.held, 0, "the budget has everything back")
        assert.isAtMost(source.starts, 1)
      })
  )

  it("is sent again from within the call that handed over a chunk of it", async () => {
    const body = new RepeatableBody(new Source([3, 3, 3]), 1000, new HeldBytes())
    assert.strictEqual((await takeAtOnce(body)).length, 9)
  })
})
