/** Changes of a message that are computed by expressions. */
import { Schema } from "effect"
import { object, optional } from "../field.ts"
import { CelExpression } from "../primitives.ts"

const FieldName = Schema.String.check(
  Schema.isPattern(/^(?::(?:method|path|authority|scheme|status)|[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256})$/u, {
    expected: "a header name, or :method, :path, :authority, :scheme or :status"
  })
).annotate({
  identifier: "FieldName",
  description: "A header name, or `:method`, `:path`, `:authority`, `:scheme` of a request, `:status` of an answer."
})

const Transform = object(
  "Transform",
  "Changes of one message, in the order metadata, replace, add, set, remove, body.",
  {
    metadata: optional(
      Schema.Record(Schema.String, CelExpression),
      "Values for later expressions, readable as `metadata.<key>`. One that fails is left out."
    ),
    replace: optional(CelExpression, "All headers as one map. A failure leaves them as they are."),
    add: optional(
      Schema.Record(FieldName, CelExpression),
      "Headers to add. One whose expression fails is removed, so that a client cannot smuggle it in."
    ),
    set: optional(
      Schema.Record(FieldName, CelExpression),
      "Headers to set. One whose expression fails is removed, so that a client cannot smuggle it in."
    ),
    remove: optional(Schema.Array(FieldName), "Headers to remove."),
    body: optional(
      CelExpression,
      "The body: strings and bytes as they are, anything else as JSON. A failure empties it."
    )
  }
)

/** Changes of the request and of the answer. */
export const Transformations = object("Transformations", "Changes headers and bodies by expressions.", {
  request: optional(Transform, "Changes of the request."),
  response: optional(Transform, "Changes of the answer.")
})
