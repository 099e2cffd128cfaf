/** The port `Upstreams` over connections of our own. */
import { randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import type { Metrics } from "../../src/services/metrics.ts"
import type { Names } from "../../src/services/names.ts"
import { Upstreams } from "../../src/services/upstreams.ts"
import { pseudonymOf } from "../../src/services/via.ts"
import * as Pools from "./pools.ts"
import { call } from "./upstream-call.ts"

export const layer: Layer.Layer<Upstreams, never, Names | Metrics> = Layer.effect(
  Upstreams,
  Effect.map(Pools.Pools, ({ open, openChosen }) => {
    // Made with the first backend that needs it.
    let pseudonym: string | undefined
    return {
      open: (target, options) =>
        Effect.map(open(target, options), (connections) => ({ send: (request) => call(connections, request) })),
      openChosen: (options) =>
        Effect.map(openChosen(options), (at) => {
          pseudonym ??= pseudonymOf(randomUUID().slice(0, 8))
          return {
            pseudonym,
            // When it is called, for its pool may be another one by then.
            at: (target) => ({ send: (request) => call(at(target), request) })
          }
        })
    }
  })
).pipe(Layer.provide(Pools.layer))
