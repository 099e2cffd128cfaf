/** `headgatectl schema`: the JSON Schema of the configuration file, or of another thing that the package describes. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { type SchemaKind, schemaKinds } from "../configuration/schema-kinds.ts"

const kinds = Object.keys(schemaKinds) as ReadonlyArray<SchemaKind>

export const schemaCommand = Command.make(
  "schema",
  {
    kind: Flag.Literals("kind", kinds).pipe(
      Flag.withDefault("config" as const),
      Flag.withDescription(
        `What it describes: ${kinds.map((kind) => `${kind}, ${schemaKinds[kind]}`).join("; ")}; default: config.`
      )
    )
  },
  ({ kind }) =>
    Effect.gen(function* () {
      const { jsonSchema } = yield* Effect.promise(() => import("../configuration/json-schemas.ts"))
      yield* Console.log(jsonSchema(kind).trimEnd())
    })
).pipe(
  Command.withDescription("Print a JSON Schema (2020-12), for editors and other programs."),
  Command.withExamples([{ command: "headgatectl schema > config.schema.json" }])
)
