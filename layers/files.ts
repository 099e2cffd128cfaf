/** Files of the machine, watched as long as a configuration is in use that read them. */

import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { Effect, Layer, Queue, RcMap, type Scope } from "effect"
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

export const layer: Layer.Layer<Files, never, Log> = Layer.effect(
  Files,
  Effect.gen(function* () {
    const { log } = yield* Log
    const changes = yield* Queue.sliding<string>(1)
    // One watch for all configurations and all places that name the file.
    const watches = yield* RcMap.make({
      lookup: (path: string): Effect.Effect<void, never, Scope.Scope> =>
        Effect.suspend(() => {
          log("info", "proxy", `Watching file: ${path}`)
          return watchFile({ file: path, debounce, changed: () => Effect.asVoid(Queue.offer(changes, path)) })
        })
    })
    return {
      // The watch comes first: what is written between the two is a change, at the worst one too many.
      read: (path) =>
        Effect.flatMap(ConfigurationFolder, (folder) =>
          Effect.andThen(
            RcMap.get(watches, placed(path, folder)),
            Effect.map(textOf(path, folder), (text) => text.trim())
          )
        ),
      changed: Queue.take(changes)
    }
  })
)
