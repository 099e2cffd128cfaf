/** `headgatectl graph`: the graph of every route of a configuration file, as JSON or as Mermaid. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { fromFile } from "../configuration-source.ts"
import { orExit } from "./failure.ts"

export const graphCommand = Command.make(
  "graph",
  {
    file: Flag.String("file").pipe(Flag.withAlias("f"), Flag.withDescription("The configuration file.")),
    format: Flag.Literals("format", ["json", "mermaid"]).pipe(
      Flag.withDefault("json" as const),
      Flag.withDescription("JSON, or a Mermaid flow chart for each route.")
    )
  },
  ({ file, format }) =>
    Effect.gen(function* () {
      const { graphsOf } = yield* Effect.promise(() => import("../offline.ts"))
      const { mermaid } = yield* Effect.promise(() => import("../../pipeline/graph.ts"))
      const text = yield* fromFile(file).read
      const graphs = yield* graphsOf({ name: file, text, env: process.env, home: process.env["HOME"] })
      yield* Console.log(format === "mermaid" ? graphs.map(mermaid).join("\n") : JSON.stringify(graphs, null, 2))
    }).pipe(orExit())
).pipe(Command.withDescription("Draw the graph of every route of a configuration."))
