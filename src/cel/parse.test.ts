import { tests as comprehensions } from "@bufbuild/cel-spec/testdata/comprehension.js"
import { tests as parsing } from "@bufbuild/cel-spec/testdata/parsing.js"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "./parse.ts"
import type { Node } from "./syntax.ts"

interface Recorded {
  readonly original: { readonly expr: string }
  /** The tree that cel-go gives; absent where it refuses the text. */
  readonly ast?: string
  readonly error?: string
}

const recorded = [...(parsing.tests ?? []), ...(comprehensions.tests ?? [])] as ReadonlyArray<Recorded>

/** Where the language here takes what cel-go refuses, by its message, or refuses what cel-go takes, by the text. */
const departures: ReadonlyArray<readonly [why: string, holds: (source: string, error: string) => boolean]> = [
  ["messages are not built", (source, error) => error === "" && /[\w.]\s*\{/.test(source)],
  ["optional syntax is on", (_, error) => error.includes("unsupported syntax")],
  ["quoted fields are on", (source) => source.includes("`")],
  ["the argument of has() is checked later", (_, error) => error.includes("invalid argument to has() macro")],
  [
    "the variables of macros are checked later",
    (_, error) => /must be a simple name|not a simple identifier|overwrites accumulator/.test(error)
  ],
  ["the tests of cel-go lower the limits of its parser", (_, error) => /recursion/.test(error)]
]

const tree = (source: string): Node => {
  const node = parse(source)
  assert.isFalse("message" in node, source)
  return node as Node
}

/** A tree in prefix notation. */
const shown = (node: Node): string => {
  switch (node.kind) {
    case "literal":
      return node.value instanceof Uint8Array
        ? `b[${node.value}]`
        : typeof node.value === "bigint"
          ? `${node.value}`
          : JSON.stringify(node.value)
    case "ident":
      return (node.absolute ? "." : "") + node.name
    case "select":
      return `${shown(node.operand)}${node.optional ? ".?" : "."}${node.field}`
    case "index":
      return `${shown(node.operand)}[${node.optional ? "?" : ""}${shown(node.index)}]`
    case "call":
      return `${node.target === undefined ? "" : `${shown(node.target)}.`}${node.name}(${node.args.map(shown)})`
    case "list":
      return `[${node.elements.map(({ node, optional }) => (optional ? "?" : "") + shown(node))}]`
    case "map":
      return `{${node.entries.map(({ key, value, optional }) => `${optional ? "?" : ""}${shown(key)}:${shown(value)}`)}}`
    case "unary":
      return `(${node.operator} ${shown(node.operand)})`
    case "binary":
      return `(${node.operator} ${shown(node.left)} ${shown(node.right)})`
    case "logical":
      return `(${node.operator} ${node.terms.map(shown).join(" ")})`
    case "conditional":
      return `(? ${shown(node.test)} ${shown(node.whenTrue)} ${shown(node.whenFalse)})`
  }
}

describe("parsing", () => {
  it("takes and refuses what cel-go takes and refuses, but for forms that are listed", () => {
    let compared = 0
    const wrong = recorded.flatMap(({ original: { expr }, ast, error = "" }) => {
      const refused = "message" in parse(expr)
      if (refused === (ast === undefined)) {
        compared++
        return []
      }
      if (departures.some(([, holds]) => holds(expr, ast === undefined ? error : ""))) return []
      return [`${refused ? "refuses" : "takes"} ${JSON.stringify(expr)}: ${error}`]
    })
    assert.deepStrictEqual(wrong, [])
    assert.isAtLeast(compared, 220)
  })

  it("binds as the grammar says", () => {
    const expected: Readonly<Record<string, string>> = {
      "a + b * c - d": "(- (+ a (* b c)) d)",
      "a || b && c == d || e": "(|| a (&& b (== c d)) e)",
      "a ? b : c ? d : e": "(? a b (? c d e))",
      "!a.b[0].c(d)": "(! a.b[0].c(d))",
      "-1 - -x": "(- -1 (- x))",
      "a in b in c": "(in (in a b) c)",
      "a < b == c": "(== (< a b) c)",
      "(a || b) || (c || d)": "(|| a b (|| c d))",
      "[?a, ?(b + c), d, [?e]]": "[?a,?(+ b c),d,[?e]]",
      "{?a: b, 'c': [d][?0]}": '{?a:b,"c":[d][?0]}',
      "a.?b.?c[?d] ? [?e] : f": "(? a.?b.?c[?d] [?e] f)",
      "a.`b-c`.d": "a.b-c.d",
      ".a.b + x.exists(a, .a)": "(+ .a.b x.exists(a,.a))",
      ".5 + 1.": "",
      'r"\\" + br"\\x"': '(+ "\\\\" b[92,120])',
      "a // comment ? [ (\n + b": "(+ a b)",
      "'a?b' + \"[?\"": '(+ "a?b" "[?")',
      "a\f+\tb\r\n": "(+ a b)"
    }
    for (const [source, form] of Object.entries(expected))
      if (form === "") assert.isTrue("message" in parse(source), source)
      else assert.strictEqual(shown(tree(source)), form, source)
  })

  it("keeps the place of every part, whatever stood before it", () => {
    const source = "[?a.`x y`, br'\\n', .5, .b]"
    const node = tree(source)
    assert.isTrue(node.kind === "list")
    const pieces = node.kind === "list" ? node.elements.map(({ node: { start, end } }) => source.slice(start, end)) : []
    assert.deepStrictEqual(pieces, ["a.`x y`", "r'\\n'", ".5", "b"])
  })
})
