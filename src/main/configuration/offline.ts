/** What a configuration means, without serving it: compiled with the real ports, and closed again at once. */
import { Effect, Exit, Layer, Scope } from "effect"
import * as ConsoleLog from "../../../layers/log/console.ts"
import * as Prometheus from "../../../layers/metrics/prometheus.ts"
import type { ConfigurationText } from "../../check/check.ts"
import type { RouteGraph } from "../../pipeline/graph.ts"
import { Upstreams } from "../../services/upstreams.ts"
import { type Distribution, standard } from "./distribution.ts"
import { defaultPortOptions, ports } from "./ports.ts"
import { type InvalidConfiguration, makeSnapshot, type Snapshot } from "./snapshot.ts"

/** Nothing runs here, so nothing is to be said. */
const quiet = ConsoleLog.layer({ filter: "off", format: "text", write: () => {}, now: () => 0 })

/** What the proxy's own policies and terminals need. */
export const realPorts = Layer.provideMerge(ports(defaultPortOptions), Layer.merge(quiet, Prometheus.layer()))

/** A snapshot that is closed already: what it says of itself is all there is to it. */
export const closed = <R>(
  distribution: Distribution<R>,
  source: ConfigurationText
): Effect.Effect<Snapshot, InvalidConfiguration, Exclude<R, Scope.Scope>> =>
  Effect.tap(makeSnapshot(distribution, source, Math.random), ({ scope }) => Scope.close(scope, Exit.void))

/** The same of what `headgate` itself understands. */
export const compiled = (source: ConfigurationText): Effect.Effect<Snapshot, InvalidConfiguration> =>
  Effect.provide(closed(standard, source), realPorts)

/** The same, with every backend that it opens handed to somebody else. */
export const compiledOver = (
  source: ConfigurationText,
  upstreams: Upstreams["Service"]
): Effect.Effect<Snapshot, InvalidConfiguration> =>
  closed(standard, source).pipe(Effect.provideService(Upstreams, upstreams), Effect.provide(realPorts))

/** The graph of every route. */
export const graphsOf = (source: ConfigurationText): Effect.Effect<ReadonlyArray<RouteGraph>, InvalidConfiguration> =>
  Effect.map(compiled(source), (snapshot) => snapshot.graphs())
