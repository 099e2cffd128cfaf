/** How connections are made at any time: options in which certificates may change, followed as long as somebody makes connections. */
import { Effect, type Scope } from "effect"
import type { Address } from "../../spec/target.ts"
import type { FollowedTls, UpstreamOptions, UpstreamTls } from "../../src/services/upstreams.ts"
import { type ConnectionSettings, settle } from "./connection-settings.ts"

/** The settings as they are whenever somebody asks. @param changed told when certificates are others. */
export const settling = (
  target: Address,
  { tls, tunnel, ...options }: UpstreamOptions,
  changed: (settings: ConnectionSettings) => void
): Effect.Effect<() => ConnectionSettings, never, Scope.Scope> => {
  let own: UpstreamTls | undefined
  let ofProxy: UpstreamTls | undefined
  const settled = () => settle(target, { ...options, tls: own, tunnel: tunnel && { ...tunnel, tls: ofProxy } })
  const followingOwn = followed(tls, (newest) => {
    own = newest
    changed(settled())
  })
  const followingProxy = followed(tunnel?.tls, (newest) => {
    ofProxy = newest
    changed(settled())
  })
  return Effect.as(Effect.andThen(followingOwn, followingProxy), settled)
}

/** Takes what holds, now and whenever it is something else. */
const followed = (
  tls: UpstreamTls | FollowedTls | undefined,
  take: (newest: UpstreamTls | undefined) => void
): Effect.Effect<void, never, Scope.Scope> => {
  if (tls === undefined || !("follow" in tls)) return Effect.sync(() => take(tls))
  let isNewer = false
  return Effect.map(
    tls.follow((newest) => {
      isNewer = true
      take(newest)
    }),
    (first) => {
      if (!isNewer) take(first)
    }
  )
}
