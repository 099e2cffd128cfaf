/** The wire shape of responseHeaderModifier: static changes of response headers. */
import { declared, HeaderModifier, named } from "../../spec/policy.ts"

export const ResponseHeaderModifier = named(
  HeaderModifier,
  "ResponseHeaderModifier",
  "Changes headers of the answer, of refusals and errors too."
)

export const responseHeaderModifier = declared(ResponseHeaderModifier, { places: ["route", "backend"] })
