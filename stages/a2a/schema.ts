/** The wire shape of a2a: it has no settings. */
import { declared, object } from "../../spec/policy.ts"

export const A2a = object(
  "A2a",
  "Treats the backend as an A2A agent: agent cards are rewritten to this proxy, and calls are logged.",
  {}
)

export const a2a = declared(A2a, { places: ["route", "backend"], onRoute: "backend", speaks: "a2a" })
