/** What a configuration means, without serving it: compiled with the real ports, and closed again at once. */
import { Effect, Exit, Layer, Scope } from "effect"
import * as ConsoleLog from "../../layers/log/console.ts"
import * as Prometheus from "../../layers/metrics/prometheus.ts"
import type { RouteGraph } from "../pipeline/graph.ts"
import { Upstreams } from "../services/upstreams.ts"
import type { ConfigurationText } from "./check.ts"
import { standard } from "./dialect.ts"
import { defaultPortOptions, ports } from "./ports.ts"
import { type InvalidConfiguration, makeSnapshot } from "./snapshot.ts"

/** Nothing runs here, so nothing is to be said. */
const quiet = ConsoleLog.layer({ filter: "off", format: "text", write: () => {}, now: () => 0 })

/** Compiled, and closed again at once. */
const compiled = (source: ConfigurationText) =>
  Effect.flatMap(makeSnapshot(standard, source, Math.random), (snapshot) =>
    Effect.as(Scope.close(snapshot.scope, Exit.void), snapshot)
  )

const realPorts = Layer.provideMerge(ports(defaultPortOptions), Layer.merge(quiet, Prometheus.layer()))

/** The graph of every route. */
export const graphsOf = (source: ConfigurationText): Effect.Effect<ReadonlyArray<RouteGraph>, InvalidConfiguration> =>
  Effect.map(compiled(source), (snapshot) => snapshot.graphs()).pipe(Effect.provide(realPorts))

/** Hands every backend that it opens to somebody else. */
export const compiledOver = (
  source: ConfigurationText,
  upstreams: Upstreams["Service"]
): Effect.Effect<void, InvalidConfiguration> =>
  compiled(source).pipe(Effect.provideService(Upstreams, upstreams), Effect.provide(realPorts), Effect.asVoid)
