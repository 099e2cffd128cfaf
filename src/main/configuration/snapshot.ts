/**
 * One configuration, compiled and ready to serve, with everything that it holds open. A reload makes a new one; requests
 * in flight finish on the one they started with.
 */
import { Data, Effect, Exit, Scope } from "effect"
import type { Positions } from "../../../spec/config/positions.ts"
import { countOf, formatText, inOrder, type Problem } from "../../../spec/config/problem.ts"
import { type Checked, type ConfigurationText, check, isFollowing, type Language } from "../../check/check.ts"
import type { Assembled } from "../../compile/assemble.ts"
import { type RouteGraph, routeGraph, streamGraph } from "../../pipeline/graph.ts"
import type { Hidden } from "../../pipeline/hidden.ts"
import type { ConfigPath } from "../../pipeline/stage.ts"
import type { Normalised } from "../../routing/normalised.ts"
import type { Random } from "../../routing/weights.ts"
import { ConfigurationFolder } from "../../services/files.ts"
import type { Distribution } from "./distribution.ts"
import { type Frontend, frontendOf } from "./frontend.ts"

/** A configuration that cannot be served. */
export class InvalidConfiguration extends Data.TaggedError("InvalidConfiguration")<{
  /** In the order of the text. */
  readonly problems: ReadonlyArray<Problem>
  /** What is doubtful besides. */
  readonly warnings?: ReadonlyArray<Problem> | undefined
}> {
  override get message() {
    return `${formatText(this.problems)}\n${countOf(this.problems)}`
  }
}

export interface Snapshot {
  readonly config: Normalised
  readonly assembled: Assembled
  readonly positions: Positions
  readonly warnings: ReadonlyArray<Problem>
  /** `config.yaml:41:13 routes[2].policies.cors`. */
  readonly locate: (path: ConfigPath) => string
  /** What logs and traces of its requests do not show. */
  readonly hidden: Hidden
  readonly frontend: Frontend
  readonly graphs: () => ReadonlyArray<RouteGraph>
  readonly scope: Scope.Closeable
  /** Requests that started on it and are not over. */
  inFlight: number
}

/**
 * Compiles a configuration text. Nothing is listened on yet; what it opens closes with the snapshot's scope.
 * @param read how the text is checked; at once, unless requests are served meanwhile.
 */
export const makeSnapshot = <R>(
  distribution: Distribution<R>,
  source: ConfigurationText,
  random: Random,
  read: (source: ConfigurationText, language: Language) => Effect.Effect<Checked> = (source, language) =>
    Effect.sync(() => check(source, language))
): Effect.Effect<Snapshot, InvalidConfiguration, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    const { config, positions, rest, hidden, problems } = yield* read(source, distribution)
    if (positions === undefined || (config === undefined && rest === undefined))
      return yield* new InvalidConfiguration({ problems })
    const scope = yield* Scope.make()
    const assembling = distribution.assemble(config ?? rest!.config, random).pipe(
      Effect.provideService(ConfigurationFolder, source.folder),
      Scope.provide(scope),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
    if (config === undefined) {
      const further = yield* Effect.match(assembling, { onFailure: (found) => found, onSuccess: () => [] })
      yield* Scope.close(scope, Exit.void)
      const added = further.filter((problem) => !isFollowing(rest!, problem)).map((each) => positions.locate(each))
      const [errors, warnings] = parted([...problems, ...added])
      return yield* new InvalidConfiguration({ problems: inOrder(errors), warnings })
    }
    const assembled = yield* Effect.mapError(
      assembling,
      (found) =>
        new InvalidConfiguration({
          problems: inOrder(found.map((problem) => positions.locate(problem))),
          warnings: problems
        })
    )
    const locate = (path: ConfigPath) => {
      const { line, column } = positions.at(path)
      return `${source.name}:${line}:${column} ${positions.show(path)}`
    }
    return {
      config,
      assembled,
      positions,
      warnings: problems,
      locate,
      hidden,
      frontend: frontendOf(config.frontend),
      graphs: () => graphsOf(assembled, positions, source.name),
      scope,
      inFlight: 0
    }
  })

const parted = (problems: ReadonlyArray<Problem>) => {
  const { error = [], warning = [] } = Object.groupBy(problems, ({ severity }) => severity)
  return [error, warning] as const
}

/** A way that leads to no backend is drawn, too. */
const orNone = <B>(backends: ReadonlyArray<B>): ReadonlyArray<B | undefined> =>
  backends.length === 0 ? [undefined] : backends

const graphsOf = (assembled: Assembled, positions: Positions, file: string): ReadonlyArray<RouteGraph> => {
  const source = {
    text: positions.show,
    position: (path: ConfigPath) => {
      const { line, column } = positions.at(path)
      return `${file}:${line}:${column}`
    }
  }
  const ofRequests = assembled.routes.flatMap(({ listener, route, backends }) =>
    orNone(backends).map((backend) => routeGraph(source, listener, route, backend))
  )
  const ofStreams = assembled.streams.flatMap(({ listener, route, backends }) =>
    orNone(backends).map((backend) => streamGraph(source, listener, route, backend))
  )
  return [...ofRequests, ...ofStreams]
}
