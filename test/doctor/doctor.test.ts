/** Planted faults, each of which the doctor names with what to do, and healthy set-ups, of which it says nothing. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import { ailmentText, examinations } from "../../src/main/doctor/ailment.ts"
import { examine } from "../../src/main/doctor/doctor.ts"
import { root, startHeadgate } from "../program.ts"
import { type Case, surroundings } from "./surroundings.ts"

const home = mkdtempSync(join(tmpdir(), "headgate-doctor-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const read = (name: string): ReadonlyArray<Case> => parse(readFileSync(join(import.meta.dirname, name), "utf8"))
const faults = read("faults.yaml")
const healthy = read("healthy.yaml")

const found = (each: Case) =>
  Effect.gen(function* () {
    const folder = mkdtempSync(join(home, "case-"))
    const { machine, config, fill } = yield* surroundings(folder, each)
    const ailments = yield* examine(machine, config === undefined ? undefined : { name: "file", text: config })
    return { told: ailments.map(ailmentText), fill }
  })

describe("what is wrong is named, with what to do", () => {
  for (const each of faults)
    it.effect(each.title, () =>
      Effect.gen(function* () {
        const { told, fill } = yield* found(each)
        assert.deepStrictEqual(told, each.finds!.map(fill))
      })
    )

  it("thirty faults and more, of every kind", () => {
    assert.isAtLeast(faults.length, 30)
    const kinds = new Set(faults.flatMap(({ finds = [] }) => finds.map((line) => line.split(":")[0]!)))
    assert.deepStrictEqual([...kinds].sort(), [...examinations].sort())
  })
})

describe("what is healthy is passed over in silence", () => {
  for (const each of healthy)
    it.effect(each.title, () => Effect.map(found(each), ({ told }) => assert.deepStrictEqual(told, [])))

  it("twenty set-ups and more", () => assert.isAtLeast(healthy.length, 20))
})

describe("headgatectl doctor", () => {
  const doctor = (shell: string, ...args: ReadonlyArray<string>) => {
    const { status, stdout } = spawnSync(
      "sh",
      ["-c", `${shell}; exec "$0" "$@"`, process.execPath, join(root, "bin/headgatectl.mjs"), "doctor", ...args],
      {
        encoding: "utf8",
        env: { PATH: process.env["PATH"], HOME: home }
      }
    )
    return { status, stdout }
  }

  it("finds the limits of its own process, and warnings alone are no failure", () => {
    const { status, stdout } = doctor("ulimit -n 200; export NODE_OPTIONS=--max-old-space-size=100")
    assert.match(
      stdout,
      /^limits: warning: the process may have 200 files and sockets open; a request takes two\n {4}raise the limit/m
    )
    assert.match(stdout, /^limits: warning: the heap may grow to \d+ MiB\n {4}raise --max-old-space-size/m)
    assert.strictEqual(status, 0)
  })

  it("ends with 1 for what is wrong, and with 3 for what this build cannot serve", () => {
    const file = join(home, "file.yaml")
    const management = "config: { adminAddr: off, statsAddr: off, readinessAddr: off }"
    writeFileSync(file, `${management}\ngateways: { default: { port: 18911 } }\nroutes: [{ backend: [] }]\n`)
    const wrong = doctor("true", file)
    assert.strictEqual(wrong.status, 1)
    assert.match(wrong.stdout, /^file: .*file\.yaml:3:\d+: routes\[0\]\.backend: unknown key/)
    writeFileSync(file, `${management}\ngateways: { default: { port: 18911 } }\nroutes: [{ policies: { a2a: {} } }]\n`)
    assert.strictEqual(doctor("true", file).status, 3)
  })

  it("takes the ports of a proxy that serves the file already for what they are", async () => {
    const file = join(home, "served.yaml")
    const text =
      "config: { adminAddr: localhost:18913, statsAddr: localhost:18914, readinessAddr: localhost:18915 }\ngateways: { default: { port: 18912, address: localhost } }\nroutes: [{ policies: { directResponse: { status: 204 } } }]\n"
    writeFileSync(file, text)
    const program = await startHeadgate(["-f", file], {
      ADMIN_ADDR: "localhost:18913",
      STATS_ADDR: "localhost:18914",
      READINESS_ADDR: "localhost:18915"
    })
    try {
      assert.deepStrictEqual(doctor("true", file), { status: 0, stdout: "Nothing is wrong.\n" })
    } finally {
      await program[Symbol.asyncDispose]()
    }
  })
})
