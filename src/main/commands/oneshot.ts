/** `headgate oneshot`: serves a file while a command runs, which is started once the proxy is ready, and ends with its code. */
import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { constants } from "node:os"
import { isSea } from "node:sea"
import { Readable } from "node:stream"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { exitWith, orExit, Unable } from "../ctl/failure.ts"
import { Operands } from "../ctl/operands.ts"

/** The code that a shell tells of a process. */
const ended = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code, signal) => resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]))
  })

/** @param output where the words of the proxy go: a descriptor, or our own standard output. */
const served = async (
  source: ReadonlyArray<string>,
  command: readonly [string, ...ReadonlyArray<string>],
  output: number
) => {
  const itself = isSea() ? [] : [...process.execArgv, process.argv[1]!]
  // The channel tells the proxy when this process is gone, however it ended.
  const proxy = spawn(process.execPath, [...itself, ...source], {
    env: { ...process.env, READY_FD: "3" },
    stdio: ["ignore", output, output === 1 ? 2 : output, "pipe", "ipc"]
  })
  const gone = ended(proxy)
  const ready = new Promise<void>((resolve) => {
    const pipe = proxy.stdio[3]
    pipe?.once("close", resolve)
    // What is not read never ends.
    if (pipe instanceof Readable) pipe.resume()
  })
  // A proxy that cannot start closes the pipe as well.
  await Promise.race([gone, ready])
  const early = await Promise.race([gone, new Promise<undefined>((resolve) => setTimeout(resolve, 100))])
  if (early !== undefined) return early
  const child = spawn(command[0], command.slice(1), { stdio: "inherit" })
  const told = (signal: NodeJS.Signals) => child.kill(signal)
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, told)
  try {
    return await ended(child)
  } finally {
    proxy.kill("SIGTERM")
    await gone
  }
}

export const oneshotCommand = Command.make(
  "oneshot",
  {
    file: Flag.String("file").pipe(Flag.withAlias("f"), Flag.optional, Flag.withDescription("The configuration file.")),
    config: Flag.String("config").pipe(
      Flag.withAlias("c"),
      Flag.optional,
      Flag.withDescription("The configuration itself.")
    ),
    output: Flag.String("output").pipe(
      Flag.optional,
      Flag.withDescription(
        "A file to which the words of the proxy are added; they go to standard output when left out."
      )
    )
  },
  ({ file, config, output }) =>
    Effect.gen(function* () {
      const [program, ...args] = (yield* Operands) ?? []
      if (program === undefined || Option.isSome(file) === Option.isSome(config))
        return yield* new Unable({
          detail: "a file or its text is served while a command runs: write headgate oneshot -f config.yaml -- COMMAND"
        })
      const source = Option.isSome(file) ? ["-f", file.value] : ["-c", Option.getOrThrow(config)]
      const failed = (what: string) => (cause: unknown) =>
        new Unable({ detail: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` })
      const code = yield* Effect.acquireUseRelease(
        Effect.try({
          try: () => (Option.isSome(output) ? openSync(output.value, "a") : 1),
          catch: failed("cannot write the output")
        }),
        (descriptor) =>
          Effect.tryPromise({
            try: () => served(source, [program, ...args], descriptor),
            catch: failed(`cannot run ${program}`)
          }),
        (descriptor) => Effect.sync(() => (descriptor > 2 ? closeSync(descriptor) : undefined))
      )
      yield* exitWith(code)
    }).pipe(orExit())
).pipe(
  Command.withDescription(
    "Serve a file for as long as a command runs. The command stands behind --, starts once the proxy is ready, and its exit code is that of this one."
  )
)
