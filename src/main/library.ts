/**
 * Package export `headgate`: runs a configuration inside another program. No signal is caught, nothing is written and no
 * process ends; what was opened closes with the scope, or with `close`.
 */
import { Effect, Exit, Layer, Scope } from "effect"
import type { BindFailed } from "../../layers/http/address.ts"
import * as ConsoleLog from "../../layers/log/console.ts"
import * as Prometheus from "../../layers/metrics/prometheus.ts"
import type { Problem } from "../../spec/config/problem.ts"
import { policies } from "../../stages/registry.ts"
import type { Registry } from "../pipeline/registry.ts"
import type { AnyPolicy } from "../pipeline/stage.ts"
import type { Watchers } from "../pipeline/watchers.ts"
import { makeDistribution, type PolicyPorts, type Ports } from "./configuration/distribution.ts"
import { findingsOf } from "./configuration/findings.ts"
import { closed, realPorts } from "./configuration/offline.ts"
import { type InvalidSessionKey, portOptions, ports } from "./configuration/ports.ts"
import type { InvalidConfiguration } from "./configuration/snapshot.ts"
import { type ConfigurationSource, configurationText, fromFile, fromText } from "./configuration/source.ts"
import { run, type StartFailed } from "./proxy/run.ts"

export { BindFailed } from "../../layers/http/address.ts"
export { formatText, type Problem } from "../../spec/config/problem.ts"
export { InvalidSessionKey } from "./configuration/ports.ts"
export { InvalidConfiguration } from "./configuration/snapshot.ts"
export { UnreadableConfiguration } from "./configuration/source.ts"
export type { StartFailed } from "./proxy/run.ts"

/** The configuration: its text, or a file that is watched and reloaded when it changes. */
export type Configuration = string | { readonly file: string }

export interface StartOptions {
  /**
   * Stands for the environment, and the only one that is read: `$NAME` in the text, `HOME` for a leading `~`, the variables
   * that override settings (the reference page `environment`), `RUST_LOG` and `LOG_FORMAT` of the log, `SESSION_KEY`, and
   * `POD_NAME` of expressions. Of the process's own environment nothing is taken but what servers over stdio are started
   * with; give `process.env` to take all of it. OTEL_* are variables of the program `headgate` alone. Default: empty.
   */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /**
   * Where listeners, metrics and readiness listen that the configuration gives no address: an IP address, or `localhost`
   * for both loopbacks. An `address` of a gateway, `config.statsAddr` and `config.readinessAddr` win; the admin interface
   * has `config.adminAddr`. Default: all addresses of the machine.
   */
  readonly host?: string | undefined
  /** Lets the system choose every port; those of the configuration are then names, for `port`. Default: false. */
  readonly ephemeral?: boolean | undefined
  /** Takes each log line, with its line end. Default: nobody. */
  readonly log?: ((line: string) => void) | undefined
}

/** A gateway that runs in this process. */
export interface Headgate {
  /** The port that a listener is bound to, by its port in the configuration; `undefined` when there is none. */
  readonly port: (configured: number) => number | undefined
  /** The ports of the management servers; `undefined` for one that is off or on a socket. */
  readonly ports: {
    readonly admin: number | undefined
    readonly stats: number | undefined
    readonly readiness: number | undefined
  }
  /** Exchanges the configuration for another text. When it fails, nothing has changed. */
  readonly reload: (text: string) => Effect.Effect<void, InvalidConfiguration | BindFailed>
  /** Ends when somebody asked for a graceful shutdown through the admin interface. */
  readonly shutdownRequested: Effect.Effect<void>
  /** Who waits for requests to trace: see `headgate/trace`. */
  readonly watchers: Watchers
}

/** The same for programs that do not speak Effect. */
export interface OpenHeadgate extends Pick<Headgate, "port" | "ports" | "watchers">, AsyncDisposable {
  /** Rejects with `InvalidConfiguration` or `BindFailed`; then nothing has changed. */
  readonly reload: (text: string) => Promise<void>
  /** Stops accepting, lets requests finish, and releases everything. Later calls join the first. */
  readonly close: () => Promise<void>
}

