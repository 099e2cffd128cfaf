/** The credential that a provider is called with, and its place in a request. */
import type { BackendAuthFailed, BackendCredential, RequestHead, TokenBearer } from "../../src/policy/policy.ts"
import { queryCarrier } from "../../src/policy/terminal.ts"
import { type Credential, placeKey } from "../../src/protocols/llm/providers/credential.ts"

/** Where clients of the various APIs put their keys. */
const keyHeaders = ["authorization", "x-api-key", "x-goog-api-key", "api-key"]

/** Google takes keys and tokens out of the query as well. */
const keyParameters = ["key", "access_token"].map(queryCarrier)

/** What the client proved itself with is none of the business of a provider that is shown something else. */
export const withoutClientsKeys = (
  request: RequestHead,
  own: BackendCredential | undefined,
  client: TokenBearer | undefined
): void => {
  if (own?.shows(client) !== true) return
  for (const name of keyHeaders) request.headers.delete(name)
  for (const parameter of keyParameters) parameter.remove(request)
}

/** Puts the credential where the provider looks for it. Without one, what the client sent is put there. */
export const authorize = (
  request: RequestHead,
  own: BackendCredential | undefined,
  client: TokenBearer | undefined,
  credential: Credential
): BackendAuthFailed | undefined => {
  const failure = own?.write(request, client)
  const { headers } = request
  const placed = placeKey(credential, headers.get("authorization"), own?.explicit === true)
  for (const name of placed.remove) headers.delete(name)
  for (const [name, value] of placed.set) headers.set(name, value)
  return failure
}
