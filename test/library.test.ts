/** The package's `problems` tells a program what the tool tells a person. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { problems, UnreadableConfiguration } from "../src/main/library.ts"
import { ctl } from "./tool.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-library-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const served = "gateways: { default: { port: 3000, address: localhost } }"
const route = (policies: string) => `${served}\nroutes: [{ policies: { ${policies} } }]\n`

writeFileSync(join(folder, "keys.json"), '{ "keys": "none" }')
writeFileSync(join(folder, "pets.json"), '{ "openapi": "3.0.0", "paths": {} }')

describe("problems of a configuration, for a program", () => {
  it.live.each([
    ["a mistake of form", "gateways: { default: { prot: 3000 } }", "error"],
    [
      "an expression that is none",
      route("authorization: { rules: ['1 +'] }, directResponse: { status: 200 }"),
      "error"
    ],
    ["a file that is not there", route("jwtAuth: { issuer: a, jwks: { file: none.json } }"), "error"],
    ["a file beside it that holds something else", route("jwtAuth: { issuer: a, jwks: { file: keys.json } }"), "error"],
    [
      "an interface that is described beside it",
      `${served}\nmcp: { targets: [{ name: pets, openapi: { host: "a:1", schema: { file: pets.json } } }] }`,
      undefined
    ],
    ["what this build does not serve", `${route("directResponse: { status: 200 }")}ui: {}\n`, "warning"],
    ["what is doubtful", "llm: { port: 4000, models: [{ name: '*', provider: mock }] }", "warning"],
    ["nothing at all", route("directResponse: { status: 200 }"), undefined]
  ] as const)("tell of %s what the tool tells", ([, text, severity]) =>
    Effect.gen(function* () {
      const file = join(folder, "config.yaml")
      writeFileSync(file, text)
      const { out } = yield* ctl("validate", "--format", "json", file)
      const found = yield* Effect.promise(() => problems({ file }))
      assert.deepStrictEqual(JSON.parse(JSON.stringify(found)), JSON.parse(out.join("\n")))
      assert.strictEqual(found.some((problem) => problem.severity === "error") ? "error" : found[0]?.severity, severity)
      // A text has no folder to find files in.
      if (!text.includes("file:")) {
        const ofText = yield* Effect.promise(() => problems(text))
        assert.deepStrictEqual(
          ofText.map(({ line, path, message }) => ({ line, path, message })),
          found.map(({ line, path, message }) => ({ line, path, message }))
        )
      }
    })
  )

  it("are refused only where there is nothing to read", async () => {
    const failure = await problems({ file: join(folder, "none.yaml") }).catch((error) => error)
    assert.instanceOf(failure, UnreadableConfiguration)
  })

  it("are found of many files at once, which the runtime does not take for a leak", async () => {
    const warnings: Array<string> = []
    const told = ({ name, message }: Error) => warnings.push(`${name}: ${message}`)
    process.on("warning", told)
    try {
      const listeners = process.listenerCount("exit")
      await Promise.all(Array.from({ length: 30 }, () => problems(served)))
      // Warnings are told a turn later.
      await new Promise((turn) => setImmediate(turn))
      assert.deepStrictEqual(warnings, [])
      assert.strictEqual(process.listenerCount("exit"), listeners)
    } finally {
      process.off("warning", told)
    }
  })
})
