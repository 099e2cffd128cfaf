/** Files of the machine. */
import { readFile } from "node:fs/promises"
import { Effect, Layer } from "effect"
import { Files, FileUnreadable } from "../src/services/files.ts"

export const layer: Layer.Layer<Files> = Layer.succeed(Files, {
  read: (path) =>
    Effect.tryPromise({
      try: async () => (await readFile(path, "utf8")).trim(),
      catch: (cause) =>
        new FileUnreadable({
          path,
          detail:
            cause instanceof Error && "code" in cause && cause.code === "ENOENT"
              ? "there is no such file"
              : "it is not readable"
        })
    })
})
