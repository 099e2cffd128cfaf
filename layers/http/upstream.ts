/** The port `Upstreams` over connections of our own. */
import { Effect, Layer } from "effect"
import type { Metrics } from "../../src/services/metrics.ts"
import type { Names } from "../../src/services/names.ts"
import { Upstreams } from "../../src/services/upstreams.ts"
import * as Pools from "./pools.ts"
import { call } from "./upstream-call.ts"

export const layer: Layer.Layer<Upstreams, never, Names | Metrics> = Layer.effect(
  Upstreams,
  Effect.map(Pools.Pools, ({ open }) => ({
    open: (target, options) =>
      Effect.map(open(target, options), (connections) => ({ send: (request) => call(connections, request) }))
  }))
).pipe(Layer.provide(Pools.layer))
