/** The tools for a configuration file, and what a running proxy says of its own: one schema, and the same problems everywhere. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect } from "effect"
import { formatProblems, problemFormats } from "../spec/config/problem.ts"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { root } from "./program.ts"
import { ctl } from "./tool.ts"

const direct = `gateways: { default: { port: 8080 } }
routes: [{ name: hello, policies: { directResponse: { status: 200, body: hello } } }]
`

describe("the JSON Schema", () => {
  it.live("is one and the same from the tool, from the proxy and in the package", () =>
    Effect.gen(function* () {
      const { gateway } = yield* opened(direct)
      const exported = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).exports
      for (const kind of ["config", "trace-event"]) {
        const name = `${kind}.schema.json`
        const inPackage = readFileSync(join(root, exported[`./${name}`]), "utf8")
        const printed = yield* ctl("schema", "--kind", kind)
        assert.deepStrictEqual(printed, { code: 0, out: [inPackage.trimEnd()], err: [] })
        const served = yield* Effect.promise(() => send(gateway.ports.admin!, { path: `/${name}` }))
        assert.strictEqual(served.headers["content-type"], "application/schema+json")
        assert.strictEqual(served.body, inPackage)
        assert.isTrue(new Ajv2020({ strict: false }).validateSchema(JSON.parse(inPackage)))
      }
      assert.deepStrictEqual(yield* ctl("schema"), yield* ctl("schema", "--kind", "config"))
      assert.strictEqual((yield* ctl("schema", "--kind", "nothing")).code, 1)
    })
  )
})

const opened = (text: string) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const gateway = yield* start(text, { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) })
    return { gateway, lines }
  })

describe("problems", () => {
  it.live("are the same from the start, a reload, and the admin interface in each of its formats", () =>
    Effect.gen(function* () {
      const doubtful = `${direct}backends: []\nllm: { gateways: default, models: [{ name: a, provider: mock }, { name: a, provider: mock }] }\n`
      const { gateway, lines } = yield* opened(doubtful)
      const asked = (format: string) =>
        Effect.promise(() => send(gateway.ports.admin!, { path: `/config_problems?format=${format}` }))
      const [warning] = JSON.parse((yield* asked("json")).body)
      assert.deepInclude(warning, { code: "model-never-used", line: 4, severity: "warning", file: "<inline>" })
      assert.include(lines.join(""), `${warning.path} ${warning.message} config=<inline>:4 code=model-never-used`)

      const refused = yield* Effect.flip(gateway.reload("routes: 1\ngateway: {}\n"))
      if (refused._tag !== "InvalidConfiguration") return assert.fail(refused._tag)
      assert.strictEqual(refused.problems.length, 2)
      for (const format of problemFormats)
        assert.strictEqual((yield* asked(format)).body, `${formatProblems(format, refused.problems)}\n`)
      assert.strictEqual((yield* asked("xml")).status, 400)

      // What was mended is forgotten, and what is doubtful is told again.
      yield* gateway.reload(direct)
      assert.strictEqual((yield* asked("json")).body, "[]\n")
      yield* gateway.reload(doubtful)
      assert.strictEqual(lines.filter((line) => line.includes("code=model-never-used")).length, 2)
    })
  )
})
