/** Every example is a file that loads, expands, and has nothing odd about it; each opens by saying what it shows. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { formatText } from "../spec/config/problem.ts"
import { lint } from "../src/routing/lint/lint.ts"
import { reader } from "../src/routing/read.ts"
import { uses } from "../src/routing/unavailable.ts"
import { schemas } from "../stages/schemas.ts"

const folder = resolve(import.meta.dirname, "../examples")
const files = globSync("*/config.yaml", { cwd: folder }).sort()
const read = reader(schemas)

/** What a user would have in the environment: whatever the file asks for. */
const environment = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.replace(/^# yaml-language-server.*$/m, "").matchAll(/\$\{?([A-Z_]+)/g)].map(([, name]) => [
      name!,
      name === "SESSION_KEY" ? "0a".repeat(32) : `${name}-value`
    ])
  )

const expanded = new Set<string>()

describe("examples", () => {
  for (const file of files)
    it(dirname(file), () => {
      const text = readFileSync(join(folder, file), "utf8")
      assert.match(
        text,
        /^# yaml-language-server: \$schema=\S+\n# [A-Z][^\n]*\n/,
        "opens with the schema and a sentence"
      )
      const result = read({ name: file, text, env: environment(text) })
      if (!result.ok) return assert.fail(formatText(result.problems))
      assert.deepStrictEqual(formatText(lint(result.value)), "")
      assert.isAbove(result.value.normalised.binds.length, 0)
      for (const { feature, name } of uses(result.value.normalised)) expanded.add(`${feature} ${name}`)
    })

  it("show every policy of routes and gateways, and every kind of backend but one", () => {
    const policies = Object.keys(schemas).map((name) => `policy ${name}`)
    const backends = ["host", "dynamic", "internal", "mcp", "ai", "llm"].map((name) => `backend ${name}`)
    const missing = [...policies, ...backends].filter((name) => !expanded.has(name))
    // They need an endpoint of a mesh, or say little by themselves.
    const rare = ["networkExtAuthz", "proxyProtocol", "inferenceRouting", "sessionAffinity", "backendTunnel"]
    assert.deepStrictEqual(
      missing,
      policies.filter((name) => rare.includes(name.slice("policy ".length)))
    )
    assert.isAtLeast(files.length, 30)
  })
})
