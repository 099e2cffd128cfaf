/** The wire shape of delay: a pause before the backend is called. */
import { CelExpression, declared, object, required } from "../../spec/policy.ts"

export const Delay = object(
  "Delay",
  "Waits before the backend is called; the wait counts toward the request timeout.",
  {
    duration: required(
      CelExpression,
      "How long: a duration such as `2s`, or an expression that yields a duration or milliseconds. Nothing when it fails or is not positive."
    )
  }
)

export const delay = declared(Delay, { places: ["route"] })
