/** The wire shape of requestHeaderModifier: static changes of request headers. */
import { named } from "../../spec/field.ts"
import { HeaderModifier } from "../../spec/header.ts"
import { declared } from "../../spec/standalone/policies.ts"

export const RequestHeaderModifier = named(
  HeaderModifier,
  "RequestHeaderModifier",
  "Changes headers of the request before it is sent to the backend."
)

export const requestHeaderModifier = declared(RequestHeaderModifier, { places: ["route", "backend"] })
