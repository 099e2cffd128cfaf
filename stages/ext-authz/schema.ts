/** The wire shape of extAuthz: a server decides who may pass. */
import { declared, Authorizer as ExtAuthz } from "../../spec/policy.ts"

export { ExtAuthz }

export const extAuthz = declared(ExtAuthz, {
  places: ["gateway", "route", "backend", "llm", "ui"],
  conditional: true,
  decides: "access",
  judgesPaths: () => true
})
