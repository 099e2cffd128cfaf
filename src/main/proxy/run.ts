/** Runs a configuration until somebody ends it: the gateway, its management servers, and the watch over the file. */
import { Cause, Effect, Queue, type Scope } from "effect"
import { isLocal, parseAdminAddress } from "../../../layers/admin-address.ts"
import { watchFile } from "../../../layers/file-watch.ts"
import { type Address, addressOf, BindFailed, everywhere, show } from "../../../layers/http/address.ts"
import { type Answer, serveManagement } from "../../../layers/management-server.ts"
import type { Problem } from "../../../spec/config/problem.ts"
import { variables } from "../../../spec/environment.ts"
import { checkAtStart } from "../../check/aside.ts"
import { isIdle } from "../../check/idle-settings.ts"
import { suggestions } from "../../check/suggestions.ts"
import { compileExpression } from "../../compile/conditions.ts"
import { familyOf } from "../../http/ip.ts"
import { CallTimes, callTimes } from "../../pipeline/call-times.ts"
import { StageTimes, stageTimes } from "../../pipeline/latency.ts"
import { MirrorCounter, mirrorCounter } from "../../pipeline/mirrors.ts"
import { never, type Sampler } from "../../pipeline/sampling.ts"
import { Files } from "../../services/files.ts"
import { Log } from "../../services/log.ts"
import { Metrics } from "../../services/metrics.ts"
import type { SpanSink } from "../../services/span-sink.ts"
import { configDump } from "../admin/config-dump.ts"
import { liveBackends } from "../admin/live-endpoints.ts"
import { admin, type Readiness, readiness, scrape } from "../admin/management.ts"
import { memory } from "../admin/process-memory.ts"
import type { Distribution } from "../configuration/distribution.ts"
import { InvalidConfiguration, makeSnapshot } from "../configuration/snapshot.ts"
import { type ConfigurationSource, configurationText, type UnreadableConfiguration } from "../configuration/source.ts"
import { type Gateway, startGateway } from "./gateway.ts"
import { readied } from "./readied.ts"
import { buildInfo, gatherRuntime } from "./runtime-metrics.ts"

export interface RunOptions<R> {
  readonly distribution: Distribution<R>
  readonly source: ConfigurationSource
  readonly env: Readonly<Record<string, string | undefined>>
  readonly sampler?: Sampler | undefined
  readonly spans?: SpanSink["Service"] | undefined
  /** Where everything listens that names no address of its own: an IP address or `localhost`; default: all addresses of the machine. */
  readonly host?: string | undefined
  /** Lets the system choose every port, of listeners and management servers: those of the configuration are names alone. */
  readonly ephemeral?: boolean | undefined
}

/** A gateway that runs, and the wish to end it. */
export interface Running {
  readonly gateway: Gateway
  /** Exchanges the configuration for another text. When it fails, nothing has changed. */
  readonly reload: (text: string) => Effect.Effect<void, InvalidConfiguration | BindFailed>
  /** Ports of the management servers as bound; `undefined` for one that is off or on a socket. */
  readonly adminPort: number | undefined
  readonly statsPort: number | undefined
  readonly readinessPort: number | undefined
  /** Reads the configuration and the files that it names anew, whether they changed or not, and tells what came of it. */
  readonly reread: Effect.Effect<void>
  /** Not ready any more, then the listeners drain. */
  readonly drain: Effect.Effect<void>
  /** Ends when somebody asked for a graceful shutdown through the admin interface. */
  readonly shutdownRequested: Effect.Effect<void>
}

export type StartFailed = InvalidConfiguration | BindFailed | UnreadableConfiguration

export const run = <R>(
  options: RunOptions<R>
): Effect.Effect<Running, StartFailed, R | Files | Log | Metrics | Scope.Scope> =>
  Metrics.use((metrics) =>
    running(options).pipe(
      Effect.provideService(StageTimes, stageTimes(metrics)),
      Effect.provideService(CallTimes, callTimes(metrics)),
      Effect.provideService(MirrorCounter, mirrorCounter(metrics))
    )
  )

