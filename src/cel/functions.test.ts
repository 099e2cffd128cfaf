import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { parse } from "yaml"
import { type Bindings, CelError, compile, toJson } from "./expression.ts"
import { functionNames } from "./library.ts"

interface Case {
  readonly expr: string
  readonly value?: unknown
  readonly error?: string
  readonly problem?: string
}

const { bindings: given, ...groups } = parse(
  readFileSync(join(import.meta.dirname, "fixtures", "functions.yaml"), "utf8")
) as { readonly bindings: Bindings & { readonly sensitiveHeaders: ReadonlyArray<string> } } & Record<
  string,
  ReadonlyArray<Case>
>

const bindings: Bindings = { ...given, sensitiveHeaders: new Set(given.sensitiveHeaders) }

const answer = (source: string): Case => {
  const compiled = compile(source, { phase: "log" })
  if (Result.isFailure(compiled)) return { expr: source, problem: compiled.failure[0]!.message }
  const outcome = compiled.success.evaluate(bindings)
  if (outcome instanceof CelError) return { expr: source, error: outcome.code }
  const json = toJson(outcome)
  assert.isString(json)
  return { expr: source, value: JSON.parse(json as string) as unknown }
}

describe("functions beyond the standard ones", () => {
  for (const [name, cases] of Object.entries(groups) as Array<[string, ReadonlyArray<Case>]>) {
    it(name, () => {
      assert.isAtLeast(cases.length, 4)
      assert.isTrue(
        cases.some((each) => each.error !== undefined || each.problem !== undefined),
        "no case fails"
      )
      for (const each of cases) {
        const { problem, ...rest } = answer(each.expr)
        if (each.problem !== undefined) assert.include(problem, each.problem, each.expr)
        else assert.deepStrictEqual({ ...rest, problem }, { ...each, problem: undefined }, each.expr)
      }
    })
  }

  it("leaves none of the library's names without a case", () => {
    const text = Object.values(groups)
      .flatMap((cases) => cases.map(({ expr }) => expr))
      .join("\n")
    const standard = new Set(
      "size startsWith endsWith contains matches int uint double bool string bytes timestamp duration dyn type".split(
        " "
      )
    )
    const tested = (name: string) => text.includes(`${name}(`) || standard.has(name.replace(".", ""))
    const elsewhere = new Set(["strings.quote", ".format", ".reverse", "isCIDR", "optional.unwrap"])
    assert.deepStrictEqual(
      functionNames().filter((name) => !tested(name) && !elsewhere.has(name)),
      []
    )
  })
})
