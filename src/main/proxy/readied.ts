/**
 * What the first requests may need and a start does not is loaded once everything listens, so that neither waits for it: a
 * bundle loads these modules of Node when they are used for the first time (`build/late.ts`).
 */
import { Effect } from "effect"

const modules = ["node:crypto", "node:tls"]

/** One in each turn of the loop, since a request may be there already. */
export const readied: Effect.Effect<void> = Effect.forEach(
  modules,
  (name) =>
    Effect.andThen(
      Effect.sleep(0),
      Effect.sync(() => process.getBuiltinModule(name))
    ),
  { discard: true }
)
