import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { ConfigurationFolder, Files } from "../src/services/files.ts"
import { layer } from "./files.ts"
import * as ConsoleLog from "./log/console.ts"

const told = () => {
  const lines: Array<string> = []
  const log = ConsoleLog.layer({ filter: "info", format: "text", write: (line) => lines.push(line), now: () => 0 })
  return { lines, services: Layer.provide(layer, log) }
}

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-files-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

describe("files of a configuration", () => {
  it.live("are read, and a change of one is told: as editors save, and as Kubernetes mounts", () => {
    const { services, lines } = told()
    return Effect.gen(function* () {
      const at = yield* folder
      const { read, changed } = yield* Files
      const path = join(at, "key")
      writeFileSync(path, " one\n")
      assert.strictEqual(yield* read(path), "one")
      assert.strictEqual(yield* read(path), "one")
      writeFileSync(`${path}.tmp`, "two")
      renameSync(`${path}.tmp`, path)
      assert.strictEqual(yield* Effect.timeout(changed, "5 seconds"), path)
      assert.strictEqual(yield* read(path), "two")

      const version = (name: string, text: string) => {
        mkdirSync(join(at, name))
        writeFileSync(join(at, name, "token"), text)
        symlinkSync(name, join(at, "..next"))
        renameSync(join(at, "..next"), join(at, "..data"))
      }
      version("..v1", "first")
      const mounted = join(at, "token")
      symlinkSync(join("..data", "token"), mounted)
      assert.strictEqual(yield* read(mounted), "first")
      version("..v2", "second")
      assert.strictEqual(yield* Effect.timeout(changed, "5 seconds"), mounted)
      assert.strictEqual(yield* read(mounted), "second")
      // One line a file, however often it is read.
      assert.deepStrictEqual(
        lines.map((line) => line.split("\t").at(-1)?.trim()),
        [`Watching file: ${path}`, `Watching file: ${mounted}`]
      )
    }).pipe(Effect.provide(services))
  })

  it.live("that are not there are told so", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "key")
      const { read } = yield* Files
      assert.strictEqual((yield* Effect.flip(read(path))).message, `cannot read ${path}: there is no such file`)
      // Once it is there it can be read: a failure is not kept.
      writeFileSync(path, "one")
      assert.strictEqual(yield* read(path), "one")
    }).pipe(Effect.provide(told().services))
  )

  it.live("are beside the file of the configuration, or else in the working directory", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const { read, changed } = yield* Files
      const readBeside = (path: string) => Effect.provideService(read(path), ConfigurationFolder, at)
      const inWorkingDirectory = yield* read("package.json")
      assert.strictEqual(yield* readBeside("package.json"), inWorkingDirectory)
      writeFileSync(join(at, "package.json"), "beside")
      assert.strictEqual(yield* readBeside("package.json"), "beside")
      assert.strictEqual(yield* readBeside("./package.json"), "beside")
      assert.strictEqual(yield* read("package.json"), inWorkingDirectory)
      assert.strictEqual(yield* readBeside(join(process.cwd(), "package.json")), inWorkingDirectory)
      assert.strictEqual(
        (yield* Effect.flip(readBeside("nowhere"))).message,
        "cannot read nowhere: there is no such file"
      )
      writeFileSync(join(at, "package.json"), "changed")
      assert.strictEqual(yield* Effect.timeout(changed, "5 seconds"), join(at, "package.json"))
    }).pipe(Effect.provide(told().services))
  )

  it.live("are watched as long as somebody uses them, and several changes are told once", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const { read, changed } = yield* Files
      const [path, other] = [join(at, "key"), join(at, "other")]
      writeFileSync(path, "one")
      writeFileSync(other, "one")
      const [old, next] = [yield* Scope.make(), yield* Scope.make()]
      for (const scope of [old, next]) yield* Scope.provide(read(path), scope)
      yield* Scope.provide(read(other), old)
      yield* Scope.close(old, Exit.void)
      writeFileSync(other, "two")
      writeFileSync(path, "two")
      assert.strictEqual(yield* Effect.timeout(changed, "5 seconds"), path)
      yield* Scope.close(next, Exit.void)
      unlinkSync(path)
      writeFileSync(path, "three")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.timeout(changed, "600 millis"))))
    }).pipe(Effect.provide(told().services))
  )
})
