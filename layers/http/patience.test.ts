import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { BodySink } from "../../src/http/body.ts"
import { driven } from "../../test/driven-body.ts"
import { FakeClock } from "../../test/fake-clock.ts"
import { AwaitedBody, Patience } from "./patience.ts"

const patient = (milliseconds: number) => {
  const clock = new FakeClock()
  const ended: Array<number> = []
  const patience = new Patience(milliseconds, () => ended.push(clock.now()), clock.after, clock.now)
  return { clock, ended, patience }
}

const takes = (answers: Array<boolean>): BodySink => ({
  data: () => answers.shift() ?? true,
  end: () => {},
  fail: () => {}
})

const bytes = new Uint8Array(1)

describe("patience with a backend", () => {
  it("ends once, after its time", () => {
    const { clock, ended } = patient(100)
    clock.advance(99)
    assert.deepStrictEqual(ended, [])
    clock.advance(1000)
    assert.deepStrictEqual(ended, [100])
    assert.strictEqual(clock.timers, 0)
  })

  it("leaves no timer when it is no longer needed, and does not begin again", () => {
    const { clock, ended, patience } = patient(100)
    patience.end()
    patience.goOn()
    assert.strictEqual(clock.timers, 0)
    clock.advance(1000)
    assert.deepStrictEqual(ended, [])
  })

  it("stands still while the body of the request is waited for, and not while it is not taken", () => {
    const { clock, ended, patience } = patient(100)
    clock.advance(10)
    const { source, sink, resumed } = driven()
    const body = new AwaitedBody(source, patience)
    body.start(takes([true, false, true]))
    clock.advance(1_000_000)
    assert.isTrue(sink().data(bytes))
    clock.advance(1_000_000)
    assert.isFalse(sink().data(bytes))
    // The backend does not take it.
    clock.advance(50)
    body.resume()
    assert.strictEqual(resumed(), 1)
    clock.advance(1_000_000)
    sink().end()
    // The answer is waited for.
    clock.advance(39)
    assert.deepStrictEqual(ended, [])
    clock.advance(1)
    assert.deepStrictEqual(ended, [2_000_000 + 1_000_000 + 100])
  })

  const step = Schema.Tuple([Schema.Boolean, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 }))])
  it.prop("counts the time that it ran, and that alone", [Schema.Array(step)], ([steps]) => {
    const { clock, ended, patience } = patient(100)
    let ran = 0
    for (const [runs, milliseconds] of steps) {
      if (runs) patience.goOn()
      else patience.standStill()
      if (runs) ran += milliseconds
      clock.advance(milliseconds)
      assert.strictEqual(ended.length, ran >= 100 ? 1 : 0)
    }
  })
})
