/**
 * The language in which a policy describes what is written in a file: objects and their fields, values that have a form of their own, and where
 * the policy may stand. Nothing of the engine comes with it, so that a file can be read where nothing is served.
 */

export { Authorizer } from "./authorizer.ts"
export { formatPath } from "./config/path.ts"
export { BackendHttp } from "./connection/http.ts"
export { BackendAuth, BackendTunnel, calling } from "./connection/policies.ts"
export { BackendTcp } from "./connection/tcp.ts"
export { BackendTls } from "./connection/tls.ts"
export { Transformations } from "./connection/transformation.ts"
// JSON, and texts that stand in the file itself, in another file, or at an address. Secrets are decoded to what nothing prints.
export { Json, JsonObject, Secret, SecretFileOrInline } from "./content.ts"
export { FileInlineOrRemote, type RemoteDocument } from "./document.ts"
// Objects: a name, a description, fields, and what must hold between them.
export {
  defaulted,
  type ExactlyOneOf,
  exactlyOneOf,
  exclusive,
  named,
  object,
  optional,
  type Rule,
  required,
  ruled
} from "./field.ts"
// Language models.
export { PromptCaching, PromptGuard, PromptMessage } from "./guardrails.ts"
// Headers, and the parts of a URL that are replaced.
export { HeaderModifier, HeaderName, HeaderOrPseudo } from "./header.ts"
export { HealthPolicy } from "./health.ts"
export { defaultClaims, JwtValidation, jwtProviderFields, oneValidation, requiredClaimsOf } from "./jwt.ts"
// Who asks: where a credential stands, how strictly it is asked for, which tokens are accepted, and rules over all of it.
export { AuthenticationMode, basic, bearer, CredentialLocation, FailureMode } from "./location.ts"
// Values with a form of their own. Decoded are milliseconds, bytes, and texts as they stand.
export {
  ByteSize,
  Bytes,
  CelExpression,
  Count,
  Duration,
  Fraction,
  HttpUrl,
  LongString,
  RefillInterval,
  ShortString,
  StatusCode,
  TimeLimit
} from "./primitives.ts"
export { AuthorityRewrite, PathRewrite } from "./rewrite.ts"
export { expressionsOf, RuleSet } from "./rules.ts"
// What a policy says of itself beside its wire shape: where it may stand, what it decides, and how several of it go together.
export { declared, type PolicyPlace, type PolicySpec } from "./standalone/policies.ts"
// Logs and traces.
export { FieldExpressions, Fields, OtlpProtocol, Sampling } from "./standalone/telemetry.ts"
// What is called, and how: a backend, its connections, servers that decide.
export { SimpleBackend } from "./target.ts"
export { choosesNothing, countsNothing, type Doubt, type Surroundings, type Traits } from "./traits.ts"
