/**
 * The authorization and token endpoints of Microsoft Entra ID, as MCP clients need them: without the parameter `resource`,
 * which Entra refuses, and with the secret of a confidential client that no MCP client could keep.
 */
import { Buffer } from "node:buffer"
import { Effect, Redacted } from "effect"
import { type Answer, HeaderList, type HttpFetch, type RequestHead } from "../../src/policy/policy.ts"
import { ProviderUnavailable } from "./documents.ts"
import { entraTenant } from "./providers.ts"

/** Sends the browser on to the real endpoint. */
export const authorizeRedirect = (issuer: URL) => {
  const endpoint = `${entraTenant(issuer)}/oauth2/v2.0/authorize`
  return ({ query }: RequestHead): Answer => {
    const parameters = new URLSearchParams(query)
    parameters.delete("resource")
    const text = parameters.toString()
    const location = text === "" ? endpoint : `${endpoint}?${text}`
    return { status: 302, headers: new HeaderList(["location", location]), body: undefined }
  }
}

export interface ConfidentialClient {
  readonly id: string | undefined
  readonly secret: Redacted.Redacted<string> | undefined
}

/** Redeems a code or refreshes a token at the real endpoint. */
export const tokenForwarding = (fetch: HttpFetch["Service"]["fetch"], issuer: URL, client: ConfidentialClient) => {
  const url = `${entraTenant(issuer)}/oauth2/v2.0/token`
  return (request: RequestHead, body: Uint8Array): Effect.Effect<Answer, ProviderUnavailable> => {
    if (request.method !== "POST")
      return Effect.succeed({ status: 405, headers: new HeaderList(["allow", "POST"]), body: undefined })
    const form = new URLSearchParams(Buffer.from(body).toString("utf8"))
    form.delete("resource")
    const authorization = request.headers.get("authorization")
    if (client.secret !== undefined && mayHaveSecret(form, authorization, client.id))
      form.set("client_secret", Redacted.value(client.secret))
    const headers = new HeaderList(["content-type", "application/x-www-form-urlencoded", "accept", "application/json"])
    if (authorization !== undefined) headers.add("authorization", authorization)
    return Effect.map(
      Effect.mapError(
        fetch({ method: "POST", url, headers, body: form.toString() }),
        (error) => new ProviderUnavailable({ detail: error.message })
      ),
      (answer) => {
        answer.headers.delete("content-length")
        return { status: answer.status, headers: answer.headers, body: answer.body }
      }
    )
  }
}

/**
 * The secret is lent only to who speaks for the configured client and holds something of a user: a code, or a refresh
 * token. Lent for anything else it would make everybody that client.
 */
const mayHaveSecret = (form: URLSearchParams, authorization: string | undefined, clientId: string | undefined) => {
  const ids = form.getAll("client_id")
  const grants = form.getAll("grant_type")
  return (
    authorization === undefined &&
    !form.has("client_secret") &&
    clientId !== undefined &&
    ids.length === 1 &&
    ids[0] === clientId &&
    grants.length === 1 &&
    (grants[0] === "authorization_code" || grants[0] === "refresh_token")
  )
}
