/** Every example is a file that loads, expands, and has nothing odd about it; each opens by saying what it shows. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { formatText } from "../spec/config/problem.ts"
import { graphsOf } from "../src/main/configuration/offline.ts"
import { lint } from "../src/routing/lint/lint.ts"
import { reader } from "../src/routing/read.ts"
import { uses } from "../src/routing/unavailable.ts"
import { schemas } from "../stages/schemas.ts"
import { environmentOf } from "./fences.ts"

const folder = resolve(import.meta.dirname, "../examples")
const files = globSync("*/config.yaml", { cwd: folder }).sort()
const read = reader(schemas)

const expanded = new Set<string>()

/** Those that this build serves as they are; of the others it says what it lacks. */
const served = [
  "delegation",
  "llm-basic",
  "llm-virtual-models",
  "mcp-authentication",
  "mcp-authorization",
  "mcp-basic",
  "quickstart",
  "targeted-policies",
  "traffic-matching",
  "traffic-rate-limit"
]

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

  it.effect.each(files)("%s starts, or is told what it lacks", (file) =>
    Effect.gen(function* () {
      const text = readFileSync(join(folder, file), "utf8")
      const compiled = yield* Effect.result(graphsOf({ name: file, text, env: environmentOf(text) }))
      const problems = Result.isFailure(compiled) ? compiled.failure.problems : []
      if (served.includes(dirname(file))) assert.deepStrictEqual(formatText(problems), "")
      // Files of the reader's own are not here.
      const wrong = problems.filter(({ code, message }) => code !== "unavailable" && !message.includes("no such file"))
      assert.deepStrictEqual(formatText(wrong), "")
    })
  )

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
