/** `headgatectl proxy log`: reads or changes the log level of a running proxy. */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { nearest } from "../../../spec/config/nearest.ts"
import { askAdmin } from "../admin/client.ts"
import { adminAddress, adminPort } from "./admin-address.ts"
import { orExit, Unable } from "./failure.ts"

/** What log lines are filed under. Others may be set too: a policy of one's own may log under its name. */
const targets = ["proxy", "request", "llm", "mcp", "jwks"]

export const logCommand = Command.make(
  "log",
  {
    adminPort: adminPort.pipe(Flag.withAlias("p")),
    level: Flag.String("level").pipe(
      Flag.optional,
      Flag.withDescription("The level of everything: off, error, warn, info, debug or trace.")
    ),
    set: Flag.String("set").pipe(
      Flag.atLeast(0),
      Flag.withDescription("The level of one target, as request=debug; may be given several times.")
    ),
    reset: Flag.Boolean("reset").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Go back to the levels of the start, before anything else is changed.")
    )
  },
  ({ adminPort, level, set, reset }) =>
    Effect.gen(function* () {
      if (Option.isSome(level) && set.length > 0)
        return yield* new Unable({ detail: "--level and --set exclude each other" })
      for (const directive of set) {
        const target = /^([^=:]+)[=:]/.exec(directive)?.[1]
        const meant = target === undefined || targets.includes(target) ? undefined : nearest(target, targets)
        if (meant !== undefined)
          return yield* new Unable({ detail: `there is no log target ${target}; did you mean ${meant}?` })
      }
      const wanted = Option.isSome(level) ? level.value : set.join(",")
      const query = new URLSearchParams({
        ...(reset ? { reset: "" } : {}),
        ...(wanted === "" ? {} : { level: wanted })
      })
      const answer = yield* askAdmin(yield* adminAddress(adminPort), "POST", `/logging?${query}`)
      yield* Console.log(String(answer).trimEnd())
    }).pipe(orExit())
).pipe(
  Command.withDescription("Show the log level of a running proxy, or change it."),
  Command.withExamples([
    { command: "headgatectl proxy log", description: "Show the level" },
    { command: "headgatectl proxy log --set request=debug --set mcp=trace" },
    { command: "headgatectl proxy log --level info" },
    { command: "headgatectl proxy log --reset", description: "As it was at the start" }
  ])
)
