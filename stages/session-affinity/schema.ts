/** The wire shape of sessionAffinity: requests of one kind reach one endpoint. */
import { CelExpression, declared, object, required } from "../../spec/policy.ts"

export const SessionAffinity = object("SessionAffinity", "Sends requests of one kind to one endpoint.", {
  source: required(CelExpression, "What kind a request is. A failure or an empty value chooses freely.")
})

export const sessionAffinity = declared(SessionAffinity, { places: ["backend"] })
