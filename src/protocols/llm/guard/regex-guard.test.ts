import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { parse } from "yaml"
import { type BuiltinName, builtinNames, builtins } from "./builtins.ts"
import { compileRegexGuard, type RegexGuard, type RegexRule } from "./regex-guard.ts"

const guard = (rules: ReadonlyArray<RegexRule>): RegexGuard => {
  const result = compileRegexGuard(rules)
  return Result.isSuccess(result) ? result.success : assert.fail(JSON.stringify(result.failure))
}
const ruleOf = (text: string): RegexRule =>
  text.startsWith("/") ? { pattern: text.slice(1, -1) } : { builtin: text as BuiltinName }

describe("regex guards", () => {
  const golden: ReadonlyArray<{ rules: ReadonlyArray<string>; text: string; masked: string }> = parse(
    readFileSync(join(import.meta.dirname, "texts.yaml"), "utf8")
  )
  for (const { rules, text, masked } of golden)
    it(`${rules.join(" ")}: ${text}`, () => {
      const { mask, rejects } = guard(rules.map(ruleOf))
      assert.strictEqual(mask(text), masked)
      assert.strictEqual(rejects(text), text !== masked)
    })

  it("an empty match rejects although there is nothing to mask", () => {
    assert.isTrue(guard([{ pattern: "x*" }]).rejects("abc"))
    assert.strictEqual(guard([{ pattern: "x*" }]).mask("abc"), "abc")
  })

  it("names every rule that does not compile", () => {
    const result = compileRegexGuard([{ pattern: "(" }, { builtin: "email" }, { pattern: "(?=x)" }])
    assert.isTrue(Result.isFailure(result))
    assert.deepStrictEqual(Result.isFailure(result) && result.failure.map(({ index }) => index), [0, 2])
  })

  it("text that is too much work is a failure, not a pass", () => {
    const { rejects, mask } = guard([{ builtin: "email" }, { pattern: "a.*b|a" }])
    assert.isUndefined(mask("a".repeat(20_000)))
    assert.isTrue(rejects("a".repeat(20_000)))
  })

  const piece = Schema.Literals([
    "1",
    "23",
    "456",
    "7890",
    "-",
    " ",
    ".",
    "(",
    ")",
    "+",
    "@",
    "a",
    "b.c",
    "_",
    "é",
    "😀",
    "4111",
    "555"
  ])
  const text = Arbitrary.map(Arbitrary.array(Arbitrary.schema(piece), { maxLength: 24 }), (parts) => parts.join(""))

  // The same languages as plain patterns, quadratic or not.
  const languages: Partial<Record<BuiltinName, RegExp>> = {
    email: /[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]+/g,
    ssn: /\b(\d{3}[-. ]\d{2}[-. ]\d{4}|\d{5}-\d{4}|\d{3}-\d{6}|\d{9})\b/g
  }
  it.prop(
    "builtins find what their language says, in order, without overlap, and nothing throws",
    { text },
    ({ text }) => {
      for (const name of builtinNames) {
        const spans = builtins[name].findAll(text)
        let behind = 0
        for (const { start, end } of spans) {
          assert.isTrue(start >= behind && end > start && end <= text.length)
          behind = end
        }
        const language = languages[name]
        if (language !== undefined)
          assert.deepStrictEqual(
            spans.map(({ start, end }) => text.slice(start, end)),
            Array.from(text.matchAll(language), ([found]) => found)
          )
      }
    },
    { arbitrary: { runs: 800 } }
  )

  it.prop("masking leaves nothing to find, except where a mask itself reads like data", { text }, ({ text }) => {
    for (const name of ["ssn", "caSin", "creditCard"] as const) {
      const { mask, rejects } = guard([{ builtin: name }])
      assert.isFalse(rejects(mask(text)!))
    }
  })

  it("long texts without any match stay cheap", () => {
    const all = guard(builtinNames.map((builtin) => ({ builtin })))
    for (const unit of ["a", "1 ", "-", "4", "+", "a@", "("]) {
      const text = unit.repeat(200_000 / unit.length)
      const started = process.cpuUsage()
      all.mask(text)
      assert.isBelow(process.cpuUsage(started).user, 1_500_000, unit)
    }
  })
})
