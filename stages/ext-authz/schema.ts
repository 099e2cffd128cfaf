/** The wire shape of extAuthz: a server decides who may pass. */
export { Authorizer as ExtAuthz } from "../../spec/authorizer.ts"
