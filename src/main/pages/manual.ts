/** The manual pages of both programs, from what they say of themselves. */
import { Option } from "effect"
import type { HelpDoc } from "effect/cli"
import { proxyExamples, proxyOptionRows } from "../commands/options.ts"
import { type codesText, proxyCodes, toolCodes } from "../exit-codes.ts"
import { commands, type Path } from "./commands.ts"

/** Text in which nothing is an instruction, and a hyphen is one that can be copied. */
const roff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("…", "...")
    .replaceAll(/^([.'])/gm, "\\&$1")

/** The same, broken between words, since what formats it fills the lines anyway. */
const filled = (text: string): string => roff(text.replaceAll(/(?=\S)(.{1,76})(?:\s+|$)/g, "$1\n").trimEnd())

const heading = (name: string): string => `.SH ${name.toUpperCase()}`
const tagged = (left: string, right: string): string => `.TP\n.B ${roff(left)}\n${filled(right)}`
const plain = (text: string): string => `.nf\n${roff(text)}\n.fi`
const textOf = (text: Option.Option<string>): string => Option.getOrElse(text, () => "")

const command = (path: Path, { description, usage, args = [], flags, examples = [] }: HelpDoc.HelpDoc): string =>
  [
    `.SS ${roff(path.join(" "))}`,
    plain(usage),
    ".PP",
    filled(description),
    ...args.map(({ name, description }) => tagged(name, textOf(description))),
    ...flags.map(({ name, aliases, type, description }) =>
      tagged(
        `${[`--${name.replace(/^--/, "")}`, ...aliases].join(", ")}${type === "boolean" ? "" : ` ${type}`}`,
        textOf(description)
      )
    ),
    ...(examples.length === 0 ? [] : [".PP", plain(examples.map((example) => `$ ${example.command}`).join("\n"))])
  ].join("\n")

interface Page {
  readonly program: Path[0]
  readonly summary: string
  readonly synopsis: ReadonlyArray<string>
  readonly description: string
  readonly sections: ReadonlyArray<string>
  readonly codes: Parameters<typeof codesText>[0]
  readonly other: string
}

const page = ({ program, summary, synopsis, description, sections, codes, other }: Page): string =>
  `${[
    `.TH ${program.toUpperCase()} 1 "" Headgate`,
    heading("name"),
    `${program} \\- ${roff(summary)}`,
    heading("synopsis"),
    plain(synopsis.join("\n")),
    heading("description"),
    filled(description),
    ...sections,
    heading("commands"),
    ...commands([program]).map(({ path, help }) => command(path, help)),
    heading("exit status"),
    ...codes.map(({ code, meaning }) => tagged(String(code), meaning)),
    heading("see also"),
    `.BR ${other} (1)`
  ].join("\n")}\n`

/** Each page by the name of its file. */
export const manualPages = (): Readonly<Record<string, string>> => ({
  "headgate.1": page({
    program: "headgate",
    summary: "a gateway for MCP servers, LLM providers, A2A agents and plain HTTP",
    synopsis: ["headgate [options]", "headgate command ..."],
    description:
      "Serves what one file says, in the foreground, until it is told to end; or, by a command, one thing without a file.",
    sections: [
      heading("options"),
      ...proxyOptionRows().map(([typed, meaning]) => tagged(typed, meaning)),
      heading("signals"),
      tagged("SIGHUP", "reads the configuration anew; when the terminal is gone, ends as by SIGTERM"),
      tagged("SIGTERM, SIGINT", "takes no more requests, ends those that it has, and exits; once more: exits at once"),
      heading("examples"),
      ...proxyExamples.map(([example, meaning]) => tagged(example, meaning))
    ],
    codes: proxyCodes,
    other: "headgatectl"
  }),
  "headgatectl.1": page({
    program: "headgatectl",
    summary: "inspects Headgate proxies and their configurations",
    synopsis: ["headgatectl command ..."],
    description: "Traces requests of a running proxy, and shows what a configuration means.",
    sections: [],
    codes: toolCodes,
    other: "headgate"
  })
})
