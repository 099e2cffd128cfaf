/**
 * Files with one ordinary mistake each, as people make them: slips, words of other products, other products' files. For each, every line that
 * `headgatectl validate` prints. A line is changed here only for one that says better what to write.
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import { load } from "../../spec/config/load.ts"
import { formatLine, formatText } from "../../spec/config/problem.ts"
import { language } from "../../src/check/check.ts"
import { findings } from "../../src/main/configuration/findings.ts"
import { environmentOf } from "../fences.ts"

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

describe("a line that cannot be read", () => {
  const folder = join(import.meta.dirname, "../../examples")
  const odd = ["   : [", 'key: "open', "\t- tab", "  }", "a: b: c", "*: 1", "@at", "<<: *none"]

  it.effect.each(globSync("*/config.yaml", { cwd: folder }).toSorted())("puts no blame on the others of %s", (name) =>
    Effect.gen(function* () {
      const whole = readFileSync(join(folder, name), "utf8")
      const env = environmentOf(whole)
      const lines = whole.split("\n")
      let unread = 0
      for (const [at, line] of lines.entries()) {
        if (line.startsWith("#")) continue
        const indent = " ".repeat(line.search(/\S|$/))
        const text = lines.toSpliced(at, at % 2, `${indent}${odd[at % odd.length]}`).join("\n")
        const loaded = load({ name: "file", text, env }, language.schema)
        const problems = loaded.ok ? [] : loaded.problems
        // Some of them go on with the value of the line before.
        if (problems.every(({ code }) => code !== "yaml")) continue
        unread++
        const blamed = problems.filter(({ code, line }) => code !== "yaml" && line < at + 1)
        assert.deepStrictEqual(formatText(blamed), "", text)
      }
      assert.isAtLeast(unread, 5)
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
