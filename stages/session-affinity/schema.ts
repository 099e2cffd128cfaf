/** The wire shape of sessionAffinity: requests of one kind reach one endpoint. */
import { object, required } from "../../spec/field.ts"
import { CelExpression } from "../../spec/primitives.ts"
import { declared } from "../../spec/standalone/policies.ts"

export const SessionAffinity = object("SessionAffinity", "Sends requests of one kind to one endpoint.", {
  source: required(CelExpression, "What kind a request is. A failure or an empty value chooses freely.")
})

export const sessionAffinity = declared(SessionAffinity, { places: ["backend"] })
