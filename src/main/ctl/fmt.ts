/** `headgatectl fmt`: writes a configuration file in its canonical form, or says whether it is in it. */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { format } from "../../../spec/config/format.ts"
import { shapeOf } from "../../../spec/config/shape.ts"
import { source } from "../../../spec/config/source.ts"
import { fromFile } from "../configuration/source.ts"
import { exitWith, orExit, Unable } from "./failure.ts"
import { fileFlag, oneFile } from "./one-file.ts"
import { replaceFile } from "./replace-file.ts"

export const fmtCommand = Command.make(
  "fmt",
  {
    file: fileFlag,
    operand: Argument.String("file").pipe(
      Argument.optional,
      Argument.withDescription(
        "The file, which is changed; - for standard input, which is printed, as when it is left out."
      )
    ),
    check: Flag.Boolean("check").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Change nothing; fail when the file is not in its canonical form.")
    )
  },
  ({ file: flag, operand, check }) =>
    Effect.gen(function* () {
      const file = Option.getOrElse(yield* oneFile(flag, operand), () => "-")
      if (file === "-" && process.stdin.isTTY)
        yield* Console.error(
          "fmt reads standard input until Ctrl-D; a file is an argument: headgatectl fmt config.yaml"
        )
      const { language } = yield* Effect.promise(() => import("../../check/check.ts"))
      const { name, read, file: written } = fromFile(file)
      const text = yield* read
      const formatted = format(text, shapeOf(language.schema.ast))
      if (!formatted.ok)
        return yield* new Unable({
          detail: formatted.problems
            .map(({ start, message }) => {
              const { line, column } = source(text).position(start)
              return `${name}:${line}:${column}: ${message}`
            })
            .join("\n")
        })
      if (check) {
        if (formatted.text === text) return
        yield* Console.log(name)
        yield* exitWith(1)
      } else if (written === undefined) yield* Effect.sync(() => process.stdout.write(formatted.text))
      else if (formatted.text !== text) yield* replaceFile(written, formatted.text)
    }).pipe(orExit())
).pipe(
  Command.withDescription(
    "Write a configuration file in its canonical form: keys in the order of the reference, comments kept."
  ),
  Command.withExamples([
    { command: "headgatectl fmt config.yaml", description: "Change the file" },
    { command: "headgatectl fmt --check config.yaml", description: "For a review of changes" },
    { command: "headgatectl fmt < old.yaml > new.yaml" }
  ])
)
