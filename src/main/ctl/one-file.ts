/** The file of a command that takes it as an argument, as all do, and with `-f`. */
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { Unable } from "./failure.ts"

export const fileFlag = Flag.String("file").pipe(
  Flag.withAlias("f"),
  Flag.optional,
  Flag.withDescription("The file, as the argument.")
)

export const oneFile = (
  flag: Option.Option<string>,
  operand: Option.Option<string>
): Effect.Effect<Option.Option<string>, Unable> =>
  Option.isSome(flag) && Option.isSome(operand)
    ? Effect.fail(new Unable({ detail: "the file is named twice: as an argument, and with -f" }))
    : Effect.succeed(Option.orElse(operand, () => flag))

/** The same where one has to be named. */
export const namedFile = (
  command: string,
  flag: Option.Option<string>,
  operand: Option.Option<string>
): Effect.Effect<string, Unable> =>
  Effect.flatMap(
    oneFile(flag, operand),
    Option.match({
      onNone: () =>
        Effect.fail(new Unable({ detail: `which file? headgatectl ${command} config.yaml, or - for standard input` })),
      onSome: (file) => Effect.succeed(file)
    })
  )
