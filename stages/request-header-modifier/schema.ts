/** The wire shape of requestHeaderModifier: static changes of request headers. */
import { declared, HeaderModifier, named } from "../../spec/policy.ts"

export const RequestHeaderModifier = named(
  HeaderModifier,
  "RequestHeaderModifier",
  "Changes headers of the request before it is sent to the backend."
)

export const requestHeaderModifier = declared(RequestHeaderModifier, { places: ["route", "backend"] })
