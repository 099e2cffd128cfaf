import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { RE2JS } from "re2js"
import { compileSearch, type Searching } from "./search.ts"

const compiled = (source: string): Searching => Result.getOrThrow(compileSearch(source))
const matches = (source: string, text: string) =>
  compiled(source)
    .findAll(text)
    ?.map(({ start, end }) => text.slice(start, end))

/** The independent engine's matches that are not empty. */
const oracle = (source: string, text: string): ReadonlyArray<readonly [number, number]> => {
  const matcher = RE2JS.compile(source).matcher(text)
  const spans: Array<readonly [number, number]> = []
  while (matcher.find()) if (matcher.end() > matcher.start()) spans.push([matcher.start(), matcher.end()])
  return spans
}

const atom = Schema.Literals([
  "a",
  "b",
  ".",
  "\\d",
  "[ab]",
  "[^a]",
  "\\b",
  "^",
  "$",
  "(?i:B)",
  "é",
  "😀",
  "\\w",
  "\\s",
  "(?m:^)",
  "(?m:$)",
  "\\B",
  "ab",
  "(?:a|ab)"
])
const suffix = Schema.Literals(["", "", "", "*", "+", "?", "*?", "+?", "{2}", "{1,3}?"])
const part = Arbitrary.map(
  Arbitrary.all({ atom: Arbitrary.schema(atom), suffix: Arbitrary.schema(suffix) }),
  ({ atom, suffix }) => `(?:${atom})${suffix}`
)
const source = Arbitrary.map(
  Arbitrary.array(Arbitrary.array(part, { minLength: 0, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  (alternatives) => alternatives.map((parts) => parts.join("")).join("|")
)
const text = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Literals(["a", "b", "B", "1", " ", "\n", "é", "😀", "_", "ab", "\ud83d"])), {
    maxLength: 14
  }),
  (parts) => parts.join("")
)

describe("custom patterns", () => {
  it("finds the places, leftmost and first alternative first", () => {
    assert.deepStrictEqual(matches("a|ab", "ab"), ["a"])
    assert.deepStrictEqual(matches("ab|a", "ab"), ["ab"])
    assert.deepStrictEqual(matches("a+?", "aa"), ["a", "a"])
    assert.deepStrictEqual(matches("\\bfoo\\b", "foo food foo"), ["foo", "foo"])
    assert.deepStrictEqual(matches("(?i)secret", "my SECRET"), ["SECRET"])
    assert.deepStrictEqual(matches("x*", "axxb"), ["xx"])
    assert.isTrue(compiled("x*").test("a"))
    assert.isFalse(compiled("x").test("a"))
  })

  it("refuses what cannot be searched in linear time, and what is no pattern", () => {
    for (const source of ["(?=a)", "(?<!a)b", "(a)\\1", "(", "a{2000}", "((a{100}){100}){100}", "[z-a]"])
      assert.isTrue(Result.isFailure(compileSearch(source)), source)
  })

  it("gives up instead of searching without end, and says so", () => {
    // Every match looks to the end of the text for the b that makes the first alternative.
    assert.isUndefined(compiled("a.*b|a").findAll("a".repeat(20_000)))
    assert.strictEqual(compiled("a.*b|a").findAll("a".repeat(100))?.length, 100)
    // What makes backtracking engines explode is ordinary here.
    assert.isFalse(compiled("(x+x+)+y").test("x".repeat(20_000)))
  })

  it.prop(
    "agrees with an independent engine about every match",
    { source, text },
    ({ source, text }) => {
      const pattern = compiled(source)
      const expected = oracle(source, text)
      assert.deepStrictEqual(
        pattern.findAll(text)?.map(({ start, end }) => [start, end]),
        expected.map(([start, end]) => [start, end])
      )
      assert.strictEqual(pattern.test(text), RE2JS.compile(source).matcher(text).find())
    },
    { arbitrary: { runs: 1500 } }
  )

  it.prop(
    "no source and no text make it throw",
    { source: Schema.String, text: Schema.String },
    ({ source, text }) => {
      const pattern = compileSearch(source)
      if (Result.isSuccess(pattern)) {
        pattern.success.test(text)
        pattern.success.findAll(text)
      }
    },
    { arbitrary: { runs: 300 } }
  )
})
