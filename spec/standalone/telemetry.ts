/** What logs and traces carry: fields to add and remove, sampling, and the deprecated telemetry settings of `config`. */
import { Schema } from "effect"
import { object, optional } from "../field.ts"
import { CelExpression, ShortString } from "../primitives.ts"

/** Expressions by the name of the field that they fill. */
export const FieldExpressions = Schema.Record(Schema.String, CelExpression)

/** Fields to add and to remove. */
export const Fields = object("Fields", "Fields to add and to remove.", {
  add: optional(FieldExpressions, "Fields to add, each an expression. One that fails is left out."),
  remove: optional(Schema.Array(ShortString), "Fields to remove.")
})

/** Whether to sample: a boolean, a share, or an expression that yields one of them. */
export const Sampling = Schema.Union([
  Schema.Boolean,
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }, { expected: "a share between 0 and 1" })),
  CelExpression
]).annotate({
  identifier: "Sampling",
  description: "A boolean, a share from 0 to 1, or an expression that yields one of them."
})

/** The wire protocol of OpenTelemetry. */
export const OtlpProtocol = Schema.Literals(["grpc", "http"]).annotate({
  identifier: "OtlpProtocol",
  description: "The wire protocol towards the collector."
})
