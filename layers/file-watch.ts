/**
 * Watches one file through its folder: editors replace files by renaming, and Kubernetes swaps a symlink beside them; a
 * watch on the file itself would go on looking at the old one.
 */
import { type FSWatcher, readFileSync, realpathSync, watch } from "node:fs"
import { dirname, resolve } from "node:path"
import { Effect, Queue, type Scope } from "effect"
import { type Container, contained } from "../src/services/contained.ts"
import { containerOf, Defects } from "../src/services/defects.ts"

export interface WatchOptions {
  readonly file: string
  /** The text that is known: what differs from it, however early, is a change. Default: the text as it is now. */
  readonly known?: string | undefined
  /** Milliseconds for which a text must stand before it counts as written. */
  readonly debounce: number
  readonly changed: (text: string) => Effect.Effect<void>
}

/** Runs `changed` each time the text of the file is another one. A file that vanishes is no change. Ends with its scope. */
export const watchFile = ({ file, known, debounce, changed }: WatchOptions): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const path = resolve(file)
    const events = yield* Queue.sliding<true>(1)
    const container = containerOf(yield* Defects, "file")
    // Any event counts: a swapped symlink has another name than the file behind it.
    const event = contained(container, () => {
      Queue.offerUnsafe(events, true)
    })
    const folders = yield* Effect.acquireRelease(
      Effect.sync(() => new Folders(event, container)),
      (folders) => Effect.sync(() => folders.watch([]))
    )
    let current = known ?? textOf(path)
    const look = Effect.gen(function* () {
      folders.watch(foldersOf(path))
      // The text, not the folder, must come to rest: others write there all the time.
      let text = textOf(path)
      for (let before: string | undefined; text !== before; text = textOf(path)) {
        if (text === current) return
        before = text
        yield* Effect.sleep(debounce)
      }
      if (text === undefined || text === current) return
      current = text
      yield* changed(text)
    })
    folders.watch(foldersOf(path))
    // What was written between the reading of `known` and now has caused no event.
    Queue.offerUnsafe(events, true)
    // A log in the same folder is written many times a second: what comes during the pause is one event.
    const pause = Effect.sleep(debounce)
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.andThen(Queue.take(events), look), pause)))
  })

/** The folder of the file, and that of the file behind it when it is a link. */
const foldersOf = (path: string): ReadonlyArray<string> => {
  const own = dirname(path)
  try {
    return [own, dirname(realpathSync(path))]
  } catch {
    return [own]
  }
}

const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

/** The folders that are watched now. */
class Folders {
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #event: () => void
  readonly #container: Container
  constructor(event: () => void, container: Container) {
    this.#event = event
    this.#container = container
  }

  /** Watches these folders, and no others any more. One that cannot be watched is tried again the next time. */
  watch(folders: ReadonlyArray<string>): void {
    for (const [folder, watcher] of this.#watchers)
      if (!folders.includes(folder)) {
        watcher.close()
        this.#watchers.delete(folder)
      }
    for (const folder of folders) {
      if (this.#watchers.has(folder)) continue
      try {
        const watcher = watch(folder, this.#event)
        const failed = contained(this.#container, () => {
          this.#watchers.delete(folder)
        })
        watcher.on("error", failed)
        this.#watchers.set(folder, watcher)
      } catch {
        // It is gone for the moment.
      }
    }
  }
}
