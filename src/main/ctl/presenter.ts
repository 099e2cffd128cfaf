/** How the tool speaks of its own command line: help to who asks for it, and to who slipped one line that says how to get it. */
import { Console, Effect } from "effect"
import { CliOutput } from "effect/cli"
import { didYouMean } from "../../../spec/config/nearest.ts"
import { exitWith } from "./failure.ts"

const { present } = CliOutput.defaultPresenter

const oneLine = (text: string) => text.trim().replace(/\s*\n\s*/g, " ")

/** @param args of the command line, in which a word that is no command may stand before `--help`. */
export const presenter = (args: ReadonlyArray<string>): CliOutput.Presenter => ({
  present: (event) => {
    if (event._tag === "Version") return present(event)
    const { commandPath, helpDoc } = event
    const path = commandPath.join(" ")
    const hint = `${path} --help shows what there is`
    if (event._tag === "InvalidInvocation")
      return Console.error([...event.errors.map(({ message }) => oneLine(message)), hint].join("\n"))
    const flags = args.findIndex((arg) => arg.startsWith("-"))
    const strange = (flags === -1 ? args : args.slice(0, flags))[commandPath.length - 1]
    const known = (helpDoc.subcommands ?? []).flatMap(({ commands }) => commands.map(({ name }) => name))
    if (known.length === 0 || strange === undefined) return present(event)
    const told = `Unknown command: ${path} ${strange}${didYouMean(strange, known)}`
    return Effect.andThen(Console.error(`${told}\n${hint}`), exitWith(1))
  }
})
