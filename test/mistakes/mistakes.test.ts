/**
 * Files with one ordinary mistake each, as people make them: slips, words of other products, other products' files. For each, every line that
 * `headgatectl validate` prints. A line is changed here only for one that says better what to write.
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import { formatLine } from "../../spec/config/problem.ts"
import { findings } from "../../src/main/configuration/findings.ts"

interface Mistake {
  readonly title: string
  readonly config: string
  /** What is told, without the name of the file. */
  readonly lines: ReadonlyArray<string>
}

const files = globSync("*.yaml", { cwd: import.meta.dirname }).sort()
const corpus = files.map(
  (name) => [name, parse(readFileSync(join(import.meta.dirname, name), "utf8")) as ReadonlyArray<Mistake>] as const
)

for (const [name, mistakes] of corpus)
  describe(name, () => {
    for (const { title, config, lines } of mistakes)
      it.effect(title, () =>
        Effect.gen(function* () {
          const problems = yield* findings({ name: "file", text: config, env: {} })
          assert.deepStrictEqual(
            problems.map((problem) => formatLine(problem).replace(/^file:/, "")),
            lines
          )
        })
      )
  })

describe("the corpus", () => {
  const all = corpus.flatMap(([, mistakes]) => mistakes)

  it("has many mistakes, each told", () => {
    assert.isAtLeast(all.length, 150)
    assert.strictEqual(new Set(all.map(({ title }) => title)).size, all.length)
    for (const { title, lines } of all) assert.isAtLeast(lines.length, 1, title)
  })
})
