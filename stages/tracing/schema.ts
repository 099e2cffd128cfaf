/** The wire shape of tracing: spans for a collector. */
import { Schema } from "effect"
import {
  CelExpression,
  calling,
  declared,
  defaulted,
  FieldExpressions,
  OtlpProtocol,
  optional,
  Sampling,
  ShortString
} from "../../spec/policy.ts"

export const Tracing = calling("Tracing", "Sends spans of sampled requests to a collector.", {
  attributes: optional(FieldExpressions, "Attributes of spans to add, each an expression."),
  resources: optional(FieldExpressions, "Attributes of the resource to add, each an expression."),
  remove: optional(Schema.Array(ShortString), "Attributes to remove."),
  randomSampling: optional(Sampling, "Whether requests without a trace start one; no when left out."),
  clientSampling: optional(Sampling, "Whether the traces of clients are continued; yes when left out."),
  filter: optional(CelExpression, "Which requests are sent, decided at their end. A failure is no."),
  path: defaulted(Schema.String, "/v1/traces", "Path of the calls, over HTTP."),
  protocol: defaulted(OtlpProtocol, "grpc", "The wire protocol towards the collector.")
})

export const tracing = declared(Tracing, { places: ["frontend"] })
