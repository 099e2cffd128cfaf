/** Every example is a file that loads, expands, and has nothing odd about it; each opens by saying what it shows. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { formatText, type Problem } from "../spec/config/problem.ts"
import { findings } from "../src/main/configuration/findings.ts"
import { lint } from "../src/routing/lint/lint.ts"
import { reader } from "../src/routing/read.ts"
import { uses } from "../src/routing/unavailable.ts"
import { schemas } from "../stages/schemas.ts"
import { environmentOf } from "./fences.ts"

const folder = resolve(import.meta.dirname, "../examples")
const files = globSync("*/config.yaml", { cwd: folder }).sort()
const read = reader(schemas)

const expanded = new Set<string>()

/** What the file says that this build lacks, at its top. */
const lacking = (text: string): ReadonlyArray<string> =>
  /^# Not available yet: (.*)$/m.exec(text)?.[1]?.split(", ") ?? []

/** The same in the words of a check. */
const lacked = ({ path, message }: Problem): string => {
  const [, what] = /^(.*) (?:is|are) not available yet$/.exec(message) ?? []
  return what ?? path
}

describe("examples", () => {
  for (const file of files)
    it(dirname(file), () => {
      const text = readFileSync(join(folder, file), "utf8")
      assert.match(
        text,
        /^# yaml-language-server: \$schema=\S+\n# [A-Z][^\n]*\n/,
        "opens with the schema and a sentence"
      )
      const result = read({ name: file, text, env: environmentOf(text) })
      if (!result.ok) return assert.fail(formatText(result.problems))
      assert.deepStrictEqual(formatText(lint(result.value)), "")
      assert.isAbove(result.value.normalised.binds.length, 0)
      for (const { feature, name } of uses(result.value.normalised, schemas)) expanded.add(`${feature} ${name}`)
    })

  it.effect.each(files)("%s lacks what it says, and nothing else is to be said of it", (file) =>
    Effect.gen(function* () {
      const name = join(folder, file)
      const text = readFileSync(name, "utf8")
      const problems = yield* findings({ name, text, env: environmentOf(text), folder: dirname(name) })
      const [unavailable, others] = [true, false].map((is) =>
        problems.filter(({ code }) => (code === "unavailable") === is)
      )
      assert.deepStrictEqual(formatText(others!), "")
      assert.deepStrictEqual([...new Set(unavailable!.map(lacked))], lacking(text))
    })
  )

  it("show every policy of routes and gateways, and every kind of backend but one", () => {
    const policies = Object.keys(schemas).map((name) => `policy ${name}`)
    const backends = ["host", "dynamic", "internal", "mcp", "ai", "llm"].map((name) => `backend ${name}`)
    const missing = [...policies, ...backends].filter((name) => !expanded.has(name))
    // They need an endpoint picker, or say little by themselves.
    const rare = ["networkExtAuthz", "proxyProtocol", "inferenceRouting", "backendTunnel"]
    assert.deepStrictEqual(
      missing,
      policies.filter((name) => rare.includes(name.slice("policy ".length)))
    )
    assert.isAtLeast(files.length, 30)
  })
})
