import { assert, describe, it } from "@effect/vitest"
import { RE2JS } from "re2js"
import { Automaton } from "../regex/automaton.ts"
import { programOf } from "../regex/program.ts"
import { parseRegex } from "../regex/syntax.ts"
import { Random } from "./fixtures/generate.ts"
import { Frame } from "./frame.ts"
import { Pattern } from "./pattern.ts"
import { CelError } from "./problem.ts"

const automaton = (pattern: string): Automaton | undefined => {
  const regex = parseRegex(pattern)
  const program = regex && programOf(regex)
  return program && Automaton.of(program, 1_000_000)
}

const compiled = (pattern: string): Pattern => {
  const result = Pattern.compile(pattern)
  if (result instanceof CelError) throw new Error(`${pattern} ${result.message}`)
  return result
}

const texts = [
  "",
  "a",
  "/mcp/weather",
  "aaaaaaaa",
  "user@example.com",
  'the quick "brown" fox',
  "SELECT * from x",
  "foo\nbar",
  "Kelvin \u212a k",
  "ſ",
  "😀a",
  "naïve",
  "a.b-c_d",
  "\n",
  "foo bar",
  "x=1;y=2"
]

const atoms = [
  "a",
  "b",
  "ab",
  ".",
  "\\d",
  "\\w",
  "\\s",
  "\\S",
  "[a-c]",
  "[^a]",
  "[[:alpha:]_]",
  "\\.",
  "é",
  "^",
  "$",
  "\\b",
  "\\B",
  "\\x41",
  "(?i:K)",
  "(?:)"
]
const quantifiers = ["", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,}", "*?", "+?"]

const randomPattern = (random: Random, depth = 3): string => {
  const term = () => {
    const atom =
      depth > 0 && random.next() < 0.3
        ? `${random.pick(["(", "(?:", "(?P<n>", "(?s:", "(?i)(", "(?m:"])}${randomPattern(random, depth - 1)})`
        : random.pick(atoms)
    return atom + random.pick(quantifiers)
  }
  const sequence = () => Array.from({ length: 1 + random.below(4) }, term).join("")
  return Array.from({ length: 1 + random.below(2) }, sequence).join("|")
}

const randomText = (random: Random): string =>
  Array.from({ length: random.below(12) }, () =>
    random.pick(["a", "b", "c", "k", "K", "A", "1", " ", "\n", ".", "é", "😀", "\u212a", "_"])
  ).join("")

describe("the automaton", () => {
  it("takes a repetition behind flags for one of what comes before them", () => {
    for (const [pattern, text] of [
      ["^a(?i)?b$", "b"],
      ["^a(?i)?b$", "aB"],
      ["^a(?i)*$", "aaa"],
      ["^a(?i){2}$", "aa"]
    ] as const)
      assert.isTrue(compiled(pattern).test(text, new Frame(10_000)), `${pattern} ${text}`)
    assert.isFalse(compiled("^a(?i)?b$").test("a?b", new Frame(10_000)))
  })

  it("matches what the library matches, for generated patterns and texts", () => {
    let built = 0
    let matched = 0
    for (let seed = 1; seed <= 1_500; seed++) {
      const random = new Random(seed)
      const pattern = randomPattern(random)
      let library: RE2JS
      try {
        library = RE2JS.compile(pattern)
      } catch {
        continue
      }
      const own = automaton(pattern)
      if (own === undefined) continue
      built++
      for (const text of [...texts, ...Array.from({ length: 6 }, () => randomText(random))]) {
        const expected = library.test(text)
        if (expected) matched++
        assert.strictEqual(
          own.test(text),
          expected,
          `seed ${seed}: ${JSON.stringify(pattern)} on ${JSON.stringify(text)}`
        )
      }
    }
    assert.isAtLeast(built, 900)
    assert.isAtLeast(matched, 5_000)
  })

  it("is built for the patterns that rules have", () => {
    for (const pattern of [
      "^/mcp/[a-z]+$",
      "(?i)(select|union|insert)\\s+.*from",
      "^[\\w.+-]+@[\\w-]+\\.[\\w.-]+$",
      "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,}$",
      "\\.(png|jpe?g|gif)$",
      "(a+)+$",
      "(x+x+)+y",
      "^([0-9]{1,3}\\.){3}[0-9]{1,3}$"
    ])
      assert.isDefined(automaton(pattern), pattern)
  })

  it("is not built where it would be large, or the syntax is beyond it", () => {
    for (const pattern of ["(a|b)*a(a|b){12}", "\\pL+", "\\Qa.b\\E", "(?i)é", "[[:^nope:]]"])
      assert.isUndefined(automaton(pattern), pattern)
  })
})

describe("a pattern", () => {
  const test = (pattern: string, text: string) => compiled(pattern).test(text, new Frame(0))

  it("searches anywhere, and knows RE2's syntax", () => {
    assert.isTrue(test("b+", "abbc"))
    assert.isTrue(test("^\\p{Greek}+$", "αβγ"))
    assert.isTrue(test("(?i)straße", "STRAßE"))
    assert.isFalse(test("^b", "ab"))
    assert.isFalse(test(".", "\n"))
  })

  it("refuses what needs backtracking, and what is too large", () => {
    for (const pattern of [
      "(?=a)",
      "(?!a)",
      "(?<=a)b",
      "(a)\\1",
      "(?>a)",
      "a**",
      "(",
      "a{2000}",
      "x".repeat(5_000),
      "(.{500}){200}",
      "(?:(?:a{10}){10}){10}{10}"
    ])
      assert.instanceOf(Pattern.compile(pattern), CelError, pattern.slice(0, 40))
  })

  it("finds where a match and its groups lie", () => {
    const pattern = compiled("(?P<key>\\w+)=(\\d+)?")
    assert.deepStrictEqual(pattern.find("  ab=12", 0, new Frame(0)), [
      [2, 7],
      [2, 4],
      [5, 7]
    ])
    assert.deepStrictEqual(pattern.find("k=", 0, new Frame(0)), [
      [0, 2],
      [0, 1],
      [-1, -1]
    ])
    assert.isUndefined(pattern.find("none", 0, new Frame(0)))
  })

  it("takes its work from the budget, whoever wrote it", () => {
    const frame = new Frame(0)
    assert.instanceOf(compiled("(x|a|b|ab|aba|abab)*[^ab]").find("ab".repeat(5_000), 0, frame), CelError)
    const spent = new Frame(0)
    for (let i = 0; i < 30; i++) Pattern.dynamic(`a{${i}}b`, spent)
    assert.isBelow(spent.steps, 0)
    assert.instanceOf(Pattern.dynamic("(a{1,100}){1,9}".repeat(10), new Frame(0)), CelError)
  })
})
