/** `headgatectl version`: the version of the tool, on one line. */
import { Console } from "effect"
import { Command } from "effect/cli"
import { version } from "../version.ts"

export const versionCommand = Command.make("version", {}, () => Console.log(version.version)).pipe(
  Command.withDescription("Print the version.")
)
