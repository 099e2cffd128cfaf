/** The command-line tool, and the commands of the proxy, run in the process of a test. */
import { NodeServices } from "@effect/platform-node"
import { Console, Effect, type Layer } from "effect"
import { headgate } from "../src/main/commands/root.ts"
import type { Serve } from "../src/main/commands/serving.ts"
import { headgatectl } from "../src/main/ctl/root.ts"

export interface Ran {
  readonly code: number
  readonly out: ReadonlyArray<string>
  readonly err: ReadonlyArray<string>
}

/** Runs the tool in this process: its code, and the lines that it printed. */
export const ctl = (...args: ReadonlyArray<string>): Effect.Effect<Ran> => ran(headgatectl(args))

/** Runs a command of the proxy in this process. */
export const commanded = (serve: Serve, ...args: ReadonlyArray<string>): Effect.Effect<Ran> =>
  ran(headgate(args, serve))

const ran = <E>(program: Effect.Effect<void, E, Layer.Success<typeof NodeServices.layer>>): Effect.Effect<Ran> =>
  Effect.gen(function* () {
    const out: Array<string> = []
    const err: Array<string> = []
    const console: Console.Console = {
      ...globalThis.console,
      log: (...texts: ReadonlyArray<unknown>) => out.push(...texts.map(String)),
      error: (...texts: ReadonlyArray<unknown>) => err.push(...texts.map(String))
    }
    const ended = yield* Effect.result(program).pipe(
      Effect.provide(NodeServices.layer),
      Effect.provideService(Console.Console, console)
    )
    const code = ended._tag === "Failure" ? 1 : Number(process.exitCode ?? 0)
    process.exitCode = undefined
    return { code, out, err }
  })
