/** `headgatectl validate`: every problem of a configuration file, what in it is not available yet, and what is doubtful. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { countOf, formatProblems, problemFormats } from "../../../spec/config/problem.ts"
import { fromFile } from "../configuration-source.ts"
import { exitWith, orExit } from "./failure.ts"

export const validateCommand = Command.make(
  "validate",
  {
    file: Argument.String("file").pipe(Argument.withDescription("The configuration file; - for standard input.")),
    format: Flag.Literals("format", problemFormats).pipe(
      Flag.withDefault("text" as const),
      Flag.withDescription("How problems are printed.")
    ),
    strict: Flag.Boolean("strict").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Fail for warnings as for errors.")
    )
  },
  ({ file, format, strict }) =>
    Effect.gen(function* () {
      const { findings, isInvalid } = yield* Effect.promise(() => import("../findings.ts"))
      const text = yield* fromFile(file).read
      const problems = yield* findings({ name: file, text, env: process.env, home: process.env["HOME"] })
      if (problems.length > 0 || format === "json") yield* Console.log(formatProblems(format, problems))
      if (problems.length > 0 && format === "text") yield* Console.log(countOf(problems))
      if (isInvalid(problems) || (strict && problems.length > 0)) yield* exitWith(1)
      else if (format === "text") yield* Console.log("Configuration is valid!")
    }).pipe(orExit())
).pipe(Command.withDescription("Check a configuration file without starting anything."))
