/** Files of the machine, watched as long as a configuration is in use that read them. */

import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { Effect, Layer, Queue, RcMap, type Scope } from "effect"
import { Defects } from "../src/services/defects.ts"
import { ConfigurationFolder, Files, FileUnreadable } from "../src/services/files.ts"
import { Log } from "../src/services/log.ts"
import { watchFile } from "./file-watch.ts"

/** Milliseconds for which a text must stand before it counts as written. */
const debounce = 250

/** Where a path of a configuration leads: beside its file, or where nothing is there, from the working directory. */
export const placed = (path: string, folder: string | undefined): string => {
  const beside = resolve(folder ?? "", path)
  return existsSync(beside) ? beside : resolve(path)
}

/** The text of a file that a configuration names, as it is. */
export const textOf = (path: string, folder: string | undefined): Effect.Effect<string, FileUnreadable> =>
  Effect.tryPromise({
    try: () => readFile(placed(path, folder), "utf8"),
    catch: (cause) =>
      new FileUnreadable({
        path,
        detail:
          cause instanceof Error && "code" in cause && cause.code === "ENOENT"
            ? "there is no such file"
            : "it is not readable"
      })
  })

/** Told that a file has another text. */
type Listeners = Set<() => void>

export const layer: Layer.Layer<Files, never, Log> = Layer.effect(
  Files,
  Effect.gen(function* () {
    const { log } = yield* Log
    const tell = yield* Defects
    const changes = yield* Queue.sliding<string>(1)
    // One watch for all configurations and all places that name the file.
    const watches = yield* RcMap.make({
      lookup: (path: string): Effect.Effect<Listeners, never, Scope.Scope> =>
        Effect.suspend(() => {
          log("info", "proxy", `Watching file: ${path}`)
          const listeners: Listeners = new Set()
          const changed = () =>
            Effect.sync(() => {
              for (const listener of listeners) listener()
            })
          return Effect.as(watchFile({ file: path, debounce, changed }), listeners)
        })
    })
    const watch = (path: string, listener: () => void) =>
      Effect.flatMap(RcMap.get(watches, path), (listeners) =>
        Effect.acquireRelease(
          Effect.sync(() => void listeners.add(listener)),
          () => Effect.sync(() => void listeners.delete(listener))
        )
      )
    const trimmed = (path: string, folder: string | undefined) =>
      Effect.map(textOf(path, folder), (text) => text.trim())
    return {
      // The watch comes first: what is written between the two is a change, at the worst one too many.
      read: (path) =>
        Effect.flatMap(ConfigurationFolder, (folder) => {
          const placedAt = placed(path, folder)
          const changed = () => void Queue.offerUnsafe(changes, placedAt)
          return Effect.andThen(watch(placedAt, changed), trimmed(path, folder))
        }),
      text: (path) => Effect.flatMap(ConfigurationFolder, (folder) => trimmed(path, folder)),
      follow: (paths, changed) =>
        Effect.gen(function* () {
          const folder = yield* ConfigurationFolder
          const events = yield* Queue.sliding<true>(1)
          const told = () => void Queue.offerUnsafe(events, true)
          for (const path of paths) yield* watch(placed(path, folder), told)
          // What was written since somebody read them.
          told()
          // What goes wrong once must not be the end of it.
          const contained = Effect.catchDefect(changed, (cause) => Effect.sync(() => tell("file", cause)))
          yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(events), contained)))
        }),
      changed: Queue.take(changes)
    }
  })
)
