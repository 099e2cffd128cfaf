/**
 * What an expression reads while it runs. The host makes one object per request whose getters look at live state; a getter is called only
 * when an expression reads that variable, and a field of a variable only when it reads that field.
 */
import type { HostVariable, VariableName } from "./phases.ts"
import type { CelValue } from "./value.ts"

/**
 * The context of an evaluation. Every property may be a getter. `undefined` and `null` mean that the variable is not set.
 *
 * Variables with fields known only at run time (`jwt`, `apiKey`, `metadata`, …) carry them in their property `rest`:
 * `{ rawToken: "eyJ…", rest: claims }`.
 */
export type Bindings = {
  readonly [Name in VariableName]?: HostVariable<Name> | null | undefined
} & {
  /** Names of header fields whose values `headers.redacted()` and explanations hide, in lower case, beside those that always are. */
  readonly sensitiveHeaders?: ReadonlySet<string> | undefined
  /** Names of query parameters that hold credentials, beside those that always do: explanations hide what is made of a text with a query. */
  readonly sensitiveParameters?: ReadonlySet<string> | undefined
  /** Values of the further variables that the expression was compiled with. */
  readonly extra?: Readonly<Record<string, CelValue>> | undefined
}

/** Header fields that are sensitive whatever the configuration says. */
export const alwaysSensitiveHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "mcp-session-id"
])

/** Query parameters that hold credentials whatever the configuration says, in lower case. */
const alwaysSensitiveParameters: ReadonlySet<string> = new Set([
  // OAuth 2 and OpenID Connect.
  "access_token",
  "refresh_token",
  "id_token",
  "id_token_hint",
  "logout_token",
  "code",
  "code_verifier",
  "client_secret",
  "client_assertion",
  "assertion",
  "subject_token",
  "actor_token",
  "device_code",
  // Keys and passwords, as interfaces name them.
  "token",
  "auth_token",
  "jwt",
  "bearer",
  "authorization",
  "auth",
  "key",
  "apikey",
  "api_key",
  "api-key",
  "x-api-key",
  "subscription-key",
  "secret",
  "password",
  "passwd",
  "pwd",
  "session",
  "session_id",
  "sessionid",
  "mcp-session-id",
  // Signed addresses of object stores.
  "sig",
  "signature",
  "x-amz-signature",
  "x-amz-credential",
  "x-amz-security-token",
  "x-goog-signature",
  "x-goog-credential"
])

/** Whether a query parameter holds a credential. What the configuration names counts as it is written there. */
export const isSensitiveParameter = (name: string, further: ReadonlySet<string> | undefined): boolean =>
  further?.has(name) === true || alwaysSensitiveParameters.has(name.toLowerCase())
