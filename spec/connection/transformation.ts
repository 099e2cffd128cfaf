/** Changes of a message that are computed by expressions. */
import { Schema } from "effect"
import { object, optional } from "../field.ts"
import { HeaderName, HeaderOrPseudo } from "../header.ts"
import { CelExpression } from "../primitives.ts"

const HeaderOrStatus = Schema.String.check(
  Schema.isPattern(/^(?::status|[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256})$/u, { expected: "a header name, or :status" })
).annotate({ identifier: "HeaderOrStatus", description: "A header name, or `:status`." })

const changesOf = (identifier: string, message: string, name: typeof HeaderOrPseudo, pseudo: string) =>
  object(identifier, `Changes of ${message}, in the order metadata, replace, add, set, remove, body.`, {
    metadata: optional(
      Schema.Record(Schema.String, CelExpression),
      "Values for later expressions, readable as `metadata.<key>`. One that fails is left out."
    ),
    replace: optional(
      CelExpression,
      "All headers as one map: of texts, numbers, booleans, or lists of them. A failure leaves them as they are."
    ),
    add: optional(
      Schema.Record(name, CelExpression),
      `Headers to add, as texts or bytes. One whose expression fails is removed, so that nobody can smuggle it in; ${pseudo} is set, and stays as it is where that fails.`
    ),
    set: optional(
      Schema.Record(name, CelExpression),
      `Headers to set, as texts or bytes. One whose expression fails is removed, so that nobody can smuggle it in; ${pseudo} stays as it is then.`
    ),
    remove: optional(Schema.Array(HeaderName), "Headers to remove."),
    body: optional(
      CelExpression,
      "The body: strings and bytes as they are, anything else as JSON. A failure empties it."
    )
  })

/** Changes of the request and of the answer. */
export const Transformations = object("Transformations", "Changes headers and bodies by expressions.", {
  request: optional(
    changesOf("RequestTransformation", "the request", HeaderOrPseudo, "a pseudo-header"),
    "Changes of the request."
  ),
  response: optional(
    changesOf("ResponseTransformation", "the answer", HeaderOrStatus, "`:status`"),
    "Changes of the answer."
  )
})
