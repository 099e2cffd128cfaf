/** The wire shape of authorization: rules over the attributes of a request. */
import { declared, expressionsOf, named, RuleSet } from "../../spec/policy.ts"

export const Authorization = named(
  RuleSet,
  "Authorization",
  "Decides by rules who may pass. The rules of every level are evaluated together. A refusal answers 403."
)

export const authorization = declared(Authorization, {
  places: ["gateway", "route", "backend", "llm", "ui"],
  decides: "access",
  joins: { lists: "rules" },
  expressions: expressionsOf
})
