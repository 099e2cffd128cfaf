/** `migrate`: writes a configuration file without forms that others have replaced. A command of both programs. */
import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { formatText } from "../../../spec/config/problem.ts"
import { configurationText, fromFile } from "../configuration/source.ts"
import { orExit, Unable } from "./failure.ts"
import { findingText } from "./finding.ts"
import { fileFlag, namedFile } from "./one-file.ts"
import { replaceFile } from "./replace-file.ts"

export const migrateCommand = Command.make(
  "migrate",
  {
    file: fileFlag,
    operand: Argument.String("file").pipe(
      Argument.optional,
      Argument.withDescription("The file, which is changed; - for standard input, which is printed.")
    )
  },
  ({ file: flag, operand }) =>
    Effect.gen(function* () {
      const source = fromFile(yield* namedFile("migrate", flag, operand))
      const [{ check }, { migrate }] = yield* Effect.promise(() =>
        Promise.all([import("../../check/check.ts"), import("./migration.ts")])
      )
      const given = configurationText(source, yield* source.read)
      const { config, problems } = check(given)
      if (config === undefined)
        return yield* new Unable({ detail: formatText(problems.filter(({ severity }) => severity === "error")) })
      const { text, findings } = migrate(given)
      for (const finding of findings) yield* Console.error(findingText(finding))
      if (source.file === undefined) return yield* Effect.sync(() => void process.stdout.write(text))
      if (text === given.text) return yield* Console.log(`Nothing to migrate: ${source.file}`)
      yield* replaceFile(source.file, text)
      yield* Console.log(`Migrated config: ${source.file}`)
    }).pipe(orExit())
).pipe(
  Command.withDescription(
    "Write a configuration file without deprecated forms; all the rest of it stays as it is written. Standard error tells what became of each: exact (written anew, and means the same) or manual (left as it is, with the reason)."
  ),
  Command.withExamples([
    { command: "headgatectl migrate config.yaml", description: "Change the file" },
    { command: "headgatectl migrate - < old.yaml > new.yaml" }
  ])
)
