/** The request of an exchange, sent to an upstream. */
import { isIP } from "node:net"
import type { Effect } from "effect"
import type { Address } from "../../spec/target.ts"
import type { Answer } from "../http/message.ts"
import type { Upstream, UpstreamError } from "../services/upstreams.ts"
import type { Exchange } from "./exchange.ts"
import { timeouts } from "./slots.ts"

/** The name of a backend as an authority, for those that are known by name: an address says nothing of a virtual host. */
export const ownAuthority = (target: Address): string | undefined =>
  target.kind === "unix" || isIP(target.host) !== 0 ? undefined : target.host

/** Sends the exchange's request. The time of the whole request is kept by the engine, that of one call here. */
export const callUpstream = (x: Exchange, upstream: Upstream): Effect.Effect<Answer, UpstreamError> => {
  const { request } = x
  return upstream.send({
    method: request.method,
    pathAndQuery: request.pathAndQuery,
    authority: request.authority,
    headers: request.headers,
    body: x.requestBody,
    timeout: x.get(timeouts)?.backend,
    upgrade: x.upgrade,
    onInformation: x.inform
  })
}
