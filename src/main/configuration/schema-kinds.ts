/** What the package has JSON Schemas of, and what they are called: to be told without making one. */

/** What there is a schema of, with what it describes. */
export const schemaKinds = {
  config: "the configuration file",
  "trace-event": "one event of a trace, as a line of `headgatectl proxy trace --raw`"
} as const

export type SchemaKind = keyof typeof schemaKinds

/** The name of a schema as a file and below the address of the admin interface. */
export const schemaFile = <K extends SchemaKind>(kind: K): `${K}.schema.json` => `${kind}.schema.json`
