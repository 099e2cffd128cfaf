import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Schema } from "effect"
import { modelToEncodingMap } from "gpt-tokenizer/mapping"
import { encodingOf } from "./encoding.ts"
import { estimateTokens } from "./estimate.ts"
import { boundedPieces } from "./pieces.ts"
import { chatTokens, inThreadTokenizer } from "./tokenizer.ts"

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
    "pieces add up, none too long and no character halved",
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

  it.effect("counts exactly, special tokens and hostile text included", () =>
    Effect.gen(function* () {
      const tokenizer = inThreadTokenizer()
      assert.strictEqual(yield* tokenizer.count("o200k_base", ["hello world", "<|endoftext|>"]), 3)
      // Loaded: from here on the answer is there at once.
      assert.deepStrictEqual(tokenizer.count("o200k_base", ["hello world"]), Exit.succeed(2))
      assert.strictEqual(yield* tokenizer.count("cl100k_base", ["hello world"]), 2)
      assert.strictEqual(chatTokens(2, 10), 21)
      // One run of 20,000 characters: counted in pieces, or this test would not end soon.
      assert.isAtLeast(yield* tokenizer.count("o200k_base", ["漢".repeat(20_000)]), 10_000)
    })
  )
})
