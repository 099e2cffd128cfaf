/** The wire shape of csrf: protection against requests that other sites make a browser send. */
import { Schema } from "effect"
import { declared, defaulted, object } from "../../spec/policy.ts"

const Origin = Schema.String.check(
  Schema.isPattern(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/?#@]+$/u, { expected: "scheme://host[:port]" })
).annotate({ identifier: "ExactOrigin", description: "An origin, `scheme://host[:port]`." })

export const Csrf = object("Csrf", "Refuses requests that another site made a browser send. A refusal answers 403.", {
  additionalOrigins: defaulted(Schema.Array(Origin), [], "Other origins that may send requests.")
})

export const csrf = declared(Csrf, { places: ["route", "ui"], decides: "origin" })
