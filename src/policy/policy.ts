/**
 * What a policy is written with: the contract, what a node sees, what it may call, and the pieces that several policies are made of. Our own
 * policies import nothing else of the proxy, so that one from outside can do whatever they do. `headgate/policy` exports all of it.
 */

// The language of its configuration.
export * from "../../spec/policy.ts"
// Expressions, compiled with the policy, and rules over them.
export type { Bindings } from "../cel/bindings.ts"
export {
  CelError,
  type CelValue,
  Duration as CelDuration,
  type Expression,
  elementsIn,
  entriesIn,
  SecretValue,
  settled,
  toJson,
  toText,
  Uint
} from "../cel/expression.ts"
export { canonicalAuthority } from "../http/authority.ts"
// Bodies: bytes on their way, their content in memory, and JSON that keeps the bytes of what is not changed.
export {
  type Body,
  BodyAborted,
  type BodyObserver,
  type BodySink,
  type BodySource,
  isSource,
  observe,
  PassingBody,
  read
} from "../http/body.ts"
export { challenge } from "../http/challenge.ts"
export { isHopByHop } from "../http/framing.ts"
export { compileHeaderChanges, type HeaderChanges } from "../http/header-changes.ts"
export { HeaderList, isHeaderName, isHeaderValue } from "../http/header-list.ts"
export { compileHeaderMatch, type HeaderTest } from "../http/header-match.ts"
export { type Answer, RequestHead, type Scheme, type Switched } from "../http/message.ts"
export { octetsOf, type PathFault, readTarget } from "../http/path.ts"
export { type AuthorityReplacement, type PathReplacement, rewriteAuthority, rewritePath } from "../http/rewrite.ts"
export { fieldsOfBytes, weakenTag } from "../http/validators.ts"
export * as jsonText from "../json/text.ts"
// Attempts at a backend, where a policy asks for more than one.
export type { EndedAttempt, Plan } from "../pipeline/attempts.ts"
export {
  BackendAuthFailed,
  type BackendCredential,
  compileBackendCredential
} from "../pipeline/authentication/backend-credential.ts"
// Credentials: where one stands, whose it is, and the challenge to who shows none.
export {
  type Credential,
  challengeFor,
  compileCredential,
  credentialReadings
} from "../pipeline/authentication/credential.ts"
export { KeyBearer, TokenBearer } from "../pipeline/authentication/identity.ts"
export { openKeySet } from "../pipeline/authentication/key-source.ts"
export { longestKey } from "../pipeline/authentication/token-cache.ts"
export {
  KeysUnavailable,
  makeTokenVerifier,
  noToken,
  type TokenFailure,
  type TokenIssuer,
  TokenRefused,
  type TokenVerifier
} from "../pipeline/authentication/token-verifier.ts"
export {
  type AnswerFailure,
  type ContentFailure,
  readAnswerContent,
  readAnswerPrefix,
  readContent,
  readContentPrefix,
  undoCodings
} from "../pipeline/content.ts"
export { BodyTooLarge, BuffersFull, FilterFailed, TimedOut, Unreadable, unreadable } from "../pipeline/errors.ts"
export {
  type AnswerPreparation,
  answerPreparation,
  compileExpression,
  contentReadings,
  decided,
  expressionReadings,
  type Preparation,
  preparation,
  slotsReadBy
} from "../pipeline/expressions.ts"
export { type FailedReading, failedReadings } from "../pipeline/fail-closed.ts"
// Calls of gRPC, over compiled backends.
export { type GrpcClient, type GrpcReply, resolveGrpc } from "../pipeline/grpc/client.ts"
export { binary as grpcBinary, type GrpcMethod, type GrpcOptions } from "../pipeline/grpc/method.ts"
export { codeOf as grpcCodeOf, type GrpcCode, GrpcFailed } from "../pipeline/grpc/status.ts"
export type { GrpcStream } from "../pipeline/grpc/stream.ts"
// Copies of requests, and whoever watches them.
export { type Mirror, openMirror } from "../pipeline/mirrors.ts"
// Where a policy stands among the others.
export { after, before } from "../pipeline/order.ts"
export { type WatchCall, WatchCalls } from "../pipeline/outbound.ts"
export { inBothReadings, inOtherReading, pathReadings } from "../pipeline/readings.ts"
export { type Orders, type Registry, registry, type Services } from "../pipeline/registry.ts"
export { compileRules, plainRulingOf, type Rules, type Ruling, rulingOf } from "../pipeline/rules.ts"
export type { RequestSite, Site } from "../pipeline/site.ts"
export * as slots from "../pipeline/slots.ts"
// The contract: a policy is compiled once per configuration to nodes, each of which goes on, answers, or fails with a typed error.
export {
  type AnyPolicy,
  type AnySlot,
  type Attachment,
  type ConfigPath,
  type ConfigProblem,
  type FaultSource,
  type Maturity,
  type Node,
  next,
  type OutcomeKind,
  type Policy,
  type PolicyGraph,
  policy,
  type Run,
  respond,
  type Slot,
  type StageError,
  slot,
  unavailable,
  type Verdict
} from "../pipeline/stage.ts"
// What a policy keeps over its phases.
export { type State, slotsOf, state } from "../pipeline/state.ts"
// What is called beside the backend.
export { type Asking, type Caller, type Reference, SubCalls, type SubRequest } from "../pipeline/sub-calls.ts"
// What a node sees: the messages, and the slots of policies before it.
export type { ConnectionView, Outcome, Peer, View } from "../pipeline/view.ts"
// Patterns of the configuration: RE2 syntax, matched in time linear in the text.
export { compilePattern, type Pattern } from "../regex/whole-text.ts"
export { Files } from "../services/files.ts"
// Services: a policy asks for them while it is compiled, and the proxy provides them.
export { type Fetched, FetchFailed, type FetchRequest, HttpFetch } from "../services/http-fetch.ts"
export { Jwks, type KeySet, KeySetUnusable, type KeySource } from "../services/jwks.ts"
export { Monotonic } from "../services/monotonic.ts"
export { Passwords, PasswordsBusy, type PasswordUser, type PasswordUsers } from "../services/passwords.ts"
export { Random } from "../services/random.ts"
export { type BucketRule, type Buckets, type Draw, RateLimits } from "../services/rate-limits.ts"
