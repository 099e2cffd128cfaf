/**
 * The JSON Schemas that the package carries: files in it, printed by `headgatectl schema`, and served by the admin interface
 * for editors.
 */
import type { Schema } from "effect"
import { editorSchema } from "../../../spec/generate/json-schema.ts"
import { TraceEvent } from "../../../spec/trace-events.ts"
import { language } from "../../check/check.ts"
import { type SchemaKind, schemaFile } from "./schema-kinds.ts"

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
