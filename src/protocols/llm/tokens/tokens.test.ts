import { assert, describe, it } from "@effect/vitest"
import { modelToEncodingMap } from "gpt-tokenizer/mapping"
import { chatTokens } from "./chat.ts"
import { encodingOf } from "./encoding.ts"
import { estimateTokens } from "./estimate.ts"

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
