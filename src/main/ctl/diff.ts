/** `headgatectl diff`: what changes from one configuration file to another, by what they mean. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { formatText } from "../../../spec/config/problem.ts"
import { fromFile, homeOf } from "../configuration/source.ts"
import type { Difference, FieldChange, Side } from "./differences.ts"
import { exitWith, orExit, Unable } from "./failure.ts"
import { printable } from "./printable.ts"

const file = (name: string, description: string) => Argument.String(name).pipe(Argument.withDescription(description))

export const diffCommand = Command.make(
  "diff",
  {
    older: file("old", "The configuration file as it was; - for standard input."),
    newer: file("new", "The configuration file as it shall be."),
    format: Flag.Literals("format", ["text", "json"]).pipe(
      Flag.withDefault("text" as const),
      Flag.withDescription("How differences are printed; default: text.")
    )
  },
  ({ older, newer, format }) =>
    Effect.gen(function* () {
      const { differences } = yield* Effect.promise(() => import("./differences.ts"))
      if (older === "-" && newer === "-")
        return yield* new Unable({ detail: "only one of the two can be standard input" })
      const found = differences(yield* sideOf(older), yield* sideOf(newer))
      if (format === "json") yield* Console.log(JSON.stringify(found, null, 2))
      else if (found.length > 0) yield* Console.log(found.map(text).join("\n"))
      if (found.length > 0) yield* exitWith(1)
    }).pipe(orExit(2))
).pipe(
  Command.withDescription(
    "Show what changes from one configuration file to another. Exits with 0 when both mean the same, 1 when not, 2 when one is invalid."
  ),
  Command.withExamples([{ command: "git show HEAD:config.yaml | headgatectl diff - config.yaml" }])
)

const sideOf = (name: string) =>
  Effect.gen(function* () {
    const { check } = yield* Effect.promise(() => import("../../check/check.ts"))
    const text = yield* fromFile(name).read
    const { config, positions, hidden, problems } = check({ name, text, env: process.env, home: homeOf(process.env) })
    if (config === undefined || positions === undefined) return yield* new Unable({ detail: formatText(problems) })
    const side: Side = { config, positions, hidden }
    return side
  })

const signs = { added: "+", removed: "-", changed: "~" } as const

const text = ({ change, kind, key, old, new: now, fields = [] }: Difference): string => {
  const places = [old, now].flatMap((place) =>
    place === undefined ? [] : [`${place.file}:${place.line}:${place.column}`]
  )
  return [`${signs[change]} ${kind} ${key}  ${places.join(" -> ")}`, ...fields.map(field)].map(printable).join("\n")
}

const field = (change: FieldChange): string => {
  const was = "old" in change ? JSON.stringify(change.old) : undefined
  const is = "new" in change ? JSON.stringify(change.new) : undefined
  const what = was === undefined ? `+ ${is}` : is === undefined ? `- ${was}` : `${was} -> ${is}`
  return `    ${change.path === "" ? "" : `${change.path}: `}${what}`
}
