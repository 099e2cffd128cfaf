/** The wire shape of responseHeaderModifier: static changes of response headers. */
import { named } from "../../spec/field.ts"
import { HeaderModifier } from "../../spec/header.ts"
import { declared } from "../../spec/standalone/policies.ts"

export const ResponseHeaderModifier = named(
  HeaderModifier,
  "ResponseHeaderModifier",
  "Changes headers of the answer, of refusals and errors too."
)

export const responseHeaderModifier = declared(ResponseHeaderModifier, { places: ["route", "backend"] })
