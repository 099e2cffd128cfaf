/** The commands of `headgate` beside serving a file: loaded only when one of them is typed. */
import { Effect } from "effect"
import { CliOutput, Command } from "effect/cli"
import { exitWith, orExit } from "../ctl/failure.ts"
import { migrateCommand } from "../ctl/migrate.ts"
import { withOperands } from "../ctl/operands.ts"
import { presenter } from "../ctl/presenter.ts"
import { codesText, proxyCodes } from "../exit-codes.ts"
import { version } from "../version.ts"
import { httpCommand } from "./http.ts"
import { importCommand } from "./import.ts"
import { initCommand } from "./init.ts"
import { llmCommand } from "./llm.ts"
import { mcpCommand } from "./mcp.ts"
import { oneshotCommand } from "./oneshot.ts"
import { type Serve, serving } from "./serving.ts"
import type { Starter } from "./starter.ts"

/** The commands, with what serves for them. */
export const commandsOf = (serve: Serve) => {
  const served = (starter: Starter) => orExit()(serving(serve)(starter))
  return Command.make("headgate").pipe(
    Command.withDescription(`Serves a file, or one thing without a file.\n\nExit codes:\n${codesText(proxyCodes)}`),
    Command.withSubcommands([
      llmCommand(served),
      mcpCommand(served),
      httpCommand(served),
      initCommand,
      importCommand,
      migrateCommand,
      oneshotCommand
    ])
  )
}

/** Runs a command. What stands behind `--` is for whoever is started by it. */
export const headgate = (args: ReadonlyArray<string>, serve: Serve) =>
  withOperands(args, (own) =>
    Command.runWith(commandsOf(serve), { version: version.version })(own).pipe(
      Effect.provideService(CliOutput.Presenter, presenter(own)),
      // What is wrong with the words was told by then.
      Effect.catch(() => exitWith(1))
    )
  )
