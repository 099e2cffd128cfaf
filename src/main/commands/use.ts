/** What becomes of the file that a command stands for: it is served, or written. */
import type { Effect } from "effect"
import type { Starter } from "./starter.ts"

export type Use<R> = (starter: Starter) => Effect.Effect<void, never, R>
