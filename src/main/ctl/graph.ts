/** `headgatectl graph`: the graph of every route of a configuration file, as JSON or as Mermaid. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { configurationText, fromFile } from "../configuration/source.ts"
import { orExit } from "./failure.ts"
import { fileFlag, namedFile } from "./one-file.ts"

export const graphCommand = Command.make(
  "graph",
  {
    file: fileFlag,
    operand: Argument.String("file").pipe(
      Argument.optional,
      Argument.withDescription("The configuration file; - for standard input.")
    ),
    format: Flag.Literals("format", ["json", "mermaid"]).pipe(
      Flag.withDefault("json" as const),
      Flag.withDescription("JSON, or one Mermaid flow chart with a box for each route; default: json.")
    )
  },
  ({ file: flag, operand, format }) =>
    Effect.gen(function* () {
      const file = yield* namedFile("graph", flag, operand)
      const { graphsOf } = yield* Effect.promise(() => import("../configuration/offline.ts"))
      const { mermaid } = yield* Effect.promise(() => import("../../pipeline/graph.ts"))
      const source = fromFile(file)
      const graphs = yield* graphsOf(configurationText(source, yield* source.read))
      yield* Console.log(format === "mermaid" ? mermaid(graphs) : JSON.stringify(graphs, null, 2))
    }).pipe(orExit())
).pipe(
  Command.withDescription("Draw the graph of every route of a configuration."),
  Command.withExamples([{ command: "headgatectl graph --format mermaid config.yaml" }])
)
