/**
 * Package export `headgate/policy`: the contract of policies, for those of one's own. A policy is defined with `policy`,
 * placed among the proxy's own with `registry`, and run with `makeHeadgate` of `headgate`.
 */
export {
  defaulted,
  type ExactlyOneOf,
  exactlyOneOf,
  exclusive,
  object,
  optional,
  type Rule,
  required
} from "../../spec/field.ts"
export { policies } from "../../stages/registry.ts"
export {
  type Body,
  BodyAborted,
  type BodyObserver,
  type BodySink,
  type BodySource,
  isSource,
  observe
} from "../http/body.ts"
export { HeaderList, isHeaderName, isHeaderValue } from "../http/header-list.ts"
export { type Answer, RequestHead, type Switched } from "../http/message.ts"
export { BodyTooLarge, FilterFailed } from "../pipeline/errors.ts"
export { compileExpression, preparation } from "../pipeline/expressions.ts"
export { after, before } from "../pipeline/order.ts"
export { type Orders, type Registry, registry, type Services } from "../pipeline/registry.ts"
export * as slots from "../pipeline/slots.ts"
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
  type Site,
  type Slot,
  type StageError,
  slot,
  type Verdict
} from "../pipeline/stage.ts"
export type { Outcome, Peer, View } from "../pipeline/view.ts"
export { HttpFetch } from "../services/http-fetch.ts"
export { Monotonic } from "../services/monotonic.ts"
