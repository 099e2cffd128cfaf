/**
 * The command-line tool as a whole: its commands, and how arguments reach them. Whoever asks for help waits for no engine: a
 * command loads what it does its work with when it is run.
 */
import { Effect } from "effect"
import { CliOutput, Command } from "effect/cli"
import { codesText, toolCodes } from "../exit-codes.ts"
import { version } from "../version.ts"
import { celCommand } from "./cel.ts"
import { configCommand } from "./config.ts"
import { diffCommand } from "./diff.ts"
import { doctorCommand } from "./doctor.ts"
import { fmtCommand } from "./fmt.ts"
import { graphCommand } from "./graph.ts"
import { logCommand } from "./log.ts"
import { migrateCommand } from "./migrate.ts"
import { withOperands } from "./operands.ts"
import { presenter } from "./presenter.ts"
import { readyCommand } from "./ready.ts"
import { schemaCommand } from "./schema.ts"
import { traceCommand } from "./trace.ts"
import { validateCommand } from "./validate.ts"
import { versionCommand } from "./version.ts"

const proxy = Command.make("proxy").pipe(
  Command.withDescription("Inspect a running proxy."),
  Command.withSubcommands([configCommand, logCommand, readyCommand, traceCommand])
)

/** The tool, with everything that it can do. */
export const tool = Command.make("headgatectl").pipe(
  Command.withDescription(
    `Inspects Headgate proxies and their configurations.\n\nExit codes:\n${codesText(toolCodes)}`
  ),
  Command.withSubcommands([
    proxy,
    celCommand,
    diffCommand,
    doctorCommand,
    fmtCommand,
    graphCommand,
    migrateCommand,
    schemaCommand,
    validateCommand,
    versionCommand
  ])
)

const run = (args: ReadonlyArray<string>) =>
  Effect.provideService(Command.runWith(tool, { version: version.version })(args), CliOutput.Presenter, presenter(args))

/** Runs the tool with the arguments of a command line. What stands behind `--` is not for the tool itself. */
export const headgatectl = (args: ReadonlyArray<string>) => withOperands(args, run)
