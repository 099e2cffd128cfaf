import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { compilePattern } from "./pattern.ts"

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
    assert.deepStrictEqual(literal("/a|/b"), ["", false])
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
})
