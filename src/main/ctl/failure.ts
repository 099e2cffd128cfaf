/** How a command of the tool ends when it cannot do what it was asked: one message on standard error, and an exit code. */
import { Console, Data, Effect } from "effect"

/** What a command was asked for cannot be done. */
export class Unable extends Data.TaggedError("Unable")<{ readonly detail: string }> {
  override get message() {
    return this.detail
  }
}

export const exitWith = (code: number): Effect.Effect<void> =>
  Effect.sync(() => {
    process.exitCode = code
  })

/** Tells the failure of a command and exits with a code that says so. */
export const orExit =
  (code = 1) =>
  <A, R>(command: Effect.Effect<A, { readonly message: string }, R>): Effect.Effect<void, never, R> =>
    Effect.catch(Effect.asVoid(command), (error) => Effect.andThen(Console.error(error.message), exitWith(code)))
