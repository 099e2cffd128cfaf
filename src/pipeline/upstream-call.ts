/** The request of an exchange, sent to an upstream: how long it may take, and whose fault it is. */
import { isIP } from "node:net"
import { Effect } from "effect"
import type { Address } from "../../spec/target.ts"
import type { Answer } from "../http/message.ts"
import type { Upstream, UpstreamError } from "../services/upstreams.ts"
import { TimedOut } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import * as slots from "./slots.ts"

/** The name of a backend as an authority, for those that are known by name: an address says nothing of a virtual host. */
export const ownAuthority = (target: Address): string | undefined =>
  target.kind === "unix" || isIP(target.host) !== 0 ? undefined : target.host

const requestTimedOut = new TimedOut({ what: "request" })

/**
 * Sends the exchange's request.
 * @param clock the monotonic clock that `exchange.arrived` was read from.
 */
export const callUpstream = (
  x: Exchange,
  upstream: Upstream,
  clock: () => number
): Effect.Effect<Answer, UpstreamError | TimedOut> => {
  const { request } = x
  const limits = x.get(slots.timeouts)
  let timeout = limits?.backend
  let whole = false
  if (limits?.request !== undefined) {
    const left = limits.request - (clock() - x.arrived)
    if (left <= 0) return Effect.fail(requestTimedOut)
    // The tighter of the two limits decides, and names itself in the answer.
    if (timeout === undefined || left < timeout) {
      timeout = left
      whole = true
    }
  }
  const call = upstream.send({
    method: request.method,
    pathAndQuery: request.pathAndQuery,
    authority: request.authority,
    headers: request.headers,
    body: x.requestBody,
    timeout,
    upgrade: x.upgrade,
    onInformation: x.inform
  })
  return whole ? Effect.mapError(call, (error) => (error._tag === "UpstreamTimedOut" ? requestTimedOut : error)) : call
}
