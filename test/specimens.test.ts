/** What releases before this one read and wrote: this one still reads it, and writes as much (docs/compatibility.md). */
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result } from "effect"
import { formatText } from "../spec/config/problem.ts"
import { graphsOf } from "../src/main/configuration/offline.ts"
import { eventOf } from "../src/main/ctl/saved-trace.ts"
import { metricsPage } from "../src/main/pages/metrics.ts"
import { makeSessionIds, sessionKey } from "../src/protocols/mcp/session-id.ts"
import { environmentOf } from "./fences.ts"
import { nowhere } from "./origin.ts"
import { root, startProgram } from "./program.ts"
import { ctl } from "./tool.ts"

const folder = join(import.meta.dirname, "specimens")

describe.each(readdirSync(folder))("what %s read and wrote", (release) => {
  const own = join(folder, release)
  const text = (name: string) => readFileSync(join(own, name), "utf8")
  const lines = (name: string) => text(name).trim().split("\n")

  it.effect.each(globSync("config/*.yaml", { cwd: own }).sort())("%s is served", (name) =>
    Effect.gen(function* () {
      const compiled = yield* Effect.result(graphsOf({ name, text: text(name), env: environmentOf(text(name)) }))
      assert.strictEqual(Result.isFailure(compiled) ? formatText(compiled.failure.problems) : "", "")
    })
  )

  it.effect("a dump is shown", () =>
    Effect.gen(function* () {
      const { code, out, err } = yield* ctl("proxy", "config", "all", "-f", join(own, "config_dump.json"), "-o", "json")
      assert.deepStrictEqual({ code, err }, { code: 0, err: [] })
      assert.strictEqual(JSON.parse(out.join("\n")).binds[0].key, "bind/18790")
    })
  )

  it("every trace event is understood", () => {
    const events = lines("trace.jsonl")
    assert.isAbove(events.length, 5)
    assert.deepStrictEqual(
      events.filter((line) => Option.isNone(eventOf(line))),
      []
    )
  })

  it("session ids are those of the same sessions", () => {
    const { key, binding, ids } = JSON.parse(text("session-ids.json"))
    const { decode } = makeSessionIds(sessionKey(key)!)
    assert.isNotEmpty(ids)
    // What is not known is left out there.
    for (const { id, state } of ids) assert.deepStrictEqual(JSON.parse(JSON.stringify(decode(id, binding))), state)
  })

  it("metrics have their names", () => {
    const page = metricsPage()
    assert.deepStrictEqual(
      lines("metrics.txt").filter((name) => !page.includes(`\`${name}\``)),
      []
    )
  })

  it("exports have their names", async () => {
    const files: Readonly<Record<string, () => Promise<object>>> = {
      headgate: () => import("../src/main/library.ts"),
      "headgate/trace": () => import("../src/main/trace.ts"),
      "headgate/testing": () => import("../src/main/testing.ts"),
      "headgate/policy": () => import("../src/main/policy.ts")
    }
    for (const [name, wanted] of Object.entries<ReadonlyArray<string>>(JSON.parse(text("exports.json")))) {
      const found = Object.keys(await files[name]!())
      assert.deepStrictEqual(
        wanted.filter((each) => !found.includes(each)),
        [],
        name
      )
    }
  })

  it.each([
    ["text", "log.txt"],
    ["json", "log.jsonl"]
  ] as const)("log lines have their fields, in order: %s", async (format, name) => {
    const home = mkdtempSync(join(tmpdir(), "headgate-specimens-"))
    const ports = [await Effect.runPromise(nowhere), await Effect.runPromise(nowhere)]
    const file = join(home, "config.yaml")
    writeFileSync(file, text("requests.yaml").replace("18790", String(ports[0])).replace("18791", String(ports[1])))
    await using program = startProgram(process.execPath, [join(root, "bin/headgate.mjs"), "-f", file], {
      LOG_FORMAT: format
    })
    await program.says(/loaded config from/)
    const address = `http://localhost:${ports[0]}`
    await (await fetch(`${address}/tea`)).text()
    const body = '{"model":"demo","messages":[{"role":"user","content":"Hello"}]}'
    const headers = { "content-type": "application/json" }
    await (await fetch(`${address}/v1/chat/completions`, { method: "POST", headers, body })).text()
    await program.says(/\/v1\/chat\/completions/)
    const fieldsOf = (line: string) =>
      format === "json"
        ? Object.keys(JSON.parse(line))
        : [...line.matchAll(/[\t ]([\w.]+)=/g)].map(([, field]) => field!)
    const written = program.printed().split("\n")
    for (const [index, path] of ["/tea", "/v1/chat/completions"].entries()) {
      const wanted = fieldsOf(lines(name)[index]!)
      const found = fieldsOf(written.find((line) => line.includes("http.path") && line.includes(path))!)
      assert.isAbove(wanted.length, 8)
      assert.deepStrictEqual(
        found.filter((field) => wanted.includes(field)),
        wanted
      )
    }
    rmSync(home, { recursive: true })
  })
})
