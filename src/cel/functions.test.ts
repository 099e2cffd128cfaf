import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { parse } from "yaml"
import { type Bindings, CelError, compile, toJson } from "./expression.ts"
import { functionNames } from "./library.ts"
import { macroNames } from "./macros.ts"
import { specialNames } from "./special.ts"

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

  it("leaves no function and no macro with fewer than four cases, one of them a failure", () => {
    const cases = Object.values(groups).flat()
    // Those that the official suite tests.
    const standard = new Set(
      "size startsWith endsWith contains matches int uint double bool string bytes timestamp duration dyn type all".split(
        " "
      )
    )
    const fails = ({ error, problem }: Case) => error !== undefined || problem !== undefined
    const names = [...functionNames(), ...macroNames, ...specialNames].filter(
      (name) => !standard.has(name.replace(".", ""))
    )
    const short = names.filter((name) => {
      const call = new RegExp(`${name.startsWith(".") ? "" : "(?<!\\w)"}${name.replace(".", "\\.")}\\(`)
      const calling = cases.filter(({ expr }) => call.test(expr))
      return calling.length < 4 || !calling.some(fails)
    })
    assert.deepStrictEqual(short, [])
    assert.isAtLeast(names.length, 120)
  })
})
