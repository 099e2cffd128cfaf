/** The wire shape of directResponse: an answer without a backend. */
import { Schema } from "effect"
import {
  Bytes,
  CelExpression,
  declared,
  exclusive,
  HeaderName,
  object,
  optional,
  required,
  StatusCode
} from "../../spec/policy.ts"

export const DirectResponse = object(
  "DirectResponse",
  "Answers without a backend. It runs last, after authentication and limits; with `conditional` and `random()` it injects faults.",
  {
    status: required(StatusCode, "The status of the answer."),
    body: optional(Bytes, "The body of the answer."),
    bodyExpression: optional(
      CelExpression,
      "The body as an expression: strings and bytes as they are, anything else as JSON. A failure answers 500."
    ),
    headers: optional(
      Schema.Record(HeaderName, CelExpression),
      "Headers of the answer, each an expression. One that fails is left out."
    )
  },
  exclusive("body", "bodyExpression")
)

export const directResponse = declared(DirectResponse, {
  places: ["route"],
  conditional: true,
  answers: true,
  judgesPaths: () => true
})
