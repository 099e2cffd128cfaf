import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Cause, Effect, Exit, Fiber, Option, Schema } from "effect"
import { BodyAborted, type BodySink, type BodySource, isSource, observe, read } from "./body.ts"
import { HeaderList } from "./header-list.ts"

const chunks = Arbitrary.array(
  Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))), { maxLength: 9 }),
  {
    maxLength: 9
  }
)

/** A source under the test's control: it pushes its chunks as long as the sink wants them. */
class Scripted implements BodySource {
  readonly chunks: Array<Uint8Array>
  readonly ending: (sink: BodySink) => void
  sink: BodySink | undefined
  cancelled = false
  constructor(chunks: ReadonlyArray<ReadonlyArray<number>>, ending: (sink: BodySink) => void = (sink) => sink.end()) {
    this.chunks = chunks.map((chunk) => Uint8Array.from(chunk))
    this.ending = ending
  }
  start(sink: BodySink): void {
    this.sink = sink
    this.resume()
  }
  resume(): void {
    while (this.chunks.length > 0) if (!this.sink!.data(this.chunks.shift()!)) return
    this.ending(this.sink!)
  }
  cancel(): void {
    this.cancelled = true
  }
}

/** Takes everything, pausing after every chunk as a slow reader does. */
const drain = (source: BodySource) => {
  const got: Array<number> = []
  let ended: "open" | "end" | "fail" = "open"
  let trailers: HeaderList | undefined
  let paused = false
  source.start({
    data: (chunk) => {
      got.push(...chunk)
      paused = true
      return false
    },
    end: (t) => {
      ended = "end"
      trailers = t
    },
    fail: () => {
      ended = "fail"
    }
  })
  for (let turns = 0; paused && ended === "open" && turns < 1000; turns++) {
    paused = false
    source.resume()
  }
  return { got, ended, trailers }
}

describe("read", () => {
  it.effect.prop(
    "what was read, and what the body then yields, are what the source had, for any chunking and limit",
    { chunks, limit: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })) },
    ({ chunks, limit }) =>
      Effect.gen(function* () {
        const all = chunks.flat()
        const found = yield* read(new Scripted(chunks), limit)
        assert.strictEqual(found.complete, all.length <= limit)
        assert.deepStrictEqual([...found.bytes], all.slice(0, limit))
        const after = isSource(found.body) ? drain(found.body) : { got: [...found.body], ended: "end" }
        assert.deepStrictEqual(after.got, all)
        assert.strictEqual(after.ended, "end")
      })
  )

  it.effect("a body in memory is answered without a fiber", () =>
    Effect.sync(() => {
      assert.isTrue(Exit.isExit(read("text", 10)))
      assert.isTrue(Exit.isExit(read(undefined, 0)))
    })
  )

  it.effect("trailers survive being read", () =>
    Effect.gen(function* () {
      const trailers = new HeaderList(["grpc-status", "0"])
      const found = yield* read(new Scripted([[1, 2]], (sink) => sink.end(trailers)), 10)
      assert.isTrue(isSource(found.body))
      assert.strictEqual(drain(found.body as BodySource).trailers?.get("grpc-status"), "0")
    })
  )

  it.effect("a body that breaks off is a failure that says whose", () =>
    Effect.gen(function* () {
      const broken = new BodyAborted({ source: "client", detail: "reset" })
      const exit = yield* Effect.exit(read(new Scripted([[1]], (sink) => sink.fail(broken)), 10))
      assert.isTrue(Exit.isFailure(exit) && Option.getOrUndefined(Cause.findErrorOption(exit.cause)) === broken)
    })
  )

  it.effect("a break behind the limit reaches whoever reads on", () =>
    Effect.gen(function* () {
      const broken = new BodyAborted({ source: "backend", detail: "reset" })
      const found = yield* read(new Scripted([[1, 2], [3]], (sink) => sink.fail(broken)), 1)
      const rest = drain(found.body as BodySource)
      assert.deepStrictEqual([rest.got, rest.ended], [[1, 2, 3], "fail"])
    })
  )

  it.effect("interrupting a read cancels the source", () =>
    Effect.gen(function* () {
      const silent = new Scripted([], () => {})
      const fiber = yield* Effect.forkChild(read(silent, 10), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.isTrue(silent.cancelled)
    })
  )
})

describe("observe", () => {
  it.effect.prop("the observer sees every byte once and the sink the same, for any chunking", [chunks], ([chunks]) =>
    Effect.sync(() => {
      const seen: Array<number> = []
      const ends: Array<unknown> = []
      const body = observe(new Scripted(chunks), {
        data: (chunk) => seen.push(...chunk),
        end: (failure) => ends.push(failure)
      })
      const passed = drain(body as BodySource)
      assert.deepStrictEqual(passed.got, chunks.flat())
      assert.deepStrictEqual(seen, chunks.flat())
      assert.deepStrictEqual(ends, [undefined])
    })
  )

  it("a cancelled body ends its observer once", () => {
    const ends: Array<unknown> = []
    const source = new Scripted([], () => {})
    const body = observe(source, { data: () => {}, end: (failure) => ends.push(failure) }) as BodySource
    body.start({ data: () => true, end: () => {}, fail: () => {} })
    body.cancel()
    body.cancel()
    assert.deepStrictEqual(ends, ["cancelled"])
    assert.isTrue(source.cancelled)
  })
})
