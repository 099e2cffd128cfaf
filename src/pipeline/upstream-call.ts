/** The request of an exchange, sent to an upstream. */
import { type Effect, Exit } from "effect"
import type { Address } from "../../spec/target.ts"
import { familyOf } from "../http/ip.ts"
import type { Answer } from "../http/message.ts"
import {
  type CallTimeout,
  callTimeout,
  type Upstream,
  type UpstreamError,
  type UpstreamTimedOut
} from "../services/upstreams.ts"
import { requestTimedOut } from "./deadline.ts"
import type { TimedOut } from "./errors.ts"
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
type Sent = Timed & Pick<Exchange, "request" | "requestBody" | "repeatable" | "upgrade" | "inform">

/**
 * Sends the exchange's request. Fails by itself when the time of the call, or of the whole request, is up.
 * @param own milliseconds for the call itself, where that is not for the backend as a whole to say.
 */
export const callUpstream = (
  x: Sent,
  passage: Called,
  upstream: Upstream,
  own: number | undefined = passage.backend?.requestTimeout
): Effect.Effect<Answer, UpstreamError | TimedOut> => {
  const { request } = x
  const timeout = timeoutOf(x, passage, own)
  if (timeout !== undefined && timeout.milliseconds <= 0) return Exit.fail(timeout.failure("nothing sent"))
  return upstream.send({
    method: request.method,
    pathAndQuery: request.pathAndQuery,
    authority: request.authority,
    headers: request.headers,
    body: x.requestBody,
    repeatable: x.repeatable,
    timeout,
    upgrade: x.upgrade,
    onInformation: x.inform
  })
}

const late = () => requestTimedOut

/** What is left to the whole request, or what one call may take, whichever ends first. */
export const timeoutOf = (
  x: Timed,
  { called, backend: of }: Called,
  own: number | undefined = of?.requestTimeout
): CallTimeout<UpstreamTimedOut | TimedOut> | undefined => {
  const limits = x.get(timeouts)
  if (limits === undefined) return own === undefined ? undefined : callTimeout(own)
  const { request } = limits
  const backend = smaller(limits.backend, own)
  const left = request === undefined ? undefined : request - ((called ?? x.arrived) - x.arrived)
  if (left !== undefined && (backend === undefined || left <= backend)) return { milliseconds: left, failure: late }
  return backend === undefined ? undefined : callTimeout(backend)
}

const smaller = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.min(one, other)
