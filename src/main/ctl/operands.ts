/** What stands behind `--` on the command line; `undefined` when there is no `--`. */
import { Context, Effect } from "effect"

export const Operands = Context.Reference<ReadonlyArray<string> | undefined>("headgate/ctl/Operands", {
  defaultValue: () => undefined
})

/** Runs a program with what stands before `--`, and hands on what stands behind. */
export const withOperands = <A, E, R>(
  args: ReadonlyArray<string>,
  run: (args: ReadonlyArray<string>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const dashes = args.indexOf("--")
  return dashes < 0 ? run(args) : Effect.provideService(run(args.slice(0, dashes)), Operands, args.slice(dashes + 1))
}
