/** A whole configuration in memory: routes, policies and backends as the proxy compiles them, without a socket. */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as Prometheus from "../../../layers/metrics/prometheus.ts"
import type { Plan } from "../../pipeline/attempts.ts"
import { NotFound } from "../../pipeline/errors.ts"
import { stepIds } from "../../pipeline/graph.ts"
import type { Listener } from "../../pipeline/route.ts"
import { McpProcess } from "../../protocols/mcp/process.ts"
import { Metrics } from "../../services/metrics.ts"
import { type Distribution, type Ports, standard } from "../configuration/distribution.ts"
import { defaultPortOptions, ports } from "../configuration/ports.ts"
import { type InvalidConfiguration, makeSnapshot } from "../configuration/snapshot.ts"
import type { Request } from "./arbitraries.ts"
import { type Played, type PlayOptions, play } from "./play.ts"
import type { Drawn } from "./transitions.ts"
import { World, type WorldOptions } from "./world.ts"

export interface WholeOptions<R = Ports> extends WorldOptions {
  /** Stands for the environment in the configuration. Default: empty. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** The distribution of `makeHeadgate`, for configurations with policies of one's own. Default: the proxy's. */
  readonly distribution?: Distribution<R> | undefined
  /** How often every route may call its backend for one request. Default: as configured. */
  readonly plan?: Plan | undefined
}

/** A request with nothing about it. */
export const plainRequest: Request = {
  method: "GET",
  scheme: "http",
  authority: "shop.example",
  path: "/",
  headers: [],
  body: undefined,
  prefix: undefined
}

/** A compiled configuration, and the world around it. */
export interface Whole {
  readonly world: World
  /** Each way through a route to a backend: its graph, and which of the nodes a step is. */
  readonly ways: ReadonlyArray<Drawn>
  /** The text of its metrics. */
  readonly metrics: Effect.Effect<string>
  /** Sends a request to a port of the configuration, by default the first one. Whether it is watched: by default yes. */
  readonly send: (
    request: Request,
    options?: Pick<PlayOptions, "answered"> & { readonly port?: number | undefined; readonly watched?: boolean }
  ) => Effect.Effect<Played>
}

/**
 * Compiles a configuration. Backends, the servers that policies ask and MCP servers behind HTTP are those of the options; an
 * MCP target that is a command is really started.
 */
export const whole = <R = Ports>(
  text: string,
  options: WholeOptions<R> = {}
): Effect.Effect<Whole, InvalidConfiguration, Exclude<R, Ports> | Scope.Scope> =>
  Effect.gen(function* () {
    const world = new World(options)
    // The default is the distribution whose services are R by default.
    const distribution = (options.distribution ?? standard) as Distribution<R>
    const told = Layer.merge(world.layer, Prometheus.layer())
    const built = yield* Layer.build(
      Layer.fresh(Layer.mergeAll(Layer.provideMerge(ports(defaultPortOptions), told), world.layer, world.upstreams))
    )
    // Sessions and calls of MCP live by the time of the world, too.
    const clock = { now: world.clock, after: world.time.later }
    const context = Context.add(built, McpProcess, { ...Context.get(built, McpProcess), clock })
    const snapshot = yield* Effect.acquireRelease(
      Effect.provideContext(
        makeSnapshot(distribution, { name: "<inline>", text, env: options.env ?? {} }, Math.random),
        context
      ),
      ({ scope }) => Scope.close(scope, Exit.void)
    )
    const { binds, routes } = snapshot.assembled
    const ids = routes.flatMap(({ listener, route, backends }) =>
      (backends.length === 0 ? [undefined] : backends).map((backend) => stepIds(listener, route, backend))
    )
    return {
      world,
      // Those of requests come first.
      ways: snapshot
        .graphs()
        .slice(0, ids.length)
        .map((graph, index) => ({ graph, ids: ids[index]! })),
      metrics: Effect.promise(async () => (await Context.get(built, Metrics).scrape()).text),
      send: (request, { port, watched = true, answered } = {}) => {
        const bind = port === undefined ? binds[0] : binds.find((each) => each.port === port)
        const listener = bind?.listenerFor(request.authority.replace(/:[0-9]+$/, ""), undefined) ?? noBind
        return play("_tag" in listener ? listener : planned(listener, options.plan), request, world, watched, {
          paths: snapshot.frontend.limits.paths,
          answered
        })
      }
    }
  })

const noBind = new NotFound({ what: "bind" })

const planned = (listener: Listener, plan: Plan | undefined): Listener =>
  plan === undefined
    ? listener
    : {
        ...listener,
        select: (x) => {
          const selection = listener.select(x)
          const { route } = selection
          return route === undefined ? selection : { ...selection, route: { ...route, plan } }
        }
      }
