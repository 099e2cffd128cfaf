import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import {
  type Bindings,
  CelError,
  CelList,
  CelMap,
  type CelValue,
  compile,
  Duration,
  type Expression,
  explain,
  Optional,
  SecretValue,
  Timestamp,
  toJson,
  Uint
} from "./expression.ts"
import { expression, Random, variables } from "./fixtures/generate.ts"
import { HeadersView } from "./headers.ts"
import type { Kind } from "./kind.ts"
import { functionNames, overloadsOf } from "./library.ts"
import { Cidr, Ip } from "./network.ts"
import { parse } from "./parse.ts"
import { childrenOf, type Node } from "./syntax.ts"
import { TypeValue } from "./value.ts"

/** A failure names its seed; the same seed gives the same input on every machine. */
const forSeeds = (from: number, count: number, body: (random: Random) => void): void => {
  for (let seed = from; seed < from + count; seed++) {
    try {
      body(new Random(seed))
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, {
        cause: error
      })
    }
  }
}

const fragments = [
  ..."()[]{}.,:?+-*/%!<>=&|\"'`\\#@ \n\t\f\u00e9\u{1f600}",
  ...'a b in r" br\' b" """ \'\'\'  .? [? {? ?: && || == != <= >= // /* has( .exists(x, .map(x, true false null 0x 0u 1e 1.5e 99999999999999999999'.split(
    " "
  ),
  ...'request jwt.sub this default( coalesce( cel.bind( matches("( \\x \\u12 \\377 `a-b` for if {} [] 18446744073709551615u -9223372036854775808'.split(
    " "
  )
]

/** A text that is an expression, or was one before it was damaged, or never was. */
const text = (random: Random): string => {
  if (random.next() < 0.3) return Array.from({ length: random.below(30) }, () => random.pick(fragments)).join("")
  let source = expression(random)
  for (let damages = random.below(4); damages > 0; damages--) {
    const at = random.below(source.length + 1)
    source =
      source.slice(0, at) + (random.next() < 0.5 ? random.pick(fragments) : "") + source.slice(at + random.below(3))
  }
  return source
}

/** Values at the edges of their kinds. */
const odd: Readonly<Record<Kind, ReadonlyArray<CelValue>>> = {
  null: [null],
  bool: [true, false],
  int: [0n, 1n, -1n, 3n, 64n, 2n ** 63n - 1n, -(2n ** 63n)],
  uint: [0n, 1n, 2n ** 64n - 1n].map((value) => new Uint(value)),
  double: [0, -0, 1.5, -2.5, 1e308, 5e-324, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 63],
  string: [
    "",
    "a",
    "😀",
    "\ud800",
    "\udc00x",
    "%s %d %",
    "%.200f",
    "(",
    "a{2,1}",
    "1h",
    "2024-02-30T00:00:00Z",
    "::1/129",
    "a=b&c",
    '{"a": 1e999}',
    "a.b.c",
    "+25:00",
    "$2",
    "\\1"
  ],
  bytes: [new Uint8Array(), new Uint8Array([0xff, 0xfe]), new TextEncoder().encode('{"a":1}')],
  list: [
    [],
    [1, "a", null, { a: [1.5] }],
    new CelList([1n, new Uint(1n), "a", null, Optional.none]),
    [[[[]]]],
    ["a", "b"]
  ],
  map: [
    {},
    { a: 1, b: { c: [null] } },
    CelMap.of([
      [1n, "x"],
      [true, Number.NaN]
    ]),
    new HeadersView(["a", "1", "a", "2"], undefined)
  ],
  timestamp: [new Timestamp(0n), Timestamp.fromMillis(-62_135_596_800_000), Timestamp.fromMillis(253_402_300_799_999)],
  duration: [new Duration(0n), new Duration(-(2n ** 63n)), new Duration(1n)],
  type: [new TypeValue("int")],
  optional: [Optional.none, new Optional(null), new Optional(1n)],
  ip: [Ip.parse("0.0.0.0")!, Ip.parse("ffff::")!],
  cidr: [Cidr.parse("0.0.0.0/0")!, Cidr.parse("::1/128")!],
  secret: [new SecretValue("hush")]
}

const spansOf = (node: Node): ReadonlyArray<Node> => [node, ...childrenOf(node).flatMap(spansOf)]

