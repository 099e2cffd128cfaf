import { celEnv, isCelError, isCelList, isCelMap, isCelUint, parse, plan } from "@bufbuild/cel"
import { strings } from "@bufbuild/cel/ext"
import { assert, describe, it } from "@effect/vitest"
import { Environment, UnsignedInt } from "@marcbachmann/cel-js/evaluator"
import * as Result from "effect/Result"
import { CelError, CelList, CelMap, compile, Uint } from "./expression.ts"
import { expression, Random, variables } from "./fixtures/generate.ts"
import { entriesOf } from "./json.ts"

const seeds = Array.from({ length: 1_500 }, (_, i) => 20_000 + i)

/** A value of any of the three engines in one notation, or the text of its error. */
interface Answer {
  readonly value?: string
  readonly error?: string
}

const notation = (value: unknown): string => {
  switch (typeof value) {
    case "bigint":
      return `${value}i`
    case "number":
      return `${value}d`
    case "string":
      return JSON.stringify(value)
    case "boolean":
      return String(value)
  }
  if (value === null) return "null"
  if (value instanceof Uint8Array) return `b[${[...value]}]`
  if (value instanceof Uint || isCelUint(value)) return `${value.value}u`
  if (value instanceof UnsignedInt) return `${value.valueOf()}u`
  if (value instanceof CelList) return `[${value.items.map(notation)}]`
  if (Array.isArray(value) || isCelList(value)) return `[${Array.from(value as Iterable<unknown>, notation)}]`
  const entries: Iterable<readonly [unknown, unknown]> =
    value instanceof CelMap
      ? entriesOf(value)
      : isCelMap(value) || value instanceof Map
        ? (value as Map<unknown, unknown>).entries()
        : Object.entries(value as object)
  return `{${Array.from(entries, ([key, entry]) => `${notation(key)}:${notation(entry)}`).sort()}}`
}

const ours = (source: string): Answer => {
  const compiled = compile(source, { phase: "network", unchecked: true, extra: Object.keys(variables) })
  if (Result.isFailure(compiled)) return { error: compiled.failure[0]!.message }
  const outcome = compiled.success.evaluate({ extra: variables })
  return outcome instanceof CelError ? { error: `${outcome.code}: ${outcome.message}` } : { value: notation(outcome) }
}

const bufbuildEnvironment = celEnv({ funcs: strings })
const bufbuild = (source: string): Answer => {
  const outcome = plan(bufbuildEnvironment, parse(source))(variables as never)
  return isCelError(outcome) ? { error: outcome.message } : { value: notation(outcome) }
}

const marcbachmannEnvironment = new Environment({
  unlistedVariablesAreDyn: true,
  homogeneousAggregateLiterals: false,
  enableOptionalTypes: true
})
const marcbachmann = (source: string): Answer => {
  try {
    return { value: notation(marcbachmannEnvironment.parse(source)({ ...variables })) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** Why an engine answers differently where it does. */
interface Explanation {
  readonly because: string
  readonly holds: (source: string, ours: Answer, theirs: Answer) => boolean
}

const ofBufbuild: ReadonlyArray<Explanation> = [
  {
    because: "it takes text that is no number for NaN",
    holds: (source, mine) => source.includes("double(") && mine.error === "unreadable: the text is no double"
  },
  {
    because: "it drops two signs in a row before it looks at what they stand before",
    holds: (source, mine) => /-\(-|!\(!/.test(source) && mine.error !== undefined
  },
  {
    because: "it divides unsigned integers as signed ones",
    holds: (_, __, theirs) => theirs.error?.startsWith("int overflow during divide") ?? false
  },
  {
    because: "`in` and `contains` take more here: text in text, elements of lists, keys of maps",
    holds: (_, mine, theirs) => mine.value !== undefined && /overload for '(@in|contains)'/.test(theirs.error ?? "")
  },
  {
    because: "it takes a double as the key of a map",
    holds: (_, mine) => mine.error?.includes("map key") ?? false
  }
]

const ofMarcbachmann: ReadonlyArray<Explanation> = [
  {
    because: "it refuses what a part that is never reached, or a comparison, would do with its types",
    holds: (_, mine, theirs) =>
      mine.value !== undefined &&
      /^(no such overload|found no matching overload|Ternary|Logical operator|Expression of type|Variable '|Cannot index|List index must|List item|Operator overload|Cannot mix)/i.test(
        theirs.error ?? ""
      )
  },
  {
    because: "it forgets that the keys of a map have types",
    holds: (source) => /\{(1|0\.0|uint\(|-?[\d.(]|\(?b |d:)/.test(source)
  },
  {
    because: "it does not check the range of a negation or a conversion",
    holds: (source, mine, theirs) =>
      theirs.value !== undefined &&
      /-\(|int\(/.test(source) &&
      /^(overflow|invalid_argument|unreadable)/.test(mine.error ?? "")
  },
  {
    because: "it reads bytes that are not UTF-8 as text",
    holds: (_, mine) => mine.error === "unreadable: the bytes are not UTF-8"
  },
  {
    because: "it converts anything to an unsigned integer or an integer",
    holds: (source, mine, theirs) => theirs.value !== undefined && /int\(/.test(source) && mine.error !== undefined
  }
]

const same = (a: Answer, b: Answer) => (a.error !== undefined && b.error !== undefined) || a.value === b.value

const compare = (theirs: (source: string) => Answer, explanations: ReadonlyArray<Explanation>) => {
  const unexplained: Array<string> = []
  let agreed = 0
  let values = 0
  for (const seed of seeds) {
    const source = expression(new Random(seed))
    const [mine, other] = [ours(source), theirs(source)]
    if (mine.value !== undefined) values++
    if (same(mine, other)) {
      agreed++
      continue
    }
    const explanation = explanations.find(({ holds }) => holds(source, mine, other))
    if (explanation === undefined)
      unexplained.push(`seed ${seed}: ${source}: ${JSON.stringify(mine)} against ${JSON.stringify(other)}`)
  }
  assert.deepStrictEqual(unexplained, [])
  return { agreed: agreed / seeds.length, values: values / seeds.length }
}

describe("generated expressions, against the libraries", () => {
  it("every disagreement with @bufbuild/cel has an explanation, and there are few", () => {
    const { agreed, values } = compare(bufbuild, ofBufbuild)
    assert.isAtLeast(agreed, 0.99)
    // Half of the expressions have a value: comparing errors alone would prove little.
    assert.isAtLeast(values, 0.45)
  })

  it("every disagreement with @marcbachmann/cel-js has an explanation", () => {
    assert.isAtLeast(compare(marcbachmann, ofMarcbachmann).agreed, 0.9)
  })
})
