/** Every example is a file that loads, expands, and has nothing odd about it; each opens by saying what it shows. */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
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

  // A copy of them, with the files that their commands make.
  const copy = mkdtempSync(join(tmpdir(), "headgate-examples-"))
  afterAll(() => rmSync(copy, { recursive: true }))
  beforeAll(() => {
    cpSync(folder, copy, { recursive: true })
    for (const file of files)
      for (const [, command] of readFileSync(join(copy, file), "utf8").matchAll(/^# Files: (.*)$/gm))
        execFileSync("sh", ["-c", command!], { cwd: join(copy, dirname(file)) })
  })

  it.effect.each(files)("%s lacks what it says, and nothing else is to be said of it", (file) =>
    Effect.gen(function* () {
      const name = join(copy, file)
      const text = readFileSync(name, "utf8")
      const problems = yield* findings({ name, text, env: environmentOf(text), folder: dirname(name) })
      const [unavailable, others] = [true, false].map((is) =>
        problems.filter(({ code }) => (code === "unavailable") === is)
      )
      assert.deepStrictEqual(formatText(others!), "")
      assert.deepStrictEqual([...new Set(unavailable!.map(lacked))], lacking(text))
    })
  )

  /** What it names beside itself; what a deployment puts in its place has an absolute path. */
  const named = (text: string): ReadonlyArray<string> =>
    [...text.matchAll(/\b(?:file|cert|key|root): ['"]?([\w-][\w./-]*\.(?:pem|key|json|ya?ml|htpasswd))\b/g)].map(
      ([, name]) => name!
    )

  it("have the files that they name, or tell the command that makes them", () => {
    const missing = files.flatMap((file) =>
      named(readFileSync(join(copy, file), "utf8")).flatMap((name) =>
        existsSync(join(copy, dirname(file), name)) ? [] : [`${file}: ${name}`]
      )
    )
    assert.deepStrictEqual(missing, [])
    assert.isAtLeast(new Set(files.flatMap((file) => named(readFileSync(join(folder, file), "utf8")))).size, 10)
  })

  it("hold no private key", () => {
    const keys = globSync("**/*", { cwd: folder, withFileTypes: true }).filter(
      (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name), "utf8").includes("PRIVATE KEY-----")
    )
    assert.deepStrictEqual(
      keys.map(({ name }) => name),
      []
    )
  })

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
