/** What a configuration means, without serving it: compiled with the real ports, and closed again at once. */
import { Effect, Exit, Layer, Scope } from "effect"
import * as ConsoleLog from "../../layers/log/console.ts"
import * as Prometheus from "../../layers/metrics/prometheus.ts"
import type { Problem } from "../../spec/config/problem.ts"
import type { RouteGraph } from "../pipeline/graph.ts"
import { type Checked, type ConfigurationText, check } from "./check.ts"
import { standard } from "./dialect.ts"
import { defaultPortOptions, ports } from "./ports.ts"
import { type InvalidConfiguration, makeSnapshot, type Snapshot } from "./snapshot.ts"

/** Nothing runs here, so nothing is to be said. */
const quiet = ConsoleLog.layer({ filter: "off", format: "text", write: () => {}, now: () => 0 })

/** Compiles a text that was checked, looks at what came of it, and closes it. */
const compiled = <A>(
  source: ConfigurationText,
  checked: Checked,
  look: (snapshot: Snapshot) => A
): Effect.Effect<A, InvalidConfiguration> =>
  Effect.flatMap(
    makeSnapshot(standard, source, Math.random, () => Effect.succeed(checked)),
    (snapshot) => Effect.as(Scope.close(snapshot.scope, Exit.void), look(snapshot))
  ).pipe(Effect.provide(Layer.provideMerge(ports(defaultPortOptions), Layer.merge(quiet, Prometheus.layer()))))

/** The graph of every route. */
export const graphsOf = (source: ConfigurationText): Effect.Effect<ReadonlyArray<RouteGraph>, InvalidConfiguration> =>
  Effect.suspend(() => compiled(source, check(source), (snapshot) => snapshot.graphs()))

/** What in a text that was checked does not compile all the same, or asks for what this build does not have. */
export const uncompilable = (source: ConfigurationText, checked: Checked): Effect.Effect<ReadonlyArray<Problem>> =>
  Effect.match(
    compiled(source, checked, () => []),
    {
      onFailure: ({ problems }) => problems,
      onSuccess: (none) => none
    }
  )
