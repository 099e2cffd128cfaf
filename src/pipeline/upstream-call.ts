/** The request of an exchange, sent to an upstream. */
import { type Effect, Exit } from "effect"
import type { Address } from "../../spec/target.ts"
import { isSource } from "../http/body.ts"
import { grpcTimeoutOf, needsHttp2, passGrpcTimeout } from "../http/grpc.ts"
import { familyOf } from "../http/ip.ts"
import type { Answer, RequestHead } from "../http/message.ts"
import {
  type CallTimeout,
  callTimeout,
  type Upstream,
  type UpstreamError,
  type UpstreamTimedOut,
  type Version
} from "../services/upstreams.ts"
import { requestTimedOut } from "./deadline.ts"
import { type InvalidGrpcTimeout, invalidGrpcTimeout, type TimedOut } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import type { Passage } from "./passage.ts"
import { timeouts } from "./slots.ts"
import type { Reading } from "./view.ts"

/** The name of a backend as an authority, for those that are known by name: an address says nothing of a virtual host. */
export const ownAuthority = (target: Address): string | undefined =>
  target.kind === "unix" || familyOf(target.host) !== 0 ? undefined : target.host

/** An exchange that keeps time. */
type Timed = Pick<Exchange, "arrived"> & Reading<typeof timeouts>
/** When the call began, and of what backend. */
type Called = Pick<Passage, "called"> & Partial<Pick<Passage, "backend">>
type Sent = Timed & Pick<Exchange, "request" | "requestBody" | "repeatable" | "upgrade" | "informer">

/**
 * Sends the exchange's request. Fails by itself when the time of the call, or of the whole request, is up.
 * @param own milliseconds for the call itself, where that is not for the backend as a whole to say.
 */
export const callUpstream = (
  x: Sent,
  passage: Called,
  upstream: Upstream,
  own: number | undefined = passage.backend?.requestTimeout
): Effect.Effect<Answer, UpstreamError | TimedOut | InvalidGrpcTimeout> => {
  const { request } = x
  const callers = grpcTimeoutOf(request.method, request.headers)
  if (callers === "malformed") return Exit.fail(invalidGrpcTimeout)
  const whole = wholeOf(x, passage, callers)
  const timeout = timeoutOf(x, passage, own, whole)
  if (timeout !== undefined && timeout.milliseconds <= 0) return Exit.fail(timeout.failure("nothing sent"))
  if (callers !== undefined) passGrpcTimeout(request.headers, callers - passedOf(x, passage))
  // A body that its client still sends is no fault of the backend, and none of what it is given time for.
  const isPatient = timeout !== whole && isSource(x.requestBody)
  return upstream.send({
    method: request.method,
    pathAndQuery: request.pathAndQuery,
    authority: request.authority,
    headers: request.headers,
    body: x.requestBody,
    repeatable: x.repeatable,
    timeout: isPatient ? whole : timeout,
    patience: isPatient ? timeout : undefined,
    upgrade: x.upgrade,
    version: versionOf(request),
    informer: x.informer
  })
}

/** What a request is sent in where nobody says otherwise: as it came, unless TLS has chosen that; and gRPC has one version only. */
const versionOf = ({ method, scheme, version, headers }: RequestHead): Version =>
  (version === "2" && scheme === "http") || (method === "POST" && needsHttp2(headers)) ? "2" : "1.1"

const late = () => requestTimedOut

/** Milliseconds from the arrival of the request to the call of its backend. */
const passedOf = ({ arrived }: Timed, { called = arrived }: Called): number => called - arrived

/** What is left to the whole request. @param callers for how long its client waits, where it says so. */
const wholeOf = (x: Timed, passage: Called, callers = Number.POSITIVE_INFINITY): CallTimeout<TimedOut> | undefined => {
  const limit = Math.min(x.get(timeouts)?.request ?? callers, callers)
  return limit === Number.POSITIVE_INFINITY ? undefined : { milliseconds: limit - passedOf(x, passage), failure: late }
}

/** What is left to the whole request, or what one call may take, whichever ends first. A backend says that better than a route. */
export const timeoutOf = (
  x: Timed,
  passage: Called,
  own: number | undefined = passage.backend?.requestTimeout,
  whole: CallTimeout<TimedOut> | undefined = wholeOf(x, passage)
): CallTimeout<UpstreamTimedOut | TimedOut> | undefined => {
  const tried = own ?? x.get(timeouts)?.backend
  if (whole !== undefined && (tried === undefined || whole.milliseconds <= tried)) return whole
  return tried === undefined ? undefined : callTimeout(tried)
}
