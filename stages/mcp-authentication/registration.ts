/**
 * Dynamic client registration (RFC 7591), passed on to the identity provider so that no origin has to be allowed there;
 * or answered with the one client that the configuration names.
 */
import { Effect } from "effect"
import { type Answer, HeaderList, type HttpFetch } from "../../src/policy/policy.ts"
import { allowAnyOrigin, ProviderUnavailable, parsed } from "./documents.ts"

const methods = "POST, OPTIONS"

export type Registration = (method: string, body: Uint8Array) => Effect.Effect<Answer, ProviderUnavailable>

/** A preflight is answered here, since the provider would refuse it. */
const preflight: Registration = () =>
  Effect.succeed({ status: 200, headers: allowAnyOrigin(new HeaderList(), methods), body: undefined })

const notAllowed: Registration = () =>
  Effect.succeed({ status: 405, headers: new HeaderList(["allow", methods]), body: undefined })

const byMethod =
  (register: Registration): Registration =>
  (method, body) =>
    (method === "POST" ? register : method === "OPTIONS" ? preflight : notAllowed)(method, body)

/** Registers nobody: every client is the one that is registered already. */
export const fixedClient = (clientId: string): Registration =>
  byMethod((_, body) => {
    const redirects = parsed(body)?.["redirect_uris"]
    return Effect.succeed({
      status: 201,
      headers: new HeaderList(["content-type", "application/json"]),
      body: JSON.stringify({
        client_id: clientId,
        client_id_issued_at: 0,
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code"],
        response_types: ["code"],
        redirect_uris: Array.isArray(redirects) ? redirects : []
      })
    })
  })

/** Passes the request on as it is, and the answer too: a refusal names the provider's rule that was broken. */
export const forwardedRegistration = (fetch: HttpFetch["Service"]["fetch"], url: string): Registration =>
  byMethod((_, body) => {
    const headers = new HeaderList(["content-type", "application/json", "accept", "application/json"])
    return Effect.map(
      Effect.mapError(
        fetch({ method: "POST", url, headers, body }),
        (error) => new ProviderUnavailable({ detail: error.message })
      ),
      (answer) => {
        answer.headers.delete("content-length")
        return { status: answer.status, headers: allowAnyOrigin(answer.headers, methods), body: answer.body }
      }
    )
  })

/** The provider registers nobody over this protocol, and no client is configured. */
export const noRegistration = (detail: string): Registration =>
  byMethod(() => Effect.fail(new ProviderUnavailable({ detail })))
