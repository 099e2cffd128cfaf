/** Text that may stand in the configuration itself or in a file; and credentials, which decode to `Redacted`. */
import { Redacted, Schema, SchemaTransformation } from "effect"
import { object, required } from "./field.ts"
import { LongString } from "./primitives.ts"

/** Lets text decode to `Redacted`, which no log, dump or error can print. */
export const redacted = (text: Schema.Codec<string>) =>
  text
    .annotate({ secret: true })
    .pipe(
      Schema.decodeTo(
        Schema.Redacted(Schema.String),
        SchemaTransformation.transform({ decode: (value: string) => Redacted.make(value), encode: Redacted.value })
      )
    )

/** A credential. Written out in a file, it is a lint finding. */
export const Secret = redacted(
  Schema.String.check(Schema.isMinCodePoints(1, { expected: "a value that is not empty" })).annotate({
    identifier: "Secret",
    description: "A credential; it is never printed.",
    credential: true
  })
)

/** The content of a file, by its path. */
export const FileReference = object("FileReference", "The content of a file.", {
  file: required(
    LongString,
    "Path of the file. A relative path starts at the folder of the configuration file or, where nothing is there, at the working directory of the proxy."
  )
})

/** The text itself or `{ file }`. */
export const FileOrInline = Schema.Union([Schema.String, FileReference]).annotate({
  identifier: "FileOrInline",
  description: "The text itself, or `file`."
})

/** The credential itself or `{ file }`, read when the configuration is. White space around it is not part of it. */
export const SecretFileOrInline = Schema.Union([Secret, FileReference]).annotate({
  identifier: "SecretFileOrInline",
  description: "The credential itself, or `file`."
})

/** Any value that JSON can hold. */
export const Json = Schema.Json.annotate({ identifier: "Json", description: "Any JSON value." })

/** An object of any content. */
export const JsonObject = Schema.Record(Schema.String, Schema.Json).annotate({
  identifier: "JsonObject",
  description: "An object of any content."
})
/** One whose members nobody has looked at yet. */
export type JsonObject = { readonly [key: string]: unknown }
