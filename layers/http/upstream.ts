/** The port `Upstreams` over connections of our own: one pool of them per backend, shared by all configurations that name it. */
import { Effect, Layer } from "effect"
import { containerOf, Defects } from "../../src/services/defects.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import { containedLaterIfAlive } from "../../src/services/timer.ts"
import { type Upstream, Upstreams } from "../../src/services/upstreams.ts"
import { dialTo } from "./client/dial.ts"
import { identityOf } from "./client/identity.ts"
import { Pool } from "./client/pool.ts"
import { settle } from "./connection-settings.ts"
import { call } from "./upstream-call.ts"

/** The connections to one backend, and how many configurations use them. */
interface Backend {
  readonly pool: Pool
  readonly upstream: Upstream
  users: number
}

/** Opens each backend once, and closes it, when its last user is gone, after what is in flight has ended. */
export const layer: Layer.Layer<Upstreams> = Layer.effect(
  Upstreams,
  Effect.gen(function* () {
    const tell = yield* Defects
    const now = yield* Monotonic
    const later = containedLaterIfAlive(containerOf(tell, "backend"))
    const backends = new Map<string, Backend>()
    return {
      open: (target, options) => {
        const settings = settle(options)
        const { connectTimeout, idleTimeout, maxConnections } = settings
        const key = identityOf(target, settings)
        const make = (): Backend => {
          const pool = new Pool({
            dial: dialTo(target, settings, later),
            most: maxConnections,
            idleTimeout,
            patience: connectTimeout,
            now,
            later,
            defect: (cause) => tell("backend", cause)
          })
          const connections = { tell, pool, connectTimeout }
          return { pool, upstream: { send: (request) => call(connections, request) }, users: 0 }
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
              backend.pool.close()
            })
        ).pipe(Effect.map((backend) => backend.upstream))
      }
    }
  })
)
