import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { watchFile } from "./file-watch.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-watch-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** Watches a file; what it changed to comes in the queue. */
const watching = (file: string, known: string, debounce = 20) =>
  Effect.gen(function* () {
    const seen = yield* Queue.unbounded<string>()
    yield* watchFile({ file, known, debounce, changed: (text) => Effect.asVoid(Queue.offer(seen, text)) })
    return {
      next: Effect.timeout(Queue.take(seen), "20 seconds"),
      /** Nothing more comes. */
      quiet: Effect.andThen(
        Effect.sleep(130 + debounce),
        Effect.map(Queue.size(seen), (size) => assert.strictEqual(size, 0))
      )
    }
  })

describe("file watch", () => {
  it.live("a file that is written, replaced or swapped is seen, once each time", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "config.yaml")
      writeFileSync(file, "one")
      const { next, quiet } = yield* watching(file, "one")
      yield* quiet
      writeFileSync(file, "two")
      assert.strictEqual(yield* next, "two")
      // As editors save.
      writeFileSync(`${file}.tmp`, "three")
      renameSync(`${file}.tmp`, file)
      assert.strictEqual(yield* next, "three")
      writeFileSync(file, "four")
      assert.strictEqual(yield* next, "four")
      yield* quiet
    })
  )

  it.live("the symlinks of a mounted volume are seen when they are swapped, again and again", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const version = (name: string, text: string) => {
        mkdirSync(join(at, name))
        writeFileSync(join(at, name, "config.yaml"), text)
        symlinkSync(name, join(at, "..next"))
        renameSync(join(at, "..next"), join(at, "..data"))
      }
      version("..v1", "one")
      symlinkSync(join("..data", "config.yaml"), join(at, "config.yaml"))
      const { next, quiet } = yield* watching(join(at, "config.yaml"), "one")
      for (const [name, text] of [
        ["..v2", "two"],
        ["..v3", "three"]
      ] as const) {
        version(name, text)
        assert.strictEqual(yield* next, text)
      }
      yield* quiet
    })
  )

  it.live("a link to a file elsewhere follows that file, and then another one", () =>
    Effect.gen(function* () {
      const [here, there] = [yield* folder, yield* folder]
      const link = join(here, "config.yaml")
      writeFileSync(join(there, "a"), "one")
      symlinkSync(join(there, "a"), link)
      const { next } = yield* watching(link, "one")
      writeFileSync(join(there, "a"), "two")
      assert.strictEqual(yield* next, "two")
      const other = yield* folder
      writeFileSync(join(other, "b"), "three")
      unlinkSync(link)
      symlinkSync(join(other, "b"), link)
      assert.strictEqual(yield* next, "three")
      writeFileSync(join(other, "b"), "four")
      assert.strictEqual(yield* next, "four")
    })
  )

  it.live("what changed before the watch began is seen", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "config.yaml")
      writeFileSync(file, "two")
      const { next } = yield* watching(file, "one")
      assert.strictEqual(yield* next, "two")
    })
  )

  it.live("a file that vanishes, or is touched, or comes back as it was, is no change", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "config.yaml")
      writeFileSync(file, "one")
      const { next, quiet } = yield* watching(file, "one")
      writeFileSync(file, "one")
      yield* quiet
      unlinkSync(file)
      yield* quiet
      writeFileSync(file, "one")
      yield* quiet
      writeFileSync(file, "two")
      assert.strictEqual(yield* next, "two")
    })
  )

  it.live("a text that is still being written is awaited, and others may write in the folder meanwhile", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const file = join(at, "config.yaml")
      writeFileSync(file, "")
      const { next, quiet } = yield* watching(file, "", 1000)
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.andThen(
            Effect.sync(() => writeFileSync(join(at, "database"), String(performance.now()))),
            Effect.sleep("10 millis")
          )
        )
      )
      for (const text of ["h", "he", "hea", "head"]) {
        writeFileSync(file, text)
        yield* Effect.sleep("15 millis")
      }
      assert.strictEqual(yield* next, "head")
      yield* quiet
    })
  )
})
