/** Users with passwords. A hash is checked in a thread of its own, since that is slow on purpose. */
import { Effect, Layer } from "effect"
import { Defects } from "../../src/services/defects.ts"
import { Kept, KeptKind } from "../../src/services/kept.ts"
import { Log } from "../../src/services/log.ts"
import { Passwords } from "../../src/services/passwords.ts"
import { readList } from "./list.ts"
import { PasswordQueue } from "./queue.ts"
import { type Check, Users } from "./users.ts"

const lists = new KeptKind<Users>("passwords")

/** Lines that are named where many are of no use. */
const named = 10

const passwords = (check: Check) =>
  Effect.gen(function* () {
    const { log } = yield* Log
    const kept = yield* Kept
    return {
      open: (text: string, place: string) => {
        const { hashes, unusable } = readList(text)
        if (unusable.length > 0) {
          const lines = `${unusable.slice(0, named).join(", ")}${unusable.length > named ? " …" : ""}`
          log(
            "warn",
            "proxy",
            "nobody can log in by these lines: expected a name, a colon, and a hash by bcrypt (cost 4 to 14), apr1, SHA-1 or crypt",
            { at: place, lines }
          )
        }
        return kept.keep(
          lists,
          text,
          Effect.sync(() => new Users(hashes, check))
        )
      }
    }
  })

export const layer: Layer.Layer<Passwords, never, Log | Kept> = Layer.effect(
  Passwords,
  Effect.gen(function* () {
    const tell = yield* Defects
    const queue = yield* Effect.acquireRelease(
      Effect.sync(() => new PasswordQueue(tell)),
      (queue) => Effect.promise(() => queue.end())
    )
    return yield* passwords(queue.check)
  })
)

/** For tests: whoever checks in the thread of whoever asks. */
export const layerWith = (check: Check): Layer.Layer<Passwords, never, Log | Kept> =>
  Layer.effect(Passwords, passwords(check))
