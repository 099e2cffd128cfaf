import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { BodyAborted, BodySink, BodySource } from "../../src/http/body.ts"
import type { Silent } from "../../src/services/upstreams.ts"
import { FakeClock } from "../../test/fake-clock.ts"
import { IdleWatch } from "./idle-watch.ts"

const watching = (milliseconds: number) => {
  const clock = new FakeClock()
  const log: Array<string> = []
  const told = (what: string) => (silent: Silent) => log.push(`${clock.now()} ${what} ${silent}`)
  const watch = new IdleWatch({ milliseconds, passed: told("passed") }, told("over"), clock.after, clock.now)
  const body = (name: string, from: Silent, takes: Array<boolean> = []) => {
    let inner: BodySink | undefined
    const source: BodySource = {
      start: (sink) => {
        inner = sink
      },
      resume: () => {},
      cancel: () => log.push(`${name} cancelled`)
    }
    const watched = watch.watched(source, from)
    watched.start({
      data: () => takes.shift() ?? true,
      end: () => log.push(`${name} ended`),
      fail: ({ source, detail }: BodyAborted) => log.push(`${name} failed: ${source}, ${detail}`)
    })
    return { watched, sink: inner! }
  }
  return { clock, log, body }
}

const bytes = new Uint8Array(1)
const moved = "nothing has moved for too long"

describe("a watch over what does not move", () => {
  it("gives up when nothing has moved for as long as it may", () => {
    const { clock, log, body } = watching(100)
    const { sink } = body("answer", "backend")
    for (let round = 0; round < 10; round++) {
      clock.advance(99)
      sink.data(bytes)
    }
    clock.advance(99)
    assert.deepStrictEqual(log, [])
    clock.advance(1)
    assert.deepStrictEqual(log, [
      "1090 passed backend",
      "1090 over backend",
      "answer cancelled",
      `answer failed: backend, ${moved}`
    ])
    assert.strictEqual(clock.timers, 0)
    assert.isFalse(sink.data(bytes))
    sink.end()
    assert.strictEqual(log.length, 4)
  })

  it("knows whose turn it was", () => {
    for (const [from, taken, silent] of [
      ["client", true, "client"],
      ["client", false, "backend"],
      ["backend", true, "backend"],
      ["backend", false, "client"]
    ] as const) {
      const { clock, log, body } = watching(100)
      body("body", from, [taken]).sink.data(bytes)
      clock.advance(100)
      assert.strictEqual(log[0], `100 passed ${silent}`)
    }
  })

  it("takes what moves in either direction for a move of both", () => {
    const { clock, log, body } = watching(100)
    const up = body("up", "client")
    const down = body("down", "backend", [false])
    clock.advance(60)
    up.sink.data(bytes)
    clock.advance(60)
    down.sink.data(bytes)
    clock.advance(60)
    // Whoever takes it has come to its end.
    down.watched.resume()
    clock.advance(60)
    assert.deepStrictEqual(log, [])
    up.sink.end()
    clock.advance(40)
    assert.deepStrictEqual(log, [
      "up ended",
      "280 passed backend",
      "280 over backend",
      "down cancelled",
      `down failed: backend, ${moved}`
    ])
  })

  it("ends both directions", () => {
    const { clock, log, body } = watching(100)
    body("up", "client")
    body("down", "backend")
    clock.advance(100)
    assert.deepStrictEqual(log.slice(2), [
      "up cancelled",
      `up failed: client, ${moved}`,
      "down cancelled",
      `down failed: client, ${moved}`
    ])
  })

  it("rests while no body is on its way", () => {
    const { clock, log, body } = watching(100)
    body("request", "client").sink.end()
    assert.strictEqual(clock.timers, 0)
    clock.advance(1000)
    const answer = body("answer", "backend")
    assert.strictEqual(clock.timers, 1)
    answer.watched.cancel()
    assert.strictEqual(clock.timers, 0)
    clock.advance(1000)
    assert.deepStrictEqual(log, ["request ended", "answer cancelled"])
  })

  const gaps = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 130 })))
  it.prop("gives up at the first gap that is long enough, and never sets a timer for a chunk", [gaps], ([all]) => {
    const { clock, log, body } = watching(100)
    const { sink } = body("answer", "backend")
    let last = 0
    for (const gap of all) {
      clock.advance(gap)
      if (gap >= 100) {
        assert.strictEqual(log[0], `${last + 100} passed backend`)
        return
      }
      assert.deepStrictEqual(log, [])
      assert.strictEqual(clock.timers, 1)
      sink.data(bytes)
      last = clock.now()
    }
  })
})
