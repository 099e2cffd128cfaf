/** Who may import whom, and which calls are kept off which paths. The tables are the architecture; a violation names file and line. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const root = resolve(import.meta.dirname, "..")

/** A file may import from its own zone and from what the first matching row allows. */
const allowed: ReadonlyArray<readonly [from: RegExp, to: RegExp]> = [
  [/\.test\.ts$/, /./],
  // The configuration language knows nothing of the engine.
  [/^spec\//, /^spec\//],
  // The HTTP message model is the vocabulary of everyone.
  [/^src\/http\//, /^(src\/http|spec)\//],
  [/^src\/services\//, /^(src\/(services|http)|spec)\//],
  [/^src\/cel\//, /^(src\/cel|spec)\//],
  // The engine never names a policy or an adapter.
  [/^src\/pipeline\//, /^(src\/(pipeline|services|cel|http)|spec)\//],
  [/^src\/routing\//, /^(src\/(routing|pipeline|cel|http)|spec)\//],
  [/^src\/protocols\/(llm|mcp|a2a)\//, /^(src\/(pipeline|services|cel|http)|spec)\//],
  [/^src\/main\//, /./],
  // Adapters implement ports.
  [/^layers\//, /^(layers|src\/(services|pipeline|http)|spec)\//],
  // The one place that lists the policies.
  [/^stages\/[^/]+\.ts$/, /^(stages|src\/(pipeline|services|cel|http)|spec)\//],
  // Wire shapes load without the engine.
  [/^stages\/[^/]+\/schema\.ts$/, /^(spec|stages\/[^/]+\/schema\.ts)/],
  // A stage never imports another stage or a layer.
  [/^stages\/[^/]+\//, /^(src\/(pipeline|services|cel|protocols|http)|spec)\//],
  [/^(test|bench|examples|judges)\//, /./]
]

const nodeModulesFree = /^(spec|src\/(cel|http|pipeline|routing|services|protocols))\//
const nodeAllowed = /^node:(buffer|crypto|zlib|async_hooks|net)$/

const zoneOf = (file: string) => /^(src\/protocols\/[^/]+|src\/[^/]+|stages\/[^/]+(?=\/)|[^/]+)/.exec(file)?.[1] ?? file

const sources = globSync("{src,stages,layers,spec,test,bench,judges}/**/*.ts", { cwd: root }).filter(
  (file) => !file.includes("node_modules")
)

const lines = function* (file: string): Generator<readonly [text: string, line: number]> {
  let line = 0
  for (const text of readFileSync(join(root, file), "utf8").split("\n")) yield [text, ++line]
}

describe("architecture", () => {
  it("imports follow the table of folders", () => {
    const bad: Array<string> = []
    for (const file of sources) {
      for (const [text, line] of lines(file)) {
        const spec = /(?:from|import\()\s*"(\.[^"]+)"/.exec(text)?.[1]
        if (spec === undefined) continue
        const target = relative(root, resolve(root, dirname(file), spec))
        const rule = allowed.find(([from]) => from.test(file))
        if (rule === undefined || (zoneOf(target) !== zoneOf(file) && !rule[1].test(target)))
          bad.push(`${file}:${line} must not import ${target}`)
      }
    }
    assert.deepStrictEqual(bad, [])
  })

  it("pure folders reach the outside through ports only", () => {
    const bad: Array<string> = []
    for (const file of sources.filter((file) => nodeModulesFree.test(file) && !file.endsWith(".test.ts")))
      for (const [text, line] of lines(file)) {
        const spec = /from\s*"(node:[^"]+)"/.exec(text)?.[1]
        if (spec !== undefined && !nodeAllowed.test(spec)) bad.push(`${file}:${line} must not import ${spec}`)
      }
    assert.deepStrictEqual(bad, [])
  })

  it("the command-line tool loads no engine before a command asks for it", () => {
    const start = "src/main/headgatectl.ts"
    const from = new Map([[start, ""]])
    for (const file of from.keys())
      for (const [, spec] of readFileSync(join(root, file), "utf8").matchAll(
        /^(?:import|export) (?!type )[^"]*? from "(\.[^"]+)"/gm
      )) {
        const target = relative(root, resolve(root, dirname(file), spec!))
        if (!from.has(target)) from.set(target, file)
      }
    assert.isTrue(from.has("src/main/ctl/trace.ts"))
    const heavy = /^(stages\/|src\/routing\/|src\/main\/(check|dialect|snapshot|ports)\.ts)/
    assert.deepStrictEqual(
      [...from].filter(([file]) => heavy.test(file)).map(([file, by]) => `${by} must not load ${file}`),
      []
    )
  })

  it("every source file opens by saying what it is", () => {
    const silent = sources.filter(
      (file) =>
        !file.endsWith(".test.ts") &&
        !file.includes("/fixtures/") &&
        !/^(#![^\n]*\n)?\/\*\*/.test(readFileSync(join(root, file), "utf8"))
    )
    assert.deepStrictEqual(silent, [])
  })

  it("no file hides behind a name that says nothing", () => {
    const vague = sources.filter((file) => /(^|\/)(utils?|helpers?|common|misc)(\.ts|\/)/.test(file))
    assert.deepStrictEqual(vague, [])
  })
})
