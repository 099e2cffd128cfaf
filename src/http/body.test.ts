import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Fiber, Schema } from "effect"
import { driven } from "../../test/driven-body.ts"
import {
  type Body,
  BodyAborted,
  type BodyObserver,
  type BodySink,
  type BodySource,
  isSource,
  observe,
  read
} from "./body.ts"
import { HeaderList } from "./header-list.ts"

/** A source that pushes its chunks one by one, and stops to wait whenever it is told to. */
class Chunks implements BodySource {
  readonly #chunks: Array<Uint8Array>
  readonly #ending: "end" | BodyAborted | HeaderList
  #sink: BodySink | undefined
  #over = false
  /** Chunks that were pushed although the sink had asked to wait: a source in the middle of a packet does so. */
  readonly #late: number
  cancelled = false
  constructor(chunks: ReadonlyArray<Uint8Array>, ending: "end" | BodyAborted | HeaderList = "end", late = 0) {
    this.#chunks = [...chunks]
    this.#ending = ending
    this.#late = late
  }
  start(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }
  resume(): void {
    let late = this.#late
    while (!this.#over && !this.cancelled) {
      const chunk = this.#chunks.shift()
      if (chunk === undefined) {
        this.#over = true
        if (this.#ending instanceof BodyAborted) this.#sink?.fail(this.#ending)
        else this.#sink?.end(this.#ending === "end" ? undefined : this.#ending)
        return
      }
      if (this.#sink?.data(chunk) === false && late-- <= 0) return
    }
  }
  cancel(): void {
    this.cancelled = true
  }
}

/** Takes everything, and lets the source wait after every chunk where `slow` says so. */
const collect = (body: Body, slow: boolean) => {
  const chunks: Array<Uint8Array> = []
  let ending: "end" | BodyAborted | undefined
  let trailers: HeaderList | undefined
  if (!isSource(body)) {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : (body ?? new Uint8Array(0))
    return { bytes: [...bytes], ending: "end" as const, trailers }
  }
  let waiting = false
  body.start({
    data: (chunk) => {
      chunks.push(chunk)
      waiting = slow
      return !slow
    },
    end: (list) => {
      assert.isUndefined(ending)
      ending = "end"
      trailers = list
    },
    fail: (error) => {
      assert.isUndefined(ending)
      ending = error
    }
  })
  while (waiting && ending === undefined) {
    waiting = false
    body.resume()
  }
  return { bytes: chunks.flatMap((chunk) => [...chunk]), ending, trailers }
}

const chunks = Arbitrary.map(
  Arbitrary.array(Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))), {
    maxLength: 6
  }),
  (chunks) => chunks.map((bytes) => Uint8Array.from(bytes))
)
const limit = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))

