/** The connections to backends: one pool of them per backend, shared by all who mean the same one in the same way. */
import { Context, Effect, Layer, type Scope } from "effect"
import type { Address } from "../../spec/target.ts"
import { containerOf, Defects } from "../../src/services/defects.ts"
import { Metrics } from "../../src/services/metrics.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import { Names } from "../../src/services/names.ts"
import { containedLaterIfAlive } from "../../src/services/timer.ts"
import type { UpstreamOptions } from "../../src/services/upstreams.ts"
import { dialTo } from "./client/dial.ts"
import type { PoolExhausted } from "./client/failures.ts"
import { identityOf } from "./client/identity.ts"
import { Pool } from "./client/pool.ts"
import { formOf } from "./client/proxy.ts"
import { settle } from "./connection-settings.ts"
import type { Connections } from "./upstream-call.ts"

export class Pools extends Context.Service<
  Pools,
  {
    /** Opens each backend once, and closes it, when its last user is gone, after what is in flight has ended. */
    readonly open: (target: Address, options: UpstreamOptions) => Effect.Effect<Connections, never, Scope.Scope>
  }
>()("headgate/layers/http/Pools") {}

/** The connections to one backend, and how many use them. */
interface Backend {
  readonly connections: Connections
  users: number
}

export const poolMetrics = (metrics: Metrics["Service"], waiting: () => number) => {
  metrics.gathered(
    "upstream_waiting_calls",
    "Calls that wait because all connections to their backend are in use.",
    "gauge",
    [],
    () => [{ labels: {}, value: waiting() }]
  )
  return metrics.counter(
    "upstream_refused_calls_total",
    "Calls that were refused because all connections to their backend were in use: too many waited (`queue`), or they did so for too long (`time`).",
    ["limit"]
  )
}

export const layer: Layer.Layer<Pools, never, Names | Metrics> = Layer.effect(
  Pools,
  Effect.gen(function* () {
    const tell = yield* Defects
    const now = yield* Monotonic
    const names = yield* Names
    const later = containedLaterIfAlive(containerOf(tell, "backend"))
    const backends = new Map<string, Backend>()
    const refusals = poolMetrics(yield* Metrics, () => {
      let waiting = 0
      for (const { connections } of backends.values()) waiting += connections.pool.waiting
      return waiting
    })
    const refused = (limit: PoolExhausted["limit"]) => refusals.series([limit]).record(1)
    return {
      open: (target, options) => {
        const settings = settle(target, options)
        const { connectTimeout, idleTimeout, maxConnections } = settings
        const key = identityOf(target, settings)
        const make = (): Backend => {
          const pool = new Pool({
            ...dialTo(target, settings, later, names),
            most: maxConnections,
            idleTimeout,
            acquireTimeout: connectTimeout,
            now,
            later,
            defect: (cause) => tell("backend", cause),
            refused
          })
          return {
            connections: { tell, pool, connectTimeout, form: formOf(target, settings.tunnel, settings.tls) },
            users: 0
          }
        }
        return Effect.acquireRelease(
          Effect.sync(() => {
            const backend = backends.get(key) ?? make()
            backends.set(key, backend)
            backend.users++
            return backend
          }),
          (backend) =>
            Effect.sync(() => {
              if (--backend.users > 0) return
              backends.delete(key)
              // A stream may go on for long after its configuration is gone.
              backend.connections.pool.close()
            })
        ).pipe(Effect.map(({ connections }) => connections))
      }
    }
  })
)
