/** The wire shape of networkAuthorization: rules over connections. */
import { named } from "../../spec/field.ts"
import { RuleSet } from "../../spec/rules.ts"

export const NetworkAuthorization = named(
  RuleSet,
  "NetworkAuthorization",
  "Decides by rules over `source` which connections are accepted. A refusal closes the connection."
)
