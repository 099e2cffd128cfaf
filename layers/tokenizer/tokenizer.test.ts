import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Fiber, Schema } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { Tokenizer } from "../../src/services/tokenizer.ts"
import { layer } from "./layer.ts"
import { boundedPieces } from "./pieces.ts"

describe("pieces", () => {
  const chars = Schema.Literals([
    "a",
    " ",
    "\n",
    "漢",
    "😀",
    "-",
    "a".repeat(130),
    " ".repeat(200),
    "😀".repeat(70),
    "\ud800"
  ])
  it.prop(
    "add up, none with too long a run and no character halved",
    { parts: Arbitrary.array(Arbitrary.schema(chars), { maxLength: 12 }) },
    ({ parts }) => {
      const text = parts.join("")
      const pieces = boundedPieces(text)
      assert.strictEqual(pieces.join(""), text)
      for (const piece of pieces) {
        assert.notMatch(piece, /\S{130}|\s{130}/)
        if (text.isWellFormed()) assert.isTrue(piece.isWellFormed())
      }
    }
  )

  it("of prose are short, and count what the whole counts", () => {
    const prose = Array.from({ length: 3000 }, (_, i) => `word${i % 97}, and  ${i}\n`).join(" ")
    const pieces = boundedPieces(prose)
    assert.isAbove(pieces.length, 2)
    for (const piece of pieces) assert.isBelow(piece.length, 17_000)
    const sum = pieces.reduce((tokens, piece) => tokens + countTokens(piece), 0)
    assert.strictEqual(sum, countTokens(prose))
  })
})

describe("the tokenizer", () => {
  it.live("counts exactly, special tokens and hostile text included", () =>
    Effect.gen(function* () {
      const { count } = yield* Tokenizer
      assert.strictEqual(yield* count("o200k_base", ["hello world", "<|endoftext|>"]), 3)
      assert.strictEqual(yield* count("cl100k_base", ["hello world"]), 2)
      // One run of 20,000 characters: counted in pieces, or this test would not end soon.
      assert.isAtLeast(yield* count("o200k_base", ["漢".repeat(20_000)]), 10_000)
    }).pipe(Effect.provide(layer))
  )

  it.live("answers a short question before a long one that was asked first, and forgets who has left", () =>
    Effect.gen(function* () {
      const { count } = yield* Tokenizer
      const order: Array<string> = []
      const asking = (name: string, text: string) =>
        Effect.andThen(
          count("o200k_base", [text]),
          Effect.sync(() => order.push(name))
        )
      const words = Array.from({ length: 60_000 }, (_, i) => (i * 2_654_435_761).toString(36)).join(" ")
      const gone = yield* Effect.forkChild(asking("gone", words))
      const long = yield* Effect.forkChild(asking("long", words))
      yield* asking("short", "hello")
      yield* Fiber.interrupt(gone)
      yield* Fiber.join(long)
      assert.deepStrictEqual(order, ["short", "long"])
    }).pipe(Effect.provide(layer))
  )
})
