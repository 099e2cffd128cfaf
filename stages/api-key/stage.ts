/** apiKey: recognises callers by a key that the configuration knows, and takes it out of the request. */
import { Buffer } from "node:buffer"
import { Data, Effect, Exit, Redacted } from "effect"
import {
  challengeFor,
  compileCredential,
  credentialReadings,
  KeyBearer,
  next,
  policy,
  type StageError,
  slots,
  Unreadable,
  type Verdict
} from "../../src/policy/policy.ts"
import { KnownKeys } from "./known-keys.ts"
import { compileModelAccess } from "./models.ts"
import { ApiKey } from "./schema.ts"

/** There is no key, or one that nobody knows. */
export class ApiKeyRefused
  extends Data.TaggedError("ApiKeyRefused")<{
    readonly detail: "no API Key found" | "invalid credentials"
    readonly headers: ReadonlyArray<string>
  }>
  implements StageError
{
  readonly status = 401
  readonly reason = "APIKeyAuth"
  readonly source = "client"
  override get message() {
    return `api key authentication failure: ${this.detail}`
  }
}

export const apiKey = policy({
  name: "apiKey",
  traceKey: "apiKey",
  schema: ApiKey,
  sites: ["gateway", "route"],
  responds: [],
  reads: [slots.credentialHeaders],
  writes: [slots.credentialHeaders, slots.apiKey, slots.modelAccess],
  outcomes: ["next", "fail"],
  failsClosed: credentialReadings("apiKey"),
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ mode, location, keys }, { site }) =>
    Effect.map(compileCredential(location, site, ["location"]), (credential) => {
      const known = new KnownKeys(
        keys.map(({ key, keyHash, metadata, allowedModels }) => [
          key === undefined
            ? Buffer.from(keyHash.slice("sha256:".length), "hex")
            : KnownKeys.digest(Redacted.value(key)),
          { metadata: metadata ?? {}, models: allowedModels && compileModelAccess(allowedModels) }
        ])
      )
      const headers = ["www-authenticate", challengeFor(location)]
      const missing = mode === "strict" ? Exit.fail(new ApiKeyRefused({ detail: "no API Key found", headers })) : next
      const invalid =
        mode === "permissive" ? next : Exit.fail(new ApiKeyRefused({ detail: "invalid credentials", headers }))
      return [
        {
          name: "apiKey",
          phase: "request",
          outcomes: mode === "permissive" ? ["next"] : ["next", "fail"],
          run: (x): Exit.Exit<Verdict, ApiKeyRefused | Unreadable> => {
            const key = credential.read(x)
            if (key === undefined) return missing
            if (key instanceof Unreadable) return mode === "permissive" ? next : Exit.fail(key)
            const owner = known.find(key)
            if (owner === undefined) return invalid
            credential.remove(x)
            x.set(slots.apiKey, new KeyBearer(owner.metadata, key))
            if (owner.models !== undefined) x.set(slots.modelAccess, owner.models)
            return next
          }
        }
      ]
    })
})
