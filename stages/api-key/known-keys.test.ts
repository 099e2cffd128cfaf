import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { KnownKeys } from "./known-keys.ts"
import { compileModelAccess } from "./models.ts"

describe("known keys", () => {
  it.prop(
    "a key is found by itself and by nothing else; of several equal ones the last counts",
    [Arbitrary.array(Arbitrary.schema(Schema.String), { maxLength: 8 }), Schema.String],
    ([texts, other]) => {
      // What a request can carry is well-formed.
      const keys = texts.map((text) => text.toWellFormed())
      const known = new KnownKeys(keys.map((key, index) => [KnownKeys.digest(key), index]))
      // The first time by its digest, the second time by its text.
      for (const key of [...keys, ...keys]) assert.strictEqual(known.find(key), keys.lastIndexOf(key))
      if (!keys.includes(other.toWellFormed())) assert.strictEqual(known.find(other), undefined)
    }
  )

  it("a key of any length is found again", () => {
    const long = "k".repeat(20_000)
    const known = new KnownKeys([[KnownKeys.digest(long), "long"]])
    for (let i = 0; i < 2; i++) assert.deepStrictEqual([known.find(long), known.find(`${long}x`)], ["long", undefined])
  })

  it("digests that begin alike are told apart", () => {
    const digest = KnownKeys.digest("key")
    const twin = Buffer.from(digest)
    twin.writeUInt8(twin.readUInt8(31) ^ 1, 31)
    assert.strictEqual(new KnownKeys([[twin, "twin"]]).find("key"), undefined)
    const both: ReadonlyArray<readonly [Buffer, string]> = [
      [twin, "twin"],
      [digest, "key"]
    ]
    for (const entries of [both, both.toReversed()]) assert.strictEqual(new KnownKeys(entries).find("key"), "key")
  })
})

describe("models of a key", () => {
  it.each<readonly [ReadonlyArray<string>, string, boolean]>([
    [["gpt-4o"], "gpt-4o", true],
    [["gpt-4o"], "gpt-4o-mini", false],
    [["gpt-*"], "gpt-4o-mini", true],
    [["gpt-*"], "my-gpt-4o", false],
    [["*-mini"], "gpt-4o-mini", true],
    [["*-mini"], "gpt-4o", false],
    [["a", "*"], "anything", true],
    [[], "anything", false]
  ])("%j and %s: %s", (patterns, model, allowed) => {
    assert.strictEqual(compileModelAccess(patterns).allows(model), allowed)
  })
})
