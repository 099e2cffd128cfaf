/** The wire shape of authorization: rules over the attributes of a request. */
import { named } from "../../spec/field.ts"
import { RuleSet } from "../../spec/rules.ts"

export const Authorization = named(
  RuleSet,
  "Authorization",
  "Decides by rules who may pass. The rules of every level are evaluated together. A refusal answers 403."
)
