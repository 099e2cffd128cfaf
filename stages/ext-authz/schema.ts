/** The wire shape of extAuthz: a server decides who may pass. */
import { Authorizer as ExtAuthz } from "../../spec/authorizer.ts"
import { declared } from "../../spec/standalone/policies.ts"

export { ExtAuthz }

export const extAuthz = declared(ExtAuthz, {
  places: ["gateway", "route", "backend", "llm", "ui"],
  conditional: true,
  decides: "access",
  judgesPaths: () => true
})
