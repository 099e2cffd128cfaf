/** Every file of the corpus, written out: what is wrong with it, line by line. `lint.yaml` holds files that are right and what is odd about them. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { formatJson, formatLine } from "../../spec/config/problem.ts"
import { codes } from "../../spec/warnings.ts"
import { lint } from "../../src/routing/lint/lint.ts"
import { reader } from "../../src/routing/read.ts"
import { schemas } from "../../stages/schemas.ts"

interface Case {
  readonly title: string
  readonly env?: Readonly<Record<string, string>>
  readonly config: string
  /** What is told, without the name of the file. */
  readonly lines: ReadonlyArray<string>
}

const read = reader(schemas)
const files = globSync("*.yaml", { cwd: import.meta.dirname }).sort()
const corpus = files.map(
  (name) => [name, parse(readFileSync(join(import.meta.dirname, name), "utf8")) as ReadonlyArray<Case>] as const
)

const told = ({ config, env = {} }: Case) => {
  const result = read({ name: "file", text: config, env })
  return { ok: result.ok, problems: result.ok ? lint(result.value) : result.problems }
}

for (const [name, cases] of corpus)
  describe(name, () => {
    for (const each of cases)
      it(each.title, () => {
        const { ok, problems } = told(each)
        assert.strictEqual(ok, name === "lint.yaml")
        assert.deepStrictEqual(
          problems.map((problem) => formatLine(problem).replace(/^file:/, "")),
          each.lines
        )
      })
  })

describe("the corpus", () => {
  const all = corpus.flatMap(([, cases]) => cases)

  it("has a wrong file for every kind of mistake", () => {
    assert.isAtLeast(corpus.filter(([name]) => name !== "lint.yaml").flatMap(([, cases]) => cases).length, 250)
    for (const [, cases] of corpus) assert.strictEqual(new Set(cases.map(({ title }) => title)).size, cases.length)
  })

  it("reaches every lint code", () => {
    const seen = new Set(all.flatMap((each) => told(each).problems.map(({ code }) => code)))
    assert.deepStrictEqual(
      Object.keys(codes).filter((code) => !seen.has(code)),
      []
    )
  })

  it("shows no credential in any excerpt", () => {
    const credential = /very-secret|another-secret|secret-one|abcdef|u:p@/
    for (const each of all) assert.notMatch(formatJson(told(each).problems), credential, each.title)
  })
})
