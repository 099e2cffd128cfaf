/**
 * The JSON Schemas that the package carries: files in it, printed by `headgatectl schema`, and served by the admin interface
 * for editors.
 */
import type { Schema } from "effect"
import { editorSchema } from "../../spec/generate/json-schema.ts"
import { TraceEvent } from "../../spec/trace-events.ts"
import { language } from "./check.ts"

/** What there is a schema of, with what it describes. */
export const schemaKinds = {
  config: "the configuration file",
  "trace-event": "one event of a trace, as a line of `headgatectl proxy trace --raw`"
} as const

export type SchemaKind = keyof typeof schemaKinds

/** The name of a schema as a file and below the address of the admin interface. */
export const schemaFile = (kind: SchemaKind): string => `${kind}.schema.json`

const sources: Readonly<Record<SchemaKind, () => Schema.Top>> = {
  config: () => language.schema,
  "trace-event": () => TraceEvent
}

const written = new Map<SchemaKind, string>()

/** A JSON Schema (2020-12) as text; made once. */
export const jsonSchema = (kind: SchemaKind): string => {
  let text = written.get(kind)
  if (text === undefined) {
    const id = `https://headgate.dev/${schemaFile(kind)}`
    text = `${JSON.stringify(editorSchema(sources[kind](), id), null, 2)}\n`
    written.set(kind, text)
  }
  return text
}