const running = <R>(
  options: RunOptions<R>
): Effect.Effect<Running, StartFailed, R | Files | Log | Metrics | Scope.Scope> =>
  Effect.gen(function* () {
    const { distribution, source, env, ephemeral = false } = options
    const log = yield* Log
    const metrics = yield* Metrics
    const files = yield* Files
    buildInfo(metrics).record(1)

    const configuration = (text: string) => configurationText(source, text, env)
    const text = yield* source.read
    const state: Readiness = { pending: new Set(["state manager", "headgate"]), draining: false }
    const clocks = { wall: () => Date.now(), monotonic: () => performance.now() }
    const first = yield* makeSnapshot(distribution, configuration(text), Math.random, checkAtStart)
    const { settings } = first.config
    log.configure({ filter: levelOf(settings.logging?.level), format: settings.logging?.format })
    metrics.remove(settings.metrics?.remove ?? [])
    const warn = (warnings: ReadonlyArray<Problem>) => {
      for (const { message, path, line, column, code } of warnings)
        log.log("warn", "proxy", path === "" ? message : `${path} ${message}`, {
          config: `${source.name}:${line}:${column}`,
          code
        })
    }
    warn(first.warnings)
    for (const variable of variables)
      if ((env[variable.name] ?? "") !== "" && isIdle(variable))
        log.log("warn", "proxy", `${variable.name} has no effect yet`)
    const address = (setting: string, given: string): Effect.Effect<Address | undefined, InvalidConfiguration> => {
      const found = parseAdminAddress(given)
      // The form was checked; that a number is an IP address is known only here.
      if (typeof found === "string")
        return Effect.fail(
          new InvalidConfiguration({ problems: [first.positions.locate({ path: setting, message: found })] })
        )
      return Effect.succeed(ephemeral && found !== undefined && found._tag !== "Unix" ? { ...found, port: 0 } : found)
    }
    const host = options.host ?? everywhere(settings.enableIpv6)
    if (host !== "localhost" && familyOf(host) === 0)
      return yield* new BindFailed({ address: host, setting: "host", code: "EINVAL" })
    const stop = yield* Queue.unbounded<true>()

    const serve = (component: string, setting: string, where: Address | undefined, answer: Answer) =>
      Effect.gen(function* () {
        if (where === undefined) return undefined
        const port = yield* serveManagement({ address: where, setting }, answer)
        log.log("info", "proxy", "listener established", {
          address: show(port === undefined || where._tag === "Unix" ? where : { ...where, port }),
          component
        })
        return port
      })

    /** The address of a management server that listens where the listeners do, unless the configuration says otherwise. */
    const beside = (port: number) => show(addressOf(host, port))
    const readinessAddress = yield* address("config.readinessAddr", settings.readinessAddr ?? beside(15_021))
    const readinessPort = yield* serve("readiness", "config.readinessAddr", readinessAddress, readiness(state))
    const statsPort = yield* serve(
      "stats",
      "config.statsAddr",
      yield* address("config.statsAddr", settings.statsAddr ?? beside(15_020)),
      yield* scrape(metrics)
    )

    const gateway = yield* startGateway(first, {
      distribution,
      ephemeral,
      host,
      clocks,
      random: Math.random,
      drain: {
        minimum: settings.connectionMinTerminationDeadline,
        deadline: settings.connectionTerminationDeadline
      },
      env: {
        podName: env["POD_NAME"] ?? null,
        namespace: settings.namespace ?? null,
        gateway: settings.gateway ?? null
      },
      sampler: options.sampler ?? never,
      spans: options.spans,
      retirement: settings.reloadTerminationDeadline,
      maxTotalBufferSize: settings.maxTotalBufferSize,
      overload: settings.overload
    })
    // Whoever asks before sending requests has to hear of it before a port refuses.
    const leave = Effect.sync(() => {
      state.draining = true
    })
    yield* Effect.addFinalizer(() => leave)
    log.log("info", "proxy", `loaded config from ${source.name}`)
    /** The problems of a text that was not taken over. */
    let refused: ReadonlyArray<Problem> | undefined
    gatherRuntime(metrics, () => gateway.snapshot().assembled)

    const adminAddress = yield* address("config.adminAddr", settings.adminAddr)
    const live = () => liveBackends(gateway.snapshot().assembled.choosing, clocks.wall())
    const adminPort = yield* serve(
      "admin",
      "config.adminAddr",
      adminAddress,
      yield* admin({
        configDump: () => {
          const { config, hidden } = gateway.snapshot()
          return configDump(config, hidden, live())
        },
        endpoints: live,
        problems: () => refused ?? gateway.snapshot().warnings,
        graphs: () => gateway.snapshot().graphs(),
        memory: () => memory(clocks.wall()),
        log,
        watchers: gateway.watchers,
        compileExpression,
        shutdown: () => {
          Queue.offerUnsafe(stop, true)
        },
        loopback: adminAddress !== undefined && isLocal(adminAddress)
      })
    )
    if (adminAddress !== undefined) {
      if (!isLocal(adminAddress))
        log.log("warn", "proxy", "the admin interface has no authentication and is reachable from other machines", {
          setting: "config.adminAddr"
        })
      if (adminPort !== undefined) log.log("info", "proxy", `serving admin interface at http://localhost:${adminPort}`)
    }
    state.pending.clear()

    /** The newest text, taken over or not. */
    let newest = text
    const reload = (text: string) =>
      Effect.suspend(() => {
        newest = text
        return gateway.reload(configuration(text))
      }).pipe(
        Effect.tapError((error) =>
          Effect.sync(() => {
            refused = error._tag === "InvalidConfiguration" ? error.problems : [atStart(source.name, error.message)]
          })
        ),
        Effect.tap(() =>
          Effect.sync(() => {
            refused = undefined
            warn(gateway.snapshot().warnings)
          })
        )
      )
    const reloadAndTell = (text: string) =>
      Effect.match(reload(text), {
        onSuccess: () => log.log("info", "proxy", `loaded config from ${source.name}`),
        onFailure: (error) => log.log("error", "proxy", `Failed to reload config: ${error.message}`)
      }).pipe(
        // Else nobody would follow the file any more.
        Effect.catchDefect((cause) =>
          Effect.sync(() =>
            log.log("error", "proxy", "Failed to reload config: a defect was contained", {
              error: Cause.pretty(Cause.die(cause))
            })
          )
        )
      )
    const reread = Effect.matchEffect(source.file === undefined ? Effect.sync(() => newest) : source.read, {
      onSuccess: reloadAndTell,
      onFailure: ({ message }) => Effect.sync(() => log.log("error", "proxy", `Failed to reload config: ${message}`))
    })
    if (source.file !== undefined) {
      log.log("info", "proxy", `Watching config file: ${source.file}`)
      yield* watchFile({ file: source.file, known: text, debounce: 250, changed: () => reread })
    }
    yield* Effect.flatMap(files.changed, (path) => {
      log.log("info", "proxy", `file changed: ${path}`)
      return reloadAndTell(newest)
    }).pipe(Effect.forever, Effect.forkScoped)
    for (const command of suggestions(text)) log.log("info", "proxy", `try: ${command}`)
    yield* Effect.forkScoped(readied)
    return {
      gateway,
      reload,
      adminPort,
      statsPort,
      readinessPort,
      reread,
      drain: Effect.andThen(leave, gateway.drain),
      shutdownRequested: Effect.asVoid(Queue.take(stop))
    }
  })

/** What is wrong with a file as a whole. */
const atStart = (file: string, message: string): Problem => ({
  file,
  line: 1,
  column: 1,
  path: "",
  message,
  severity: "error"
})

const levelOf = (level: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof level === "object" ? level.join(",") : level
