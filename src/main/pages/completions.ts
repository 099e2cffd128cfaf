/** What shells complete of the command lines of both programs, from what these say of themselves. */
import { Effect } from "effect"
import { Completions } from "effect/cli"
import { type ProxyOption, proxyOptions } from "../commands/options.ts"
import { commandsOf } from "../commands/root.ts"
import { tool } from "../ctl/root.ts"

/** How the file of a program is called where the shell looks for it. */
const fileNames = {
  bash: (program: string) => program,
  zsh: (program: string) => `_${program}`,
  fish: (program: string) => `${program}.fish`
} as const

const flagOf = ([name, { type, short, choices, meaning, value }]: readonly [
  string,
  ProxyOption
]): Completions.FlagDescriptor => ({
  name,
  aliases: short === undefined ? [] : [short],
  description: meaning,
  type:
    type === "boolean"
      ? { _tag: "Boolean" }
      : choices !== undefined
        ? { _tag: "Choice", values: choices }
        : value === "FILE"
          ? { _tag: "Path", pathType: "file" }
          : { _tag: "String" },
  // They are given or left out.
  negation: false
})

const programs = (): Readonly<Record<string, Completions.CommandDescriptor>> => {
  // One that is a letter alone has no long form to complete.
  const long = Object.entries<ProxyOption>(proxyOptions).filter(([name]) => name.length > 1)
  const proxy = Completions.fromCommand(commandsOf(() => Effect.void))
  return {
    headgate: { ...proxy, flags: [...long.map(flagOf), ...proxy.flags] },
    headgatectl: Completions.fromCommand(tool)
  }
}

/** Words on how to have a program print what is a file already. */
const installation = /^#\n# Installation:\n(?:#.*\n)*/m

/** Each file by the shell's name and its own. */
export const completions = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(programs()).flatMap(([program, described]) =>
      (Object.keys(fileNames) as ReadonlyArray<keyof typeof fileNames>).map((shell) => [
        `${shell}/${fileNames[shell](program)}`,
        `${Completions.generate(program, shell, described).replace(installation, "").trimEnd()}\n`
      ])
    )
  )
