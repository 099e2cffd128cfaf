/** The port `Upstreams` over connections of our own. */
import { Effect, Layer } from "effect"
import type { Metrics } from "../../src/services/metrics.ts"
import type { Names } from "../../src/services/names.ts"
import { type UpstreamOptions, Upstreams } from "../../src/services/upstreams.ts"
import * as Pools from "./pools.ts"
import { call } from "./upstream-call.ts"

export const layer: Layer.Layer<Upstreams, never, Names | Metrics> = Layer.effect(
  Upstreams,
  Effect.map(Pools.Pools, ({ open }) => ({
    open: (target, options) =>
      Effect.flatMap(open(target, options), (connections) =>
        connections.form === undefined
          ? Effect.succeed({ send: (request) => call(connections, request) })
          : // A proxy passes on what is HTTP, and what leaves HTTP goes through a tunnel.
            Effect.map(open(target, tunnelled(options)), (beside) => ({
              send: (request) => call(request.upgrade === undefined ? connections : beside, request)
            }))
      )
  }))
).pipe(Layer.provide(Pools.layer))

const tunnelled = ({ tunnel, ...options }: UpstreamOptions): UpstreamOptions => ({
  ...options,
  tunnel: tunnel && { ...tunnel, mode: "connect" }
})
