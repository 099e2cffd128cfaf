import { Buffer } from "node:buffer"
import { tests as suite } from "@bufbuild/cel-spec/testdata/conformance.js"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { equals } from "./compare.ts"
import { CelError, CelList, CelMap, type CelValue, compile, Uint } from "./expression.ts"
import excluded from "./fixtures/conformance.excluded.json" with { type: "json" }
import { Frame } from "./frame.ts"
import { kindOf } from "./kind.ts"
import { parse } from "./parse.ts"
import type { Node, NodeOf } from "./syntax.ts"
import { parseDuration, parseTimestamp } from "./time.ts"
import { TypeValue } from "./value.ts"

/** A test of the suite, in the JSON form of `cel.expr.conformance.test.SimpleTest`. */
interface Test {
  readonly name: string
  readonly expr: string
  readonly value?: Value
  readonly typedResult?: { readonly result?: Value }
  readonly evalError?: unknown
  readonly checkOnly?: boolean
  readonly disableCheck?: boolean
  readonly bindings?: Readonly<Record<string, { readonly value: Value }>>
  readonly typeEnv?: ReadonlyArray<{ readonly name: string }>
}

/** A value in the JSON form of `cel.expr.Value`: one property, named after the kind. */
type Value = Readonly<Record<string, unknown>>

const celValue = (value: Value): CelValue => {
  const [kind, held] = Object.entries(value)[0]!
  switch (kind) {
    case "int64Value":
      return BigInt(held as string)
    case "uint64Value":
      return new Uint(BigInt(held as string))
    case "doubleValue":
      return Number(held)
    case "bytesValue":
      return new Uint8Array(Buffer.from(held as string, "base64"))
    case "nullValue":
      return null
    case "listValue":
      return new CelList(((held as { values?: Array<Value> }).values ?? []).map(celValue))
    case "mapValue": {
      const { entries = [] } = held as { entries?: Array<{ key: Value; value: Value }> }
      return CelMap.of(entries.map(({ key, value }) => [celValue(key), celValue(value)] as const))
    }
    case "typeValue":
      return new TypeValue(held as string)
    case "objectValue": {
      const { "@type": type, value: text } = held as { "@type": string; value: string }
      const time = type.endsWith(".Duration")
        ? parseDuration(text)
        : type.endsWith(".Timestamp")
          ? parseTimestamp(text)
          : undefined
      assert.isDefined(time, `an object of type ${type} must be excluded`)
      return time
    }
    default:
      return held as string | boolean
  }
}

const same = (a: CelValue, b: CelValue) =>
  kindOf(a) === kindOf(b) && (equals(a, b, new Frame(0)) === true || (Number.isNaN(a) && Number.isNaN(b)))

/**
 * `cel.block([a, b], c)` is what an optimiser writes for `cel.bind(index0, a, cel.bind(index1, b, c))`: nobody types it, so the language
 * does not have it, and the suite's section is read as the bindings that it stands for.
 */
const withoutBlocks = (source: string): string => {
  const named = source.replace(/cel\.(index|iterVar)\(\s*(\d+)(?:\s*,\s*(\d+))?\s*\)/g, "$1$2_$3")
  const node = parse(named)
  if ("message" in node || node.kind !== "call" || node.name !== "block") return named
  const [bound, body] = node.args as [Node, Node]
  assert.isTrue(bound.kind === "list")
  const elements = (bound as NodeOf<"list">).elements.map((element) =>
    named.slice(element.node.start, element.node.end)
  )
  return elements.reduceRight(
    (inner, each, i) => `cel.bind(index${i}_, ${each}, ${inner})`,
    named.slice(body.start, body.end)
  )
}

/** What is wrong with our answer to a test; `undefined` when it is the one that the suite expects. */
const faultOf = (test: Test): string | undefined => {
  const extra = Object.fromEntries(
    Object.entries(test.bindings ?? {}).map(([name, { value }]) => [name, celValue(value)])
  )
  const names = [...Object.keys(extra), ...(test.typeEnv ?? []).map(({ name }) => name)]
  const compiled = compile(withoutBlocks(test.expr), {
    phase: "network",
    extra: names,
    unchecked: test.disableCheck === true
  })
  if (Result.isFailure(compiled)) return test.evalError === undefined ? compiled.failure[0]!.message : undefined
  if (test.checkOnly) return undefined
  const outcome = compiled.success.evaluate({ extra })
  if (outcome instanceof CelError) return test.evalError === undefined ? outcome.message : undefined
  if (test.evalError !== undefined) return "an error is expected"
  const expected = celValue(test.typedResult?.result ?? test.value ?? { boolValue: true })
  return same(outcome, expected) ? undefined : `not the expected ${kindOf(expected)}`
}

interface Named {
  readonly id: string
  readonly section: string
  readonly test: Test
}

interface Suite {
  readonly name: string
  readonly suites?: ReadonlyArray<Suite>
  readonly tests?: ReadonlyArray<{ readonly original: unknown }>
}

const collect = ({ suites = [], tests = [] }: Suite, path: ReadonlyArray<string>): ReadonlyArray<Named> => [
  ...tests.map(({ original }) => {
    const test = original as Test
    return { id: [...path, test.name].join("/"), section: path[0]!, test }
  }),
  ...suites.flatMap((inner) => collect(inner, [...path, inner.name]))
]

const all = collect(suite as Suite, [])
const outOfScope = new Set<string>([...excluded["protobuf message or enum"], ...excluded["protobuf extension"]])
const reasons = new Map(Object.entries(excluded).flatMap(([reason, ids]) => ids.map((id) => [id, reason] as const)))

describe("the official suite", () => {
  for (const section of new Set(all.map((each) => each.section))) {
    const wanted = all.filter((each) => each.section === section && !reasons.has(each.id))
    if (wanted.length === 0) continue
    it(`${section}: ${wanted.length} tests`, () => {
      const faults = wanted.flatMap(({ id, test }) => {
        const fault = faultOf(test)
        return fault === undefined ? [] : [`${id}: ${test.expr} – ${fault}`]
      })
      assert.deepStrictEqual(faults, [])
    })
  }

  it("passes 99 of 100 tests that need no protobuf", () => {
    const inScope = all.filter(({ id }) => !outOfScope.has(id))
    const passed = inScope.filter(({ id }) => !reasons.has(id))
    assert.isAtLeast(inScope.length, 1_500)
    assert.isAtLeast(passed.length / inScope.length, 0.99)
  })

  it("excludes no test that does not exist", () => {
    const known = new Set(all.map(({ id }) => id))
    assert.deepStrictEqual(
      [...reasons.keys()].filter((id) => !known.has(id)),
      []
    )
  })

  it("departs from the suite where the list says so", () => {
    const departures = Object.entries(excluded).filter(([reason]) => reason.startsWith("departure:"))
    assert.isAtLeast(departures.length, 2)
    for (const { id, test } of all)
      if (departures.some(([, ids]) => ids.includes(id)))
        assert.isDefined(faultOf(test), `${id} passes, though it is listed`)
  })
})
