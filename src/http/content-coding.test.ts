import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Body, type BodySink, type BodySource, read } from "./body.ts"
import { contentCodings, decoded } from "./content-coding.ts"

const codings = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync } as const
const text = "the same words again and again, ".repeat(5000)

/** Pushes pieces, and waits when it is told to. */
class Pieces implements BodySource {
  readonly #bytes: Uint8Array
  readonly #size: number
  #at = 0
  #sink: BodySink | undefined
  cancelled = false
  constructor(bytes: Uint8Array, size: number) {
    this.#bytes = bytes
    this.#size = size
  }
  start(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }
  resume(): void {
    while (this.#at < this.#bytes.length) {
      const piece = this.#bytes.subarray(this.#at, this.#at + this.#size)
      this.#at += this.#size
      if (!this.#sink!.data(piece)) return
    }
    this.#sink!.end()
  }
  cancel(): void {
    this.cancelled = true
  }
}

const textOf = (body: Body) =>
  Effect.map(read(body, 1_000_000), ({ bytes, complete }) => ({ text: new TextDecoder().decode(bytes), complete }))

describe("content codings", () => {
  for (const [coding, encode] of Object.entries(codings) as ReadonlyArray<
    readonly [keyof typeof codings, (typeof codings)["gzip"]]
  >)
    it.effect(`undoes ${coding}, of bytes and of a source`, () =>
      Effect.gen(function* () {
        const bytes = encode(text)
        assert.deepStrictEqual(yield* textOf(decoded(bytes, [coding], "client")), { text, complete: true })
        assert.deepStrictEqual(yield* textOf(decoded(new Pieces(bytes, 7), [coding], "client")), {
          text,
          complete: true
        })
      })
    )

  it.effect("undoes codings inside one another, and passes on what waits and what fails in between", () =>
    Effect.gen(function* () {
      const bytes = brotliCompressSync(zstdCompressSync(gzipSync(text)))
      const codings = ["gzip", "zstd", "br"] as const
      assert.deepStrictEqual(yield* textOf(decoded(new Pieces(bytes, 7), codings, "client")), { text, complete: true })
      const inner = yield* Effect.flip(read(decoded(brotliCompressSync("no zstd"), codings, "client"), 1000))
      assert.strictEqual(inner._tag, "BodyAborted")
    })
  )

  it.effect("ends at the limit of what comes out", () =>
    Effect.gen(function* () {
      const source = new Pieces(gzipSync(Buffer.alloc(50_000_000)), 1000)
      const found = yield* read(decoded(source, ["gzip"], "client"), 10_000)
      assert.isFalse(found.complete)
      assert.strictEqual(found.bytes.length, 10_000)
      if (!found.complete) found.body.cancel()
      assert.isTrue(source.cancelled)
    })
  )

  it.effect("fails on what is not of the coding, and on what ends early", () =>
    Effect.gen(function* () {
      const source = new Pieces(new TextEncoder().encode("plain text"), 100)
      const error = yield* Effect.flip(read(decoded(source, ["gzip"], "backend"), 1000))
      assert.strictEqual(error.source, "backend")
      assert.isTrue(source.cancelled)
      const short = yield* Effect.flip(read(decoded(gzipSync(text).subarray(0, 50), ["gzip"], "client"), 1_000_000))
      assert.strictEqual(short._tag, "BodyAborted")
    })
  )

  it("knows the names", () => {
    assert.deepStrictEqual(contentCodings([]), [])
    assert.deepStrictEqual(contentCodings(["Identity"]), [])
    assert.deepStrictEqual(contentCodings([" GZIP "]), ["gzip"])
    assert.deepStrictEqual(contentCodings(["x-gzip"]), ["gzip"])
    assert.deepStrictEqual(contentCodings(["gzip, identity", "br"]), ["gzip", "br"])
    assert.strictEqual(contentCodings(["gzip", "compress"]), "unknown")
    assert.strictEqual(contentCodings(["constructor"]), "unknown")
    assert.strictEqual(contentCodings([Array(5).fill("gzip").join()]), "unknown")
  })
})
