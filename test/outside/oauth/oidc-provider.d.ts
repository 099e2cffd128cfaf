/** The part of oidc-provider that the tests use; the package brings no types along. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http"

  export default class Provider {
    constructor(issuer: string, configuration: unknown)
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
  }
}
