import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Lines } from "./lines.ts"

describe("lines", () => {
  it.prop(
    "come out whole however the bytes are cut",
    {
      texts: Schema.Array(Schema.String),
      cuts: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 })))
    },
    ({ texts, cuts }) => {
      const wanted = texts.map((text) => text.toWellFormed().replaceAll("\n", " ").trim()).filter((text) => text !== "")
      const bytes = Buffer.from(wanted.map((line) => `${line}\n`).join(""))
      const got: Array<string> = []
      const lines = new Lines(1_000_000, (line) => got.push(line))
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = cuts[i % (cuts.length || 1)] ?? 1
        assert.isTrue(lines.push(bytes.subarray(at, at + size)))
        at += size
      }
      assert.deepStrictEqual(got, wanted)
    }
  )

  it("carriage returns and blank lines are not content", () => {
    const got: Array<string> = []
    new Lines(100, (line) => got.push(line)).push(Buffer.from("\r\n\n{}\r\n  \n[]\n"))
    assert.deepStrictEqual(got, ["{}", "[]"])
  })

  it("over the limit are refused, in one piece or in many", () => {
    assert.isFalse(new Lines(10, () => {}).push(Buffer.from("x".repeat(11))))
    assert.isFalse(new Lines(10, () => {}).push(Buffer.from(`${"x".repeat(11)}\n`)))
    const many = new Lines(10, () => {})
    assert.isTrue(many.push(Buffer.from("x".repeat(10))))
    assert.isFalse(many.push(Buffer.from("x")))
  })
})
