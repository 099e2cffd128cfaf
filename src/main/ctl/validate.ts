/** `headgatectl validate`: every problem of a configuration file, what in it is not available yet, and what is doubtful. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { countOf, formatProblems, problemFormats } from "../../../spec/config/problem.ts"
import { configurationText, fromFile } from "../configuration/source.ts"
import { exitWith, orExit } from "./failure.ts"
import { fileFlag, namedFile } from "./one-file.ts"

export const validateCommand = Command.make(
  "validate",
  {
    file: fileFlag,
    operand: Argument.String("file").pipe(
      Argument.optional,
      Argument.withDescription("The configuration file; - for standard input.")
    ),
    format: Flag.Literals("format", problemFormats).pipe(
      Flag.withDefault("text" as const),
      Flag.withDescription("How problems are printed; default: text.")
    ),
    strict: Flag.Boolean("strict").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Fail for warnings as for errors.")
    )
  },
  ({ file: flag, operand, format, strict }) =>
    Effect.gen(function* () {
      const file = yield* namedFile("validate", flag, operand)
      const { findings, verdict } = yield* Effect.promise(() => import("../configuration/findings.ts"))
      const source = fromFile(file)
      const problems = yield* findings(configurationText(source, yield* source.read))
      if (problems.length > 0 || format === "json") yield* Console.log(formatProblems(format, problems))
      if (problems.length > 0 && format === "text") yield* Console.log(countOf(problems))
      const { said, exitCode } = verdict(problems)
      const refused = strict && problems.length > 0
      if (said !== undefined && format === "text" && !refused) yield* Console.log(said)
      yield* exitWith(refused ? 1 : exitCode)
    }).pipe(orExit())
).pipe(
  Command.withDescription(
    "Check a configuration file without starting anything. Exits with 0 when it is valid, 1 when not, 3 when it is valid but this build cannot serve all of it."
  ),
  Command.withExamples([
    { command: "headgatectl validate config.yaml", description: "Everything that is wrong, or doubtful" },
    { command: "headgatectl validate --strict --format github config.yaml", description: "For a review of changes" }
  ])
)
