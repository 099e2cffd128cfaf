/** The key that a provider is called with, and its place in a request. */
import { Effect, Redacted, type Scope } from "effect"
import { type ConfigProblem, type HeaderList, type RequestHead, unavailable } from "../../src/policy/policy.ts"
import { Files, queryCarrier } from "../../src/policy/terminal.ts"
import { type Credential, placeKey } from "../../src/protocols/llm/providers/credential.ts"
import type { EndpointPolicies } from "./schema.ts"

interface Key {
  readonly value: Redacted.Redacted<string>
  /** Where configuration wants it; the place of the provider when left out. */
  readonly header: { readonly name: string; readonly prefix?: string } | undefined
}

/** The one kind of credential that exists so far. Problems carry paths below the policy. */
export const compileKey = (
  auth: EndpointPolicies["backendAuth"]
): Effect.Effect<Key | undefined, ReadonlyArray<ConfigProblem>, Files | Scope.Scope> =>
  Effect.gen(function* () {
    if (auth === undefined) return undefined
    const { key, credentials } = auth
    const { header, ...elsewhere } = key?.location ?? {}
    if (key === undefined || credentials.length > 0 || Object.keys(elsewhere).length > 0)
      return yield* Effect.fail([unavailable([], "credentials other than a key in a header", "are")])
    if (Redacted.isRedacted(key.value)) return { value: key.value, header }
    const { read } = yield* Files
    const text = yield* Effect.mapError(read(key.value.file), ({ message }) => [{ path: [], message }])
    return { value: Redacted.make(text), header }
  })

/** Where clients of the various APIs put their keys. */
const keyHeaders = ["authorization", "x-api-key", "x-goog-api-key", "api-key"]

/** Google takes keys and tokens out of the query as well. */
const keyParameters = ["key", "access_token"].map(queryCarrier)

/** What the client proved itself with is none of the business of a provider that has a key of its own. */
export const withoutClientsKeys = (request: RequestHead, key: Key | undefined): void => {
  if (key === undefined) return
  for (const name of keyHeaders) request.headers.delete(name)
  for (const parameter of keyParameters) parameter.remove(request)
}

/** Puts the key where the provider looks for it. Without one, what the client sent is put there. */
export const authorize = (headers: HeaderList, key: Key | undefined, credential: Credential): void => {
  if (key !== undefined) {
    const { name, prefix = "" } = key.header ?? { name: "authorization", prefix: "Bearer " }
    headers.set(name.toLowerCase(), prefix + Redacted.value(key.value))
  }
  const placed = placeKey(credential, headers.get("authorization"), key?.header !== undefined)
  for (const name of placed.remove) headers.delete(name)
  for (const [name, value] of placed.set) headers.set(name, value)
}
