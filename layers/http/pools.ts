/** The connections to backends: one pool of them per backend, shared by all who mean the same one in the same way. */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { type Address, formatAddress } from "../../spec/target.ts"
import { HeldBytes } from "../../src/http/held-bytes.ts"
import type { Scheme } from "../../src/http/message.ts"
import { containerOf, Defects, type TellDefect } from "../../src/services/defects.ts"
import { Metrics } from "../../src/services/metrics.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import { Names } from "../../src/services/names.ts"
import { containedLaterIfAlive, type Later, Timer } from "../../src/services/timer.ts"
import type { UpstreamOptions } from "../../src/services/upstreams.ts"
import { ChosenPools } from "./chosen-pools.ts"
import { dialTo } from "./client/dial.ts"
import type { PoolExhausted } from "./client/failures.ts"
import { identityOf } from "./client/identity.ts"
import { type AbsoluteForm, formOf } from "./client/proxy.ts"
import type { ConnectionSettings } from "./connection-settings.ts"
import type { IdleLimit } from "./idle-watch.ts"
import { settling } from "./settling.ts"
import type { Connections } from "./upstream-call.ts"
import { Versions } from "./versions.ts"

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

/** Bytes that all calls together keep of bodies on their way, until it is known that their backends have looked at them. */
const mostHeld = 67_108_864

/** The connections to one backend, and how many use them. */
interface Backend {
  readonly pool: Versions
  users: number
}

/** One use of the connections to a backend. */
interface Use {
  readonly pool: Versions
  readonly end: () => void
}

/** One use of the connections to whatever requests name, all of the same options. */
interface Choice {
  readonly at: (target: Address) => Connections
  readonly end: () => void
}

/** What one of the users has. When certificates change, the pool that new calls go through becomes another one. */
class Lease implements Connections {
  readonly tell: TellDefect
  readonly connectTimeout: number
  readonly scheme: Scheme
  readonly held: HeldBytes
  readonly form: AbsoluteForm | undefined
  readonly idle: IdleLimit | undefined
  readonly now: () => number
  readonly later: Later
  pool: Versions
  readonly #use: (settings: ConnectionSettings) => Use
  #current: Use
  #over = false

  constructor(
    common: Omit<Connections, "pool">,
    use: (settings: ConnectionSettings) => Use,
    settings: ConnectionSettings
  ) {
    this.tell = common.tell
    this.connectTimeout = common.connectTimeout
    this.scheme = common.scheme
    this.held = common.held
    this.form = common.form
    this.idle = common.idle
    this.now = common.now
    this.later = common.later
    this.#use = use
    this.#current = use(settings)
    this.pool = this.#current.pool
  }

  change(settings: ConnectionSettings): void {
    if (this.#over) return
    const before = this.#current
    this.#current = this.#use(settings)
    this.pool = this.#current.pool
    before.end()
  }

  end(): void {
    this.#over = true
    this.#current.end()
  }
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
      .series([]),
    idle: metrics.counter(
      "upstream_idle_timeouts_total",
      "Calls that were given up because nothing of their bodies, or of a connection that has left HTTP, moved within `http.idleTimeout`, by who would have had to move.",
      ["silent"]
    )
  }
}

export const layer: Layer.Layer<Pools, never, Names | Metrics> = Layer.effect(
  Pools,
  Effect.gen(function* () {
    const tell = yield* Defects
    const now = yield* Monotonic
    const clock = yield* Clock.Clock
    const wall = () => clock.currentTimeMillisUnsafe()
    const timer = yield* Timer
    const names = yield* Names
    const later = containedLaterIfAlive(containerOf(tell, "backend"))
    const held = new HeldBytes(mostHeld)
    const backends = new Map<string, Backend>()
    const chosen = new ChosenPools(() => evictions.record(1))
    /** How many call backends by requests with the same options. */
    const choosing = new Map<string, number>()
    const { refusals, evictions, idle } = poolMetrics(yield* Metrics, () => {
      let { waiting } = chosen
      for (const { pool } of backends.values()) waiting += pool.waiting
      return waiting
    })
    const refused = (limit: PoolExhausted["limit"]) => refusals.series([limit]).record(1)
    const passed: IdleLimit["passed"] = (silent) => idle.series([silent]).record(1)
    const poolOf = (target: Address, settings: ConnectionSettings): Versions =>
      new Versions({
        dialler: dialTo(target, settings, later, wall, names),
        settings,
        now,
        later,
        defect: (cause) => tell("backend", cause),
        refused
      })
    const commonOf = (target: Address, settings: ConnectionSettings): Omit<Connections, "pool"> => {
      const { connectTimeout, bodyIdleTimeout, tunnel, tls } = settings
      return {
        scheme: tls === undefined ? "http" : "https",
        held,
        tell,
        connectTimeout,
        form: formOf(target, tunnel, tls),
        idle: bodyIdleTimeout === undefined ? undefined : { milliseconds: bodyIdleTimeout, passed },
        now,
        later: timer
      }
    }
    const choose = (settings: ConnectionSettings): Choice => {
      const prefix = `${identityOf(nowhere, settings)} `
      choosing.set(prefix, (choosing.get(prefix) ?? 0) + 1)
      return {
        at: (target) =>
          chosen.at(prefix + formatAddress(target), () => ({
            ...commonOf(target, settings),
            pool: poolOf(target, settings)
          })),
        end: () => {
          const left = choosing.get(prefix)! - 1
          choosing.set(prefix, left)
          if (left > 0) return
          choosing.delete(prefix)
          chosen.close(prefix)
        }
      }
    }
    const use = (target: Address, settings: ConnectionSettings): Use => {
      const key = identityOf(target, settings)
      const make = (): Backend => ({ pool: poolOf(target, settings), users: 0 })
      const backend = backends.get(key) ?? make()
      backends.set(key, backend)
      backend.users++
      const end = () => {
        if (--backend.users > 0) return
        backends.delete(key)
        // A stream may go on for long after its configuration is gone.
        backend.pool.close()
      }
      return { pool: backend.pool, end }
    }
    return {
      openChosen: (options) =>
        Effect.gen(function* () {
          let choice: Choice | undefined
          let over = false
          const settled = yield* settling(nowhere, options, (settings) => {
            if (choice === undefined || over) return
            const before = choice
            choice = choose(settings)
            before.end()
          })
          return yield* Effect.acquireRelease(
            Effect.sync(() => {
              const first = choose(settled())
              choice = first
              return (target: Address) => (choice ?? first).at(target)
            }),
            () =>
              Effect.sync(() => {
                over = true
                choice?.end()
              })
          )
        }),
      open: (target, options) =>
        Effect.gen(function* () {
          let lease: Lease | undefined
          const settled = yield* settling(target, options, (settings) => lease?.change(settings))
          return yield* Effect.acquireRelease(
            Effect.sync(() => {
              const settings = settled()
              lease = new Lease(commonOf(target, settings), (changed) => use(target, changed), settings)
              return lease
            }),
            (lease) => Effect.sync(() => lease.end())
          )
        })
    }
  })
)

/** In place of an address, where the options alone are meant. */
const nowhere: Address = { kind: "tcp", host: "", port: 0, tls: false }
