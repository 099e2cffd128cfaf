/** The wire shape of sessionAffinity: requests of one kind reach one endpoint. */
import { CelExpression, choosesNothing, declared, object, required } from "../../spec/policy.ts"

export const SessionAffinity = object(
  "SessionAffinity",
  "Sends requests of one kind to one endpoint of a service, or to one provider of models, as long as it may be called. Which one follows from the kind, by weighted rendezvous hashing: no cookie is set, no table is kept, and every process comes to the same one.",
  {
    source: required(CelExpression, "What kind a request is. A failure or an empty value chooses freely.")
  }
)

export const sessionAffinity = declared(SessionAffinity, {
  places: ["backend"],
  doubts: (_, { endpoints }) => choosesNothing(endpoints)
})
