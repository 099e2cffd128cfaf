/** The wire shape of accessLog: what is logged of every request. */
import { Schema } from "effect"
import {
  CelExpression,
  calling,
  declared,
  defaulted,
  FieldExpressions,
  Fields,
  OtlpProtocol,
  object,
  optional,
  ShortString
} from "../../spec/policy.ts"

const OtlpLog = calling("OtlpAccessLog", "Sends the access log to a collector.", {
  filter: optional(CelExpression, "Which requests are sent; as the log when left out."),
  fields: optional(Fields, "Fields to add and to remove; as the log when left out."),
  protocol: defaulted(OtlpProtocol, "grpc", "The wire protocol towards the collector."),
  path: defaulted(Schema.String, "/v1/logs", "Path of the calls, over HTTP.")
})

const DatabaseLog = object("DatabaseAccessLog", "What of model requests goes into the database.", {
  llm: optional(
    Schema.Literals(["metadata", "full"]),
    "`metadata` leaves prompts and completions out, `full` keeps them."
  ),
  add: optional(FieldExpressions, "Attributes to add, each an expression.")
})

export const AccessLog = object("AccessLog", "What is logged of every request.", {
  filter: optional(CelExpression, "Which requests are logged; all when left out. A failure is no."),
  add: optional(FieldExpressions, "Fields to add, each an expression. One that fails is left out."),
  remove: optional(Schema.Array(ShortString), "Fields to remove."),
  otlp: optional(OtlpLog, "Sends the log to a collector as well."),
  database: optional(DatabaseLog, "What of model requests goes into the database."),
  preset: optional(Schema.Literal("otel"), "Name the fields by the semantic conventions of OpenTelemetry.")
})

export const accessLog = declared(AccessLog, { places: ["frontend"], alias: "logging", joins: { inherits: "otlp" } })