describe("bodies", () => {
  it.effect.prop(
    "reading up to a limit loses and adds nothing, whatever the chunks and the pace",
    [chunks, limit, Schema.Boolean, limit],
    ([chunks, limit, slow, late]) =>
      Effect.gen(function* () {
        const all = chunks.flatMap((chunk) => [...chunk])
        const found = yield* read(new Chunks(chunks, "end", late % 3), limit)
        assert.strictEqual(found.complete, all.length <= limit)
        assert.deepStrictEqual([...found.bytes], all.slice(0, limit))
        const after = collect(found.body, slow)
        assert.deepStrictEqual(after.bytes, all)
        assert.strictEqual(after.ending, "end")
      })
  )

  it.effect.prop("reading twice is reading once", [chunks, limit, limit], ([chunks, first, second]) =>
    Effect.gen(function* () {
      const all = chunks.flatMap((chunk) => [...chunk])
      const once = yield* read(new Chunks(chunks), first)
      const twice = yield* read(once.body, second)
      assert.strictEqual(twice.complete, all.length <= second)
      assert.deepStrictEqual([...twice.bytes], all.slice(0, second))
      assert.deepStrictEqual(collect(twice.body, true).bytes, all)
    })
  )

  it.effect("what is in memory is there at once", () =>
    Effect.gen(function* () {
      for (const body of [undefined, "", "text", new Uint8Array([1, 2])])
        assert.isTrue(Exit.isExit(read(body, 10)), String(body))
      const short = yield* read("grün", 4)
      assert.isFalse(short.complete)
      assert.deepStrictEqual([...short.bytes], [...new TextEncoder().encode("grün")].slice(0, 4))
      assert.deepStrictEqual(collect(short.body, false).bytes, [...new TextEncoder().encode("grün")])
    })
  )

  it.effect("trailers survive reading", () =>
    Effect.gen(function* () {
      const trailers = new HeaderList(["x-sum", "1"])
      const found = yield* read(new Chunks([new Uint8Array([1])], trailers), 10)
      assert.isTrue(found.complete)
      assert.strictEqual(collect(found.body, false).trailers, trailers)
      const long = yield* read(new Chunks([new Uint8Array([1, 2]), new Uint8Array([3])], trailers), 1)
      assert.strictEqual(collect(long.body, true).trailers, trailers)
    })
  )

  it.effect("a body that breaks off within the limit is an error, beyond it the reader of the rest is told", () =>
    Effect.gen(function* () {
      const broken = new BodyAborted({ source: "client", detail: "gone" })
      const error = yield* Effect.flip(read(new Chunks([new Uint8Array([1])], broken), 10))
      assert.strictEqual(error, broken)
      assert.strictEqual(error.status, 400)
      const long = yield* read(new Chunks([new Uint8Array([1, 2])], broken), 1)
      const after = collect(long.body, false)
      assert.deepStrictEqual(after.bytes, [1, 2])
      assert.strictEqual(after.ending, broken)
    })
  )

  it.effect("whoever stops waiting cancels the source", () =>
    Effect.gen(function* () {
      const silent: BodySource & { cancelled: boolean } = {
        cancelled: false,
        start: () => {},
        resume: () => {},
        cancel() {
          this.cancelled = true
        }
      }
      const fiber = yield* Effect.forkChild(read(silent, 10), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.isTrue(silent.cancelled)
    })
  )

  it.effect("cancelling the rest reaches the source", () =>
    Effect.gen(function* () {
      const source = new Chunks([new Uint8Array(20), new Uint8Array(20)])
      const found = yield* read(source, 10)
      if (isSource(found.body)) found.body.cancel()
      assert.isTrue(source.cancelled)
    })
  )

  const watched = () => {
    const seen: Array<number> = []
    const ends: Array<unknown> = []
    const observer: BodyObserver = {
      data: (chunk) => seen.push(...chunk),
      end: (failure) => ends.push(failure)
    }
    return { seen, ends, observer }
  }

  it.prop("an observer sees what passes, and changes nothing", [chunks, Schema.Boolean], ([chunks, slow]) => {
    const { seen, ends, observer } = watched()
    const all = chunks.flatMap((chunk) => [...chunk])
    const after = collect(observe(new Chunks(chunks), observer), slow)
    assert.deepStrictEqual(after.bytes, all)
    assert.deepStrictEqual(seen, all)
    assert.deepStrictEqual(ends, [undefined])
  })

  it.live("what was read only in part flows on at once, when its reader comes while the source still pushes", () =>
    Effect.gen(function* () {
      // A source as sockets are: it pushes later, and notes that it has to wait when its push is over.
      const chunks = ["ab", "cd", "ef"].map((text) => new TextEncoder().encode(text))
      let sink: BodySink | undefined
      let held = false
      const push = () => {
        setImmediate(() => {
          const chunk = chunks.shift()
          if (chunk === undefined) sink!.end()
          else if (sink!.data(chunk)) push()
          else held = true
        })
      }
      const source: BodySource = {
        start: (to) => {
          sink = to
          push()
        },
        resume: () => {
          if (!held) return
          held = false
          push()
        },
        cancel: () => {}
      }
      const found = yield* read(source, 3)
      assert.isFalse(found.complete)
      const passed: Array<number> = []
      yield* Effect.callback<void>((resume) => {
        assert.isTrue(isSource(found.body))
        if (isSource(found.body))
          found.body.start({
            data: (chunk) => {
              passed.push(...chunk)
              return true
            },
            end: () => resume(Effect.void),
            fail: () => {}
          })
      }).pipe(Effect.timeout("1 second"))
      assert.strictEqual(new TextDecoder().decode(Uint8Array.from(passed)), "abcdef")
    })
  )

  it.effect(
    "a source is asked to wait while nobody takes what was read, and loses nothing that it pushes all the same",
    () =>
      Effect.gen(function* () {
        const { source, sink, resumed } = driven()
        const reading = yield* Effect.forkChild(read(source, 2), { startImmediately: true })
        assert.isTrue(sink().data(Uint8Array.from([1])))
        assert.isFalse(sink().data(Uint8Array.from([2, 3])))
        const { complete, body } = yield* Fiber.join(reading)
        assert.isFalse(complete)
        assert.isFalse(sink().data(Uint8Array.from([4])))
        assert.strictEqual(resumed(), 0)
        const taken: Array<number> = []
        const reader: BodySink = {
          data: (chunk) => {
            taken.push(...chunk)
            return true
          },
          end: () => taken.push(-1),
          fail: () => assert.fail("it is whole")
        }
        if (!isSource(body)) return assert.fail("a longer body goes on as a source")
        body.start(reader)
        assert.deepStrictEqual([...taken, resumed()], [1, 2, 3, 4, 1])
        assert.isTrue(sink().data(Uint8Array.from([5])))
        sink().end()
        assert.deepStrictEqual(taken, [1, 2, 3, 4, 5, -1])
      })
  )

  it("an observer is told once how it ended", () => {
    const broken = new BodyAborted({ source: "backend", detail: "reset" })
    assert.strictEqual(broken.status, 502)
    const failed = watched()
    collect(observe(new Chunks([], broken), failed.observer), false)
    assert.deepStrictEqual(failed.ends, [broken])
    const cancelled = watched()
    const source = new Chunks([new Uint8Array(3)])
    const body = observe(source, cancelled.observer)
    if (isSource(body)) {
      body.cancel()
      body.cancel()
    }
    assert.deepStrictEqual(cancelled.ends, ["cancelled"])
    assert.isTrue(source.cancelled)
    const text = watched()
    assert.strictEqual(observe("ab", text.observer), "ab")
    assert.deepStrictEqual([text.seen, text.ends], [[97, 98], [undefined]])
  })
})

describe("a body in single bytes", () => {
  /** Pushes so many, each in a chunk of its own. */
  const crumbs = (count: number) => {
    let sink: BodySink | undefined
    const source: BodySource = {
      start: (to) => {
        sink = to
        let more = true
        for (let i = 0; i < count && more; i++) more = to.data(new Uint8Array([i]))
      },
      resume: () => sink?.end(),
      cancel: () => {}
    }
    return source
  }

  it("takes little more memory than it has bytes while it is read", () => {
    setFlagsFromString("--expose-gc")
    const collect = runInNewContext("gc") as () => void
    const held = () => {
      collect()
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const before = held()
    const fiber = Effect.runFork(read(crumbs(500_000), 1_000_000))
    assert.isBelow(held() - before, 10_000_000)
    fiber.interruptUnsafe()
  })

  it("is handed on as a whole when it was too long", async () => {
    const count = 200_000
    const found = await Effect.runPromise(read(crumbs(count), count - 1))
    const chunks: Array<Uint8Array> = []
    let ended = false
    if (!isSource(found.body)) throw new Error("it was complete")
    found.body.start({
      data: (chunk) => chunks.push(chunk) > 0,
      end: () => {
        ended = true
      },
      fail: () => {}
    })
    assert.isTrue(ended)
    assert.lengthOf(chunks, 1)
    assert.deepStrictEqual(
      chunks[0],
      Uint8Array.from({ length: count }, (_, i) => i)
    )
  })
})
