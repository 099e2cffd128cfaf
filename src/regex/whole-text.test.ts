import { RE2JS } from "@bufbuild/re2"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Result, Schema } from "effect"
import { compilePattern } from "./whole-text.ts"

const pattern = (source: string) => Result.getOrThrow(compilePattern(source))

describe("pattern", () => {
  it("covers the whole text", () => {
    for (const source of ["a|ab|b.*c", "^(a|ab|b.*c)$", "^a$|^ab$|^b.*c$"]) {
      const compiled = pattern(source)
      for (const text of ["a", "ab", "bc", "bxc"]) assert.isTrue(compiled.matches(text), `${source} ${text}`)
      for (const text of ["", "abc", "aab", "xbc", "bcd", "a\n"])
        assert.isFalse(compiled.matches(text), `${source} ${text}`)
    }
  })

  it("keeps what only looks like an anchor", () => {
    assert.isTrue(pattern("a\\$").matches("a$"))
    assert.isTrue(pattern("a\\\\$").matches("a\\"))
    assert.isTrue(pattern("^\\Qa$").matches("a$"))
    assert.isTrue(pattern("^*a").matches("a"))
    assert.isTrue(pattern("[$^]").matches("^"))
    assert.isTrue(pattern("^").matches(""))
    assert.isTrue(pattern("^|b$").matches("b"))
    assert.isTrue(pattern("(?m)a\n^b$").matches("a\nb"))
  })

  it("speaks RE2", () => {
    assert.isTrue(pattern("(?P<name>\\pL+)[[:digit:]]\\z").matches("é1"))
    assert.isTrue(pattern("(?i)straße").matches("STRAßE"))
    for (const source of ["(?<=a)b", "(a)\\1", "a**", "\\C", "a{1001}", "(?:a{1000}){2}", "["])
      assert.isTrue(Result.isFailure(compilePattern(source)), source)
  })

  it("knows its literal beginning", () => {
    const literal = (source: string) => {
      const { literal, fixed } = pattern(source)
      return [literal, fixed]
    }
    assert.deepStrictEqual(literal("^/api/users$"), ["/api/users", true])
    assert.deepStrictEqual(literal("/api/users?"), ["/api/user", false])
    assert.deepStrictEqual(literal("/(a|b)"), ["/", false])
    assert.deepStrictEqual(literal("/a|/b"), ["/", false])
    assert.deepStrictEqual(literal("(?i)/a"), ["/", false])
    assert.deepStrictEqual(literal("a|b"), ["", false])
    assert.deepStrictEqual(literal(""), ["", true])
  })

  it("takes time linear in the text where backtracking explodes", () => {
    // A backtracking engine needs more than 2^5000 steps for the first two.
    for (const source of ["(a+)+b", "(a|a)*c", "(.*)(.*)(.*)(.*)(.*)x", "[ab]*a[ab]{60}c"]) {
      const compiled = pattern(source)
      assert.isFalse(compiled.matches("a".repeat(5000)), source)
      assert.isFalse(compiled.matches("ab".repeat(2500)), source)
    }
  })

  it("stays right when its automaton has been given up, or built anew", () => {
    const crowded = pattern("[ab]*a[ab]{14}")
    let seed = 1
    const letters = () =>
      Array.from({ length: 2000 }, () => {
        seed = (seed * 48_271) % 2_147_483_647
        return seed % 2 === 0 ? "a" : "b"
      }).join("")
    for (let round = 0; round < 40; round++) {
      const text = letters()
      assert.strictEqual(crowded.matches(text), text.at(-15) === "a")
    }
    const foreign = pattern("x.*y")
    for (let round = 0; round < 20; round++) {
      const text = String.fromCodePoint(...Array.from({ length: 5000 }, (_, n) => 0x10_000 + round * 5000 + n))
      assert.isTrue(foreign.matches(`x${text}y`))
      assert.isFalse(foreign.matches(`x${text}`))
    }
  })

  it.effect("means what the engine alone would make of the text of the pattern", () =>
    Effect.gen(function* () {
      const words = (vocabulary: ReadonlyArray<string>, maxLength: number) =>
        Arbitrary.map(Arbitrary.array(Arbitrary.schema(Schema.Literals(vocabulary)), { maxLength }), (parts) =>
          parts.join("")
        )
      const plain = ["/", "a", "b", "\\.", "a", "/"]
      const special = [
        "(a|b)",
        "[a|]",
        "[^b]",
        "[]^]",
        "[[:alpha:]]",
        "(?i)",
        ".",
        "\\b",
        "\\A",
        "\\Qa|\\E",
        "\\[",
        "(",
        ")"
      ]
      const source = Arbitrary.map(
        Arbitrary.all([
          words(["^"], 1),
          words(plain, 4),
          words([...plain, ...special, "|", "*", "+", "?", "{2}", "^", "$"], 5),
          words(["$"], 1)
        ]),
        (parts) => parts.join("")
      )
      const text = words(["/", "a", "b", ".", "A", "a", "/", "[", "|", "^", "$"], 6)
      const reached = { refused: 0, matched: 0, unmatched: 0, literal: 0, fixed: 0 }
      const outcome = yield* Arbitrary.checkEffect(
        Arbitrary.all({ source, texts: Arbitrary.array(text, { minLength: 10, maxLength: 20 }) }),
        ({ source, texts }) => {
          const compiled = compilePattern(source)
          if (Result.isFailure(compiled)) {
            reached.refused++
            try {
              new RE2JS(source)
              return false
            } catch {
              return true
            }
          }
          const { literal, fixed } = compiled.success
          if (literal !== "") reached.literal++
          if (fixed) reached.fixed++
          const engine = new RE2JS(source)
          // The literal beginning and its variations are the texts that tell most.
          return [...texts, literal, ...texts.map((text) => literal + text)].every((text) => {
            const matched = compiled.success.matches(text)
            if (matched) reached.matched++
            else reached.unmatched++
            return matched === engine.testExact(text)
          })
        },
        { runs: 2000, size: 20 }
      )
      assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
      for (const [what, times] of Object.entries(reached)) assert.isAtLeast(times, 100, what)
    })
  )
})
