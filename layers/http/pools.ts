/** The connections to backends: one pool of them per backend, shared by all who mean the same one in the same way. */
import { Context, Effect, Layer, type Scope } from "effect"
import { type Address, formatAddress } from "../../spec/target.ts"
import { containerOf, Defects } from "../../src/services/defects.ts"
import { Metrics } from "../../src/services/metrics.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import { Names } from "../../src/services/names.ts"
import { containedLaterIfAlive } from "../../src/services/timer.ts"
import type { UpstreamOptions } from "../../src/services/upstreams.ts"
import { ChosenPools } from "./chosen-pools.ts"
import { dialTo } from "./client/dial.ts"
import type { PoolExhausted } from "./client/failures.ts"
import { identityOf } from "./client/identity.ts"
import { Pool } from "./client/pool.ts"
import { type ConnectionSettings, settle } from "./connection-settings.ts"
import type { Connections } from "./upstream-call.ts"

export class Pools extends Context.Service<
  Pools,
  {
    /** Opens each backend once, and closes it, when its last user is gone, after what is in flight has ended. */
    readonly open: (target: Address, options: UpstreamOptions) => Effect.Effect<Connections, never, Scope.Scope>
    /** Opens each backend when it is first called. Those of the same options are shared. */
    readonly openChosen: (
      options: UpstreamOptions
    ) => Effect.Effect<(target: Address) => Connections, never, Scope.Scope>
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
  return {
    refusals: metrics.counter(
      "upstream_refused_calls_total",
      "Calls that were refused because all connections to their backend were in use: too many waited (`queue`), or they did so for too long (`time`).",
      ["limit"]
    ),
    evictions: metrics
      .counter(
        "upstream_evictions_total",
        "Backends named by requests whose idle connections were closed, because too many others were named after them.",
        []
      )
      .series([])
  }
}

export const layer: Layer.Layer<Pools, never, Names | Metrics> = Layer.effect(
  Pools,
  Effect.gen(function* () {
    const tell = yield* Defects
    const now = yield* Monotonic
    const names = yield* Names
    const later = containedLaterIfAlive(containerOf(tell, "backend"))
    const backends = new Map<string, Backend>()
    const chosen = new ChosenPools(() => evictions.record(1))
    /** How many call backends by requests with the same options. */
    const choosing = new Map<string, number>()
    const { refusals, evictions } = poolMetrics(yield* Metrics, () => {
      let { waiting } = chosen
      for (const { connections } of backends.values()) waiting += connections.pool.waiting
      return waiting
    })
    const refused = (limit: PoolExhausted["limit"]) => refusals.series([limit]).record(1)
    const connect = (target: Address, settings: ConnectionSettings): Connections => {
      const { connectTimeout, idleTimeout, maxConnections } = settings
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
      return { tell, pool, connectTimeout }
    }
    return {
      openChosen: (options) => {
        const settings = settle(nowhere, options)
        const prefix = `${identityOf(nowhere, settings)} `
        return Effect.acquireRelease(
          Effect.sync(() => {
            choosing.set(prefix, (choosing.get(prefix) ?? 0) + 1)
            return (target: Address) => chosen.at(prefix + formatAddress(target), () => connect(target, settings))
          }),
          () =>
            Effect.sync(() => {
              const left = choosing.get(prefix)! - 1
              if (left > 0) choosing.set(prefix, left)
              else {
                choosing.delete(prefix)
                chosen.close(prefix)
              }
            })
        )
      },
      open: (target, options) => {
        const settings = settle(target, options)
        const key = identityOf(target, settings)
        const make = (): Backend => ({ connections: connect(target, settings), users: 0 })
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

/** In place of an address, where the options alone are meant. */
const nowhere: Address = { kind: "tcp", host: "", port: 0, tls: false }
