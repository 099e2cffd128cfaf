/** The wire shape of networkAuthorization: rules over connections. */
import { declared, expressionsOf, named, RuleSet } from "../../spec/policy.ts"

export const NetworkAuthorization = named(
  RuleSet,
  "NetworkAuthorization",
  "Decides by rules over `source` which connections are accepted. A refusal closes the connection."
)

export const networkAuthorization = declared(NetworkAuthorization, {
  places: ["frontend"],
  decides: "connection",
  joins: { lists: "rules" },
  expressions: expressionsOf
})