const sourceOf = (configuration: Configuration): ConfigurationSource =>
  typeof configuration === "string" ? fromText(configuration) : fromFile(configuration.file)

/** What the policies of a registry need beyond what the proxy provides. */
type Missing<L extends ReadonlyArray<AnyPolicy>> = Exclude<PolicyPorts<L>, Ports>

/** A proxy of one's own. `layer` is asked for when its policies need services that the proxy does not have. */
export type HeadgateParts<L extends ReadonlyArray<AnyPolicy>> = { readonly registry: Registry<L> } & ([
  Missing<L>
] extends [never]
  ? { readonly layer?: undefined }
  : { readonly layer: Layer.Layer<Missing<L>> })

/** Makes a proxy from a registry that holds policies of one's own beside those of `headgate/policy`. */
export const makeHeadgate = <const L extends ReadonlyArray<AnyPolicy>>({ registry, layer }: HeadgateParts<L>) => {
  const distribution = makeDistribution(registry)
  // Without a layer nothing is missing: that is what the type of the parts says.
  const foreign = (layer ?? Layer.empty) as Layer.Layer<Missing<L>>

  /** Runs a configuration until the scope ends; then it drains. */
  const start = (
    configuration: Configuration,
    { env = {}, host, ephemeral, log }: StartOptions = {}
  ): Effect.Effect<Headgate, StartFailed | InvalidSessionKey, Scope.Scope> =>
    Effect.gen(function* () {
      const told = Layer.merge(
        ConsoleLog.layer({
          filter: env["RUST_LOG"] ?? "info",
          format: env["LOG_FORMAT"] === "json" ? "json" : "text",
          write: log ?? (() => {}),
          now: () => Date.now()
        }),
        Prometheus.layer()
      )
      const own = ports(yield* portOptions(env))
      // Built into the scope, and anew: two proxies of one program share nothing.
      const context = yield* Layer.build(Layer.fresh(Layer.mergeAll(Layer.provideMerge(own, told), foreign)))
      const running = yield* Effect.provideContext(
        run({ distribution, source: sourceOf(configuration), env, host, ephemeral }),
        context
      )
      const { gateway, reload, adminPort, statsPort, readinessPort, shutdownRequested } = running
      return {
        port: (configured: number) => gateway.listeners().find((listener) => listener.configured === configured)?.port,
        ports: { admin: adminPort, stats: statsPort, readiness: readinessPort },
        reload,
        shutdownRequested,
        watchers: gateway.watchers
      }
    })

  /** Runs a configuration until `close` is called. Rejects with the reason when it cannot start. */
  const open = async (configuration: Configuration, options?: StartOptions): Promise<OpenHeadgate> => {
    const scope = await Effect.runPromise(Scope.make())
    let closing: Promise<void> | undefined
    const close = () => {
      closing ??= Effect.runPromise(Scope.close(scope, Exit.void))
      return closing
    }
    const { port, ports, reload, watchers } = await Effect.runPromise(
      start(configuration, options).pipe(
        Scope.provide(scope),
        Effect.onError(() => Scope.close(scope, Exit.void))
      )
    )
    return {
      port,
      ports,
      watchers,
      reload: (text) => Effect.runPromise(reload(text)),
      close,
      [Symbol.asyncDispose]: close
    }
  }

  /**
   * Every problem of a configuration, as `headgatectl validate` tells them: mistakes, what this build does not serve (a
   * warning with the code `unavailable`), and what is doubtful. It is compiled, with the files that it names and the layer of
   * the policies' services; nothing is listened on, and nothing stays open. Rejects with `UnreadableConfiguration` alone.
   */
  const problems = (
    configuration: Configuration,
    { env = {} }: Pick<StartOptions, "env"> = {}
  ): Promise<ReadonlyArray<Problem>> => {
    const source = sourceOf(configuration)
    return Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const text = yield* source.read
          const context = yield* Layer.build(Layer.fresh(Layer.merge(realPorts, foreign)))
          const compiling = closed(distribution, configurationText(source, text, env))
          return yield* Effect.provideContext(findingsOf(compiling), context)
        })
      )
    )
  }

  return { start, open, problems, distribution }
}

/** The proxy with its own policies. */
export const { start, open, problems } = makeHeadgate({ registry: policies })
