/** `headgatectl graph`: the graph of every route of a configuration file, as JSON or as Mermaid. */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { fromFile } from "../configuration-source.ts"
import { orExit, Unable } from "./failure.ts"
import { oneFile } from "./one-file.ts"

export const graphCommand = Command.make(
  "graph",
  {
    file: Flag.String("file").pipe(
      Flag.withAlias("f"),
      Flag.optional,
      Flag.withDescription("The file, as the argument.")
    ),
    operand: Argument.String("file").pipe(
      Argument.optional,
      Argument.withDescription("The configuration file; - for standard input.")
    ),
    format: Flag.Literals("format", ["json", "mermaid"]).pipe(
      Flag.withDefault("json" as const),
      Flag.withDescription("JSON, or one Mermaid flow chart with a box for each route.")
    )
  },
  ({ file: flag, operand, format }) =>
    Effect.gen(function* () {
      const named = yield* oneFile(flag, operand)
      if (Option.isNone(named))
        return yield* new Unable({ detail: "which file? headgatectl graph config.yaml, or - for standard input" })
      const file = named.value
      const { graphsOf } = yield* Effect.promise(() => import("../offline.ts"))
      const { mermaid } = yield* Effect.promise(() => import("../../pipeline/graph.ts"))
      const text = yield* fromFile(file).read
      const graphs = yield* graphsOf({ name: file, text, env: process.env, home: process.env["HOME"] })
      yield* Console.log(format === "mermaid" ? mermaid(graphs) : JSON.stringify(graphs, null, 2))
    }).pipe(orExit())
).pipe(Command.withDescription("Draw the graph of every route of a configuration."))
