/**
 * Watches one file through its folder: editors replace files by renaming, and Kubernetes swaps a symlink beside them; a
 * watch on the file itself would go on looking at the old one.
 */
import { createHash } from "node:crypto"
import { readFileSync, watch } from "node:fs"
import { dirname, resolve } from "node:path"
import { Effect, Queue, type Scope } from "effect"

/**
 * Runs `changed` each time the content of the file is another one, `debounce` milliseconds after the last event. A file
 * that vanishes is no change. Ends with its scope.
 */
export const watchFile = (
  file: string,
  debounce: number,
  changed: () => Effect.Effect<void>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const path = resolve(file)
    const events = yield* Queue.sliding<true>(1)
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        // Any event of the folder counts: a swapped symlink has another name than the file behind it.
        const watcher = watch(dirname(path), () => Queue.offerUnsafe(events, true))
        watcher.on("error", () => {})
        return watcher
      }),
      (watcher) => Effect.sync(() => watcher.close())
    )
    let known = contentHash(path)
    const settle = Effect.gen(function* () {
      yield* Queue.take(events)
      // Quiet for as long as the debounce says: then the write is complete.
      let quiet = false
      while (!quiet) {
        yield* Effect.sleep(debounce)
        quiet = (yield* Queue.size(events)) === 0
        if (!quiet) yield* Queue.take(events)
      }
      const now = contentHash(path)
      if (now === undefined || now === known) return
      known = now
      yield* changed()
    })
    yield* Effect.forkScoped(Effect.forever(settle))
  })

const contentHash = (path: string): string | undefined => {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("hex")
  } catch {
    return undefined
  }
}
