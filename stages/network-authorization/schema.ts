/** The wire shape of networkAuthorization: rules over connections. */
import { declared, expressionsOf, named, RuleSet } from "../../spec/policy.ts"

export const NetworkAuthorization = named(
  RuleSet,
  "NetworkAuthorization",
  "Decides by rules over `source` which connections are accepted, once for each connection, and once more when a reload has changed them. A refusal closes it without a word, and so does a rule that cannot read what it is about. What was decided stands in the traces of the requests that come over it; what was refused is counted in `connections_refused_total`, and has a line in the log."
)

export const networkAuthorization = declared(NetworkAuthorization, {
  places: ["frontend"],
  decides: "connection",
  joins: { lists: "rules" },
  expressions: expressionsOf
})
