/** `headgatectl doctor`: what keeps a configuration from being served well on this machine, and what to do about it. */
import { Console, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { configurationText, fromFile } from "../configuration/source.ts"
import { cannotServe } from "../exit-codes.ts"
import { exitWith, orExit } from "./failure.ts"

export const doctorCommand = Command.make(
  "doctor",
  {
    file: Argument.String("file").pipe(
      Argument.optional,
      Argument.withDescription("The configuration file; without one, the machine and the process alone are looked at.")
    )
  },
  ({ file }) =>
    Effect.gen(function* () {
      const [{ examine }, { machine }, { ailmentText }] = yield* Effect.promise(() =>
        Promise.all([import("../doctor/doctor.ts"), import("../doctor/machine.ts"), import("../doctor/ailment.ts")])
      )
      const source = Option.isNone(file)
        ? undefined
        : configurationText(fromFile(file.value), yield* fromFile(file.value).read)
      const ailments = yield* examine(machine(), source)
      for (const ailment of ailments) yield* Console.log(ailmentText(ailment))
      if (ailments.length === 0) return yield* Console.log("Nothing is wrong.")
      const serious = ailments.filter(({ severity, unavailable }) => severity === "error" && unavailable !== true)
      if (serious.length > 0) yield* exitWith(1)
      else if (ailments.some(({ unavailable }) => unavailable === true)) yield* exitWith(cannotServe)
    }).pipe(orExit())
).pipe(
  Command.withDescription(
    "Look at what serving a file on this machine depends on: the runtime, the file, its variables and ports, the commands of MCP servers, certificates, whether backends can be reached, the clock, limits and the cache of compiled code. It starts nothing, and asks each backend for the head of one page. Exits with 1 when something keeps it from being served, with 3 when this build cannot serve all of it."
  )
)
