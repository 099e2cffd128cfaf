/** `headgatectl validate`: every problem of a configuration file, what in it is not available yet, and what is doubtful. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { formatGithub, formatJson, formatText, type Problem } from "../../../spec/config/problem.ts"
import { schemas } from "../../../stages/schemas.ts"
import { lint } from "../../routing/lint/lint.ts"
import { reader } from "../../routing/read.ts"
import { check } from "../check.ts"
import { fromFile } from "../configuration-source.ts"
import { graphsOf } from "../offline.ts"

const readFile = reader(schemas)

const isError = ({ severity }: Problem) => severity === "error"

const formats = { text: formatText, json: formatJson, github: formatGithub } as const

export const validateCommand = Command.make(
  "validate",
  {
    file: Argument.String("file").pipe(Argument.withDescription("The configuration file; - for standard input.")),
    format: Flag.Literals("format", ["text", "json", "github"]).pipe(
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
      const text = yield* fromFile(file).read
      const source = { name: file, text, env: process.env, home: process.env["HOME"] }
      const written = check(source).problems
      const doubtful = readFile(source)
      const warnings = doubtful.ok ? [...written, ...lint(doubtful.value)] : written
      // What is written well may still ask for what this build does not have: only compiling tells.
      const problems = written.some(isError)
        ? written
        : yield* Effect.match(graphsOf(source), {
            onFailure: (invalid) => [...invalid.problems, ...warnings],
            onSuccess: () => warnings
          })
      if (problems.length > 0 || format === "json") yield* Console.log(formats[format](problems))
      if (problems.some((problem) => strict || isError(problem))) process.exitCode = 1
      else if (format === "text") yield* Console.log("Configuration is valid!")
    }).pipe(
      Effect.catch((error) =>
        Effect.andThen(
          Console.error(error.message),
          Effect.sync(() => {
            process.exitCode = 1
          })
        )
      )
    )
).pipe(Command.withDescription("Check a configuration file without starting anything."))
