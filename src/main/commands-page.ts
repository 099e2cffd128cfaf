/** The reference page of the command-line tool, from what its commands say of themselves. */
import { NodeServices } from "@effect/platform-node"
import { Console, Effect, Option } from "effect"
import { CliOutput, type HelpDoc } from "effect/cli"
import { headgatectl } from "./ctl/root.ts"

/** What `--help` of a command would show. */
const helpOf = (path: ReadonlyArray<string>): HelpDoc.HelpDoc => {
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
    headgatectl([...path, "--help"]).pipe(
      Effect.provide([NodeServices.layer, CliOutput.layer(keep)]),
      Effect.provideService(Console.Console, silent)
    )
  )
  const [help] = found
  if (help === undefined) throw new Error(`headgatectl ${path.join(" ")} has no help`)
  return help
}

/** Every command with its help, those below it behind it. */
const commands = (
  path: ReadonlyArray<string>
): ReadonlyArray<{ readonly path: ReadonlyArray<string>; readonly help: HelpDoc.HelpDoc }> => {
  const help = helpOf(path)
  const below = (help.subcommands ?? []).flatMap((group) => group.commands.map(({ name }) => name))
  return below.length === 0 ? [{ path, help }] : below.flatMap((name) => commands([...path, name]))
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ")
const words = (text: Option.Option<string>) => cell(Option.getOrElse(text, () => ""))

const section = (path: ReadonlyArray<string>, { description, usage, args = [], flags }: HelpDoc.HelpDoc): string => {
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

/** Every command, as it is typed. */
export const commandNames = (): ReadonlyArray<string> => commands([]).map(({ path }) => path.join(" "))

export const commandsPage = (): string =>
  `${[
    "# Commands",
    "The commands of `headgatectl`. Every error is one message on standard error, and exit code 1 where the command names no other; all codes are on [their page](exit-codes.md).",
    ...commands([]).map(({ path, help }) => section(path, help))
  ].join("\n\n")}\n`