describe("fuzzing", () => {
  it("parsing any text gives a tree whose parts lie inside it, or a problem that does", () => {
    let trees = 0
    forSeeds(1, 6_000, (random) => {
      const source = text(random)
      const parsed = parse(source)
      const spans = "message" in parsed ? [parsed] : spansOf(parsed)
      if (!("message" in parsed)) trees++
      for (const { start, end } of spans) assert.isTrue(0 <= start && start <= end && end <= source.length, source)
    })
    assert.isAtLeast(trees, 1_500)
  })

  it("compiling any text gives an expression or problems, and evaluating it a value or an error", () => {
    let evaluated = 0
    forSeeds(10_000, 3_000, (random) => {
      const compiled = compile(text(random), {
        phase: "log",
        extra: Object.keys(variables),
        unchecked: random.next() < 0.5
      })
      if (Result.isFailure(compiled)) {
        assert.isAtLeast(compiled.failure.length, 1)
        return
      }
      evaluated++
      compiled.success.evaluate({ extra: variables })
      // Without its variables nothing but errors can come of most expressions, and never an exception.
      compiled.success.evaluate({})
    })
    assert.isAtLeast(evaluated, 700)
  })

  it("every function takes every value of its kinds, however odd, and never throws", () => {
    let values = 0
    forSeeds(40_000, 3_000, (random) => {
      const name = random.pick(functionNames())
      const overload = random.pick(overloadsOf(name.replace(/^\./, ""), name.startsWith(".")))
      const extra: Record<string, CelValue> = {}
      const args = overload.parameters.map((kind, i) => {
        const known = kind === "dyn" ? random.pick(Object.values(odd)) : odd[kind]
        extra[`v${i}`] = random.pick(random.next() < 0.1 ? Object.values(odd).flat() : known)
        return `v${i}`
      })
      const source = overload.method ? `${args[0]}${name}(${args.slice(1)})` : `${name}(${args})`
      const compiled = compile(source, { phase: "log", extra: Object.keys(extra), unchecked: true })
      const outcome = Result.getOrThrow(compiled).evaluate({ extra })
      if (!(outcome instanceof CelError)) values++
    })
    assert.isAtLeast(values, 1_200)
  })

  it("an explanation has the result of the evaluation, and an evaluation has the same result twice", () => {
    forSeeds(20_000, 1_500, (random) => {
      const compiled = compile(expression(random), { phase: "log", extra: Object.keys(variables), unchecked: true })
      const expr = Result.getOrThrow(compiled)
      const bindings: Bindings = { extra: variables }
      const shown = shownOf(expr, bindings)
      assert.strictEqual(shownOf(expr, bindings), shown, expr.source)
      const { outcome } = explain(expr, bindings)
      const explained =
        outcome.kind === "value" ? outcome.value : outcome.kind === "error" ? `error ${outcome.code}` : "skipped"
      assert.strictEqual(explained, shown.length > 1_000 ? `${shown.slice(0, 1_000)}…` : shown, expr.source)
    })
  })

  it("what is known when compiling is what evaluation finds: constants, and kinds of values", () => {
    forSeeds(30_000, 1_500, (random) => {
      const source = expression(random)
      const unchecked = Result.getOrThrow(
        compile(source, { phase: "log", extra: Object.keys(variables), unchecked: true })
      )
      const checked = compile(source, { phase: "log", extra: Object.keys(variables) })
      // The check refuses only what cannot succeed, or would succeed by never reaching a part that cannot.
      if (Result.isFailure(checked))
        assert.match(
          checked.failure[0]!.message,
          /no such overload|needs a|cannot be|has no|undeclared|does not take|index/
        )
      else
        assert.strictEqual(
          shownOf(checked.success, { extra: variables }),
          shownOf(unchecked, { extra: variables }),
          source
        )
      if (unchecked.constant !== undefined)
        assert.strictEqual(toJson(unchecked.constant), shownOf(unchecked, { extra: variables }), source)
    })
  })
})

const shownOf = (expr: Expression, bindings: Bindings): string => {
  const outcome = expr.evaluate(bindings)
  if (outcome instanceof CelError) return `error ${outcome.code}`
  const json = toJson(outcome)
  return typeof json === "string" ? json : json.message
}
