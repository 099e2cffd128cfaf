/** The reference page of the commands of both programs, from what they say of themselves. */
import { NodeServices } from "@effect/platform-node"
import { Console, Effect, type Layer, Option } from "effect"
import { CliOutput, type HelpDoc } from "effect/cli"
import { headgate } from "../commands/root.ts"
import { headgatectl } from "../ctl/root.ts"

/** A program, run with the words of a command line. */
type Program = (args: ReadonlyArray<string>) => Effect.Effect<void, unknown, Layer.Success<typeof NodeServices.layer>>

/** The programs by their names. Nobody serves while help is asked for. */
const programs = { headgate: (args) => headgate(args, () => Effect.void), headgatectl } satisfies Record<
  string,
  Program
>

/** A command as it is typed. */
export type Path = readonly [keyof typeof programs, ...ReadonlyArray<string>]

/** What `--help` of a command would show. */
const helpOf = ([program, ...path]: Path): HelpDoc.HelpDoc => {
  const found: Array<HelpDoc.HelpDoc> = []
  const keep: CliOutput.Formatter = {
    ...CliOutput.defaultFormatter({ colors: false }),
    formatHelpDoc: (doc) => {
      found.push(doc)
      return ""
    }
  }
  const silent: Console.Console = { ...globalThis.console, log: () => {} }
  Effect.runSync(
    (programs[program] as Program)([...path, "--help"]).pipe(
      Effect.provide([NodeServices.layer, CliOutput.layer(keep)]),
      Effect.provideService(Console.Console, silent)
    )
  )
  const [help] = found
  if (help === undefined) throw new Error(`${program} ${path.join(" ")} has no help`)
  return help
}

/** Every command with its help, those below it behind it. */
export const commands = (path: Path): ReadonlyArray<{ readonly path: Path; readonly help: HelpDoc.HelpDoc }> => {
  const help = helpOf(path)
  const below = (help.subcommands ?? []).flatMap((group) => group.commands.map(({ name }) => name))
  // What has flags does something by itself, with other commands as its words.
  if (below.length === 0 || help.flags.length > 0) return [{ path, help }]
  return below.flatMap((name) => commands([...path, name]))
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ")
const words = (text: Option.Option<string>) => cell(Option.getOrElse(text, () => ""))

const section = (path: Path, { description, usage, args = [], flags }: HelpDoc.HelpDoc): string => {
  const rows = [
    ...args.map(({ name, description, required }) => [`\`${name}\``, required ? "yes" : "", words(description)]),
    ...flags.map(({ name, aliases, type, description, required }) => [
      `\`${[`--${name.replace(/^--/, "")}`, ...aliases].join(", ")}\`${type === "boolean" ? "" : ` ${cell(type)}`}`,
      required ? "yes" : "",
      words(description)
    ])
  ]
  return [
    `## ${path.join(" ")}`,
    cell(description),
    `\`\`\`sh\n${usage}\n\`\`\``,
    ...(rows.length === 0
      ? []
      : [
          ["| Argument | Required | Meaning |", "|---|---|---|", ...rows.map((row) => `| ${row.join(" | ")} |`)].join(
            "\n"
          )
        ])
  ].join("\n\n")
}

/** Every command of the tool, as it is typed behind its name. */
export const commandNames = (): ReadonlyArray<string> =>
  commands(["headgatectl"]).map(({ path: [, ...words] }) => words.join(" "))

const sections = (program: keyof typeof programs) => commands([program]).map(({ path, help }) => section(path, help))

export const commandsPage = (): string =>
  `${[
    "# Commands",
    "Every error is one message on standard error, and exit code 1 where the command names no other; all codes are on [their page](exit-codes.md).",
    "What `headgate` does but for serving a file, which is `headgate -f FILE`. Each of `llm`, `mcp` and `http` serves one thing on this machine alone, and prints the file that it stands for.",
    ...sections("headgate"),
    "# The tool",
    "The commands of `headgatectl`.",
    ...sections("headgatectl")
  ].join("\n\n")}\n`
