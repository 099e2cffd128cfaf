/**
 * The running gateway: sockets, the snapshot in force, and the exchange of one snapshot for the next. A new configuration
 * is compiled and its sockets are opened before anything changes; one assignment publishes it.
 */
import { Effect, Exit, Result, Scope, Semaphore } from "effect"
import { type Address, addressOf, type BindFailed, show } from "../../../layers/http/address.ts"
import { type Bound, type Clocks, type DrainOptions, listen, type TunnelEnd } from "../../../layers/http/listener.ts"
import { Overload, type OverloadLimits } from "../../../layers/http/overload.ts"
import { formatPath } from "../../../spec/config/path.ts"
import type { Code } from "../../../spec/warnings.ts"
import { checkAside } from "../../check/aside.ts"
import type { ConfigurationText } from "../../check/check.ts"
import { inSlices } from "../../check/time-slices.ts"
import type { AssembledBind } from "../../compile/assemble.ts"
import { HeldBytes } from "../../http/held-bytes.ts"
import type { Answer } from "../../http/message.ts"
import { makeAdmit } from "../../pipeline/admit.ts"
import { CallTimes, primaryCalls } from "../../pipeline/call-times.ts"
import { Contact } from "../../pipeline/contact.ts"
import { type Defect, NotFound } from "../../pipeline/errors.ts"
import type { Exchange, Settings } from "../../pipeline/exchange.ts"
import { Passage } from "../../pipeline/passage.ts"
import { makeRecorder, refusedConnections } from "../../pipeline/record.ts"
import { revealedText } from "../../pipeline/revealed.ts"
import { observedLoop, plainLoop } from "../../pipeline/run.ts"
import type { Sampler } from "../../pipeline/sampling.ts"
import { type Hooks, makeServe, noHooks } from "../../pipeline/serve.ts"
import { Spans } from "../../pipeline/spans.ts"
import type { TraceSettings } from "../../pipeline/trace.ts"
import type { Peer } from "../../pipeline/view.ts"
import { watchHooks, watchStages } from "../../pipeline/watch.ts"
import { Watchers } from "../../pipeline/watchers.ts"
import { Defects } from "../../services/defects.ts"
import { Log } from "../../services/log.ts"
import { Metrics } from "../../services/metrics.ts"
import type { SpanSink } from "../../services/span-sink.ts"
import type { Distribution } from "../configuration/distribution.ts"
import { InvalidConfiguration, makeSnapshot, type Snapshot } from "../configuration/snapshot.ts"
import { reportOverload } from "./overload-report.ts"
import { makeRelaying } from "./relaying.ts"
import { configurationGauges, heldBodies } from "./runtime-metrics.ts"

export interface GatewayOptions<R> {
  readonly distribution: Distribution<R>
  /** Where those listen whose bind names no address: an IP address, `::` for all, or `localhost`. */
  readonly host: string
  /** Lets the system choose every port: those of the configuration are names alone. */
  readonly ephemeral: boolean
  readonly clocks: Clocks
  readonly random: () => number
  readonly drain: DrainOptions
  readonly env: TraceSettings["env"]
  /** Which requests become spans, and where these go. */
  readonly sampler: Sampler
  readonly spans: SpanSink["Service"] | undefined
  /** Milliseconds that requests may stay on a configuration that was replaced, before they are cut. */
  readonly retirement: number
  /** Bytes of bodies that may be in memory. */
  readonly maxTotalBufferSize: number
  readonly overload: OverloadLimits
}

export interface Gateway {
  readonly snapshot: () => Snapshot
  readonly watchers: Watchers
  /** Exchanges the configuration. When it fails, nothing has changed. */
  readonly reload: (text: ConfigurationText) => Effect.Effect<void, InvalidConfiguration | BindFailed>
  /** The listeners: the key of the bind, its port in the configuration, and the port as bound; none on a unix socket. */
  readonly listeners: () => ReadonlyArray<{
    readonly key: string
    readonly configured: number
    readonly port: number | undefined
  }>
  /** Stops accepting, lets requests finish, then cuts what is left. */
  readonly drain: Effect.Effect<void>
}

/** The same hooks, with the calls of backends timed. */
const timed = (hooks: Hooks, { called }: ReturnType<typeof primaryCalls>): Hooks => ({
  ...hooks,
  called: (passage, error) => {
    called(passage)
    hooks.called(passage, error)
  }
})

/** A socket, and what it serves now. Exchanged as a whole by a reload. */
interface Open {
  readonly bind: AssembledBind
  readonly bound: Bound
  readonly scope: Scope.Closeable
}

/** Serves a snapshot, and closes it with everything else when the scope ends. */
export const startGateway = <R>(
  first: Snapshot,
  options: GatewayOptions<R>
): Effect.Effect<Gateway, BindFailed, R | Log | Metrics | Scope.Scope> =>
  Effect.gen(function* () {
    const ports = yield* Effect.context<R>()
    const log = yield* Log
    const metrics = yield* Metrics
    const { clocks } = options
    const { synchronized, held, outlived } = configurationGauges(metrics)
    const heldBytes = new HeldBytes(options.maxTotalBufferSize)
    heldBodies(metrics, heldBytes)
    const settingsOf = ({ hidden, frontend }: Snapshot): Settings => ({
      env: options.env,
      hidden,
      bodyLimit: frontend.bodyLimit,
      heldBytes
    })
    let current = first
    let currentSettings = settingsOf(first)
    /** Those that requests may run on, and what the exchanges of each are told. */
    const snapshots = new Map([[first, currentSettings]])

    /** Where a bind listens, by the port of the configuration: what its socket is known by from one snapshot to the next. */
    const placeOf = ({ address, port }: AssembledBind) => addressOf(address ?? options.host, port)
    /** What a socket speaks is the same as long as it is open. */
    const keyOf = (bind: AssembledBind) =>
      `${bind.internal ? `internal ${bind.key}` : show(placeOf(bind))}${spoken[bind.protocol]}`
    const indexed = ({ assembled }: Snapshot) => new Map(assembled.binds.map((bind) => [keyOf(bind), bind]))
    let bindsByPlace = indexed(current)
    const sockets = new Map<string, Open>()
    /** Those that a reload has given up, as long as somebody is connected. */
    const givenUp = new Set<Open>()

    const settings: TraceSettings = {
      env: options.env,
      clock: clocks.monotonic,
      get locate() {
        return current.locate
      }
    }
    const watchers = new Watchers(settings)
    const tell = yield* Defects
    const defect = ({ cause }: Defect) => tell("engine", cause)
    const calls = primaryCalls(yield* CallTimes, clocks.monotonic)
    const plain = makeServe(plainLoop(clocks.monotonic), timed(noHooks, calls), clocks.monotonic, defect)
    const observed = makeServe(
      observedLoop(clocks.monotonic, watchStages),
      timed(watchHooks, calls),
      clocks.monotonic,
      defect
    )
    const record = makeRecorder(log, metrics, clocks.monotonic)
    const { sampler, spans } = options

    const handle =
      (place: string) =>
      (x: Exchange): Effect.Effect<Answer> => {
        const snapshot = current
        x.settings = currentSettings
        snapshot.inFlight++
        const passage = new Passage(x)
        x.onFinished((outcome) => {
          snapshot.inFlight--
          calls.over(passage)
          record(passage, outcome)
        })
        try {
          const listener =
            bindsByPlace.get(place)?.listenerFor(x.request.host, x.peer.tls, x.request.method === "CONNECT") ?? noBind
          const sampled = spans === undefined ? undefined : sampler(x)
          if (sampled !== undefined) passage.watchedBy(new Spans(sampled.parent, clocks.monotonic, spans!.add))
          if (watchers.waiting) {
            const trace = watchers.claim(x)
            if (trace !== undefined) passage.watchedBy(trace)
          }
          return passage.watch === undefined ? plain(passage, listener) : observed(passage, listener)
        } catch (cause) {
          // Nodes cannot throw this far; whatever stands between them may not take the process with it.
          return Exit.die(cause)
        }
      }

    const relaying = makeRelaying(log, metrics, clocks.monotonic, watchers, () => [current, currentSettings])

    const refusals = refusedConnections(metrics, log, clocks.monotonic)
    const overload = new Overload(options.overload, clocks.monotonic, (cause) => tell("connection", cause))
    const turnedAway = reportOverload(metrics, log, overload)
    /** @param place where a port of that key listens. */
    const admitting = (bind: string, place: string) => {
      const admit = makeAdmit(
        clocks.monotonic,
        (contact, error) => {
          refusals.policy(bind, contact, error)
          if (watchers.waiting) watchers.refused(contact, error)
        },
        defect
      )
      return (peer: Peer): Effect.Effect<boolean> | undefined => {
        const snapshot = current
        const { admission } = bindsByPlace.get(place) ?? snapshot.assembled
        if (admission === undefined) return undefined
        const { wall, monotonic } = clocks
        const decision = admit(new Contact(peer, wall(), monotonic(), admission, options.env, watchers.waiting))
        if (Exit.isExit(decision)) return decision
        // What decides later needs what its configuration holds open.
        snapshot.inFlight++
        const decided = Effect.sync(() => {
          snapshot.inFlight--
        })
        return Effect.ensuring(decision, decided)
      }
    }

    /**
     * Where a tunnel to a port ends. A port of one address alone is for those who reach that address, and a tunnel leads nobody
     * around it.
     */
    const tunnelEnd = (from: AssembledBind, port: number): TunnelEnd | undefined => {
      const { binds } = current.assembled
      const isOpen = (bind: AssembledBind) =>
        bind.internal || isEverywhere(placeOf(bind)) || (bind.address === undefined && from.address === undefined)
      const bind =
        binds.find((bind) => bind.port === port && isOpen(bind)) ??
        binds.find((bind) => bind.internal && bind.port === 0)
      return bind && sockets.get(keyOf(bind))?.bound
    }

    const openSocket = (bind: AssembledBind): Effect.Effect<Open, BindFailed> =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const place = placeOf(bind)
        const key = keyOf(bind)
        const bound = yield* listen({
          address: bind.internal
            ? undefined
            : options.ephemeral && place._tag !== "Unix"
              ? { ...place, port: 0 }
              : place,
          setting: settingOf(bind),
          handle: handle(key),
          admit: admitting(bind.key, key),
          relayed: relaying(bind, () => bindsByPlace.get(key)),
          tls: bind.tls === undefined ? undefined : () => bindsByPlace.get(key)?.tls ?? bind.tls,
          overload,
          turnedAway: (what, cause) => turnedAway(bind.key, what, cause),
          proxyProtocol: () => current.assembled.listening.proxyProtocol,
          handshakeFailed: (source, detail, why) => refusals[why](bind.key, source, detail),
          http2Ended: (source, cause) => refusals.session(bind.key, source, cause),
          clocks,
          limits: () => {
            const { limits, tunnelLimits } = current.frontend
            return bindsByPlace.get(key)?.tunnels === true ? tunnelLimits : limits
          },
          tunnelEnd: (port) => tunnelEnd(bindsByPlace.get(key) ?? bind, port),
          defect: (cause) => tell("connection", cause),
          drain: options.drain
        }).pipe(
          Scope.provide(scope),
          Effect.onError(() => Scope.close(scope, Exit.void))
        )
        return { bind, bound, scope }
      })

    /**
     * Opens the sockets that a configuration needs beyond those that are open. All of them, or none: an open socket that
     * stands in the way of one on the same port, and is not needed any more, gives way first and comes back when it fails.
     */
    const openMissing = (next: Snapshot) =>
      Effect.gen(function* () {
        const needed = indexed(next)
        const opened = new Map<string, Open>()
        const aside: Array<Open> = []
        const undo = Effect.gen(function* () {
          yield* dismiss(opened.values())
          for (const { bind } of aside) yield* comeBack(bind)
        })
        for (const [place, bind] of needed) {
          if (sockets.has(place)) continue
          const inTheWay = [...sockets].flatMap(([other, open]) =>
            (placeOf(bind)._tag === "Unix"
              ? show(placeOf(open.bind)) === show(placeOf(bind))
              : open.bind.port === bind.port) && !needed.has(other)
              ? [open]
              : []
          )
          const open = yield* openSocket(bind).pipe(
            Effect.catchIf(
              ({ code }) => code === "EADDRINUSE" && inTheWay.length > 0,
              () => {
                aside.push(...inTheWay)
                return Effect.andThen(
                  Effect.forEach(inTheWay, ({ bound }) => bound.close, { discard: true }),
                  openSocket(bind)
                )
              }
            ),
            Effect.onError(() => undo)
          )
          opened.set(place, open)
        }
        return opened
      })

    /** Opens a socket again that gave way. The connections of the old one end as those of a socket that is not needed. */
    const comeBack = (bind: AssembledBind) =>
      Effect.gen(function* () {
        const place = keyOf(bind)
        const before = sockets.get(place)
        const again = yield* Effect.result(openSocket(bind))
        if (Result.isSuccess(again)) sockets.set(place, again.success)
        else {
          sockets.delete(place)
          log.log("error", "proxy", again.failure.message)
        }
        if (before !== undefined) yield* Effect.forkIn(dismiss([before]), background, { startImmediately: true })
      })

    /**
     * Nobody is served there any more: they stop accepting at once, whatever time a shutdown would leave them. What is under
     * way there runs on a configuration that is retired, which cuts it in the end; the deadline here is for what is not.
     */
    const dismiss = (unneeded: Iterable<Open>) =>
      Effect.forEach(
        unneeded,
        (open) => {
          givenUp.add(open)
          const drained = open.bound.drain({ minimum: 0, deadline: options.retirement + 1000 })
          return Effect.andThen(
            drained,
            Effect.suspend(() => {
              givenUp.delete(open)
              return Scope.close(open.scope, Exit.void)
            })
          )
        },
        { concurrency: "unbounded", discard: true }
      )

    const publish = (next: Snapshot, opened: ReadonlyMap<string, Open>) => {
      const before = bindsByPlace
      const isOtherwise = decidesOtherwise(current.assembled, next.assembled)
      currentSettings = settingsOf(next)
      snapshots.set(next, currentSettings)
      held.record(snapshots.size)
      current = next
      bindsByPlace = indexed(next)
      for (const [place, bind] of bindsByPlace) {
        bind.tls?.whenReplaced(() => readmit(place))
        readmit(place)
      }
      for (const [place, { bound }] of sockets) {
        const bind = bindsByPlace.get(place)
        if (bind === undefined ? isOtherwise : decidesOtherwise(before.get(place), bind)) bound.decideAnew(notAdmitted)
      }
      if (isOtherwise) for (const { bound } of givenUp) bound.decideAnew(notAdmitted)
      for (const [place, open] of opened) {
        sockets.set(place, open)
        const address = open.bind.internal ? "internal" : open.bound.addresses.join(",")
        log.log("info", "proxy", "started bind", { bind: open.bind.key, address })
      }
      synchronized.record(1)
    }

    /** Whoever would not be let in any more has no business here: its certificate may have been withdrawn. */
    const readmit = (place: string) => {
      const ended = sockets.get(place)?.bound.readmit(notAdmitted) ?? 0
      if (ended > 0)
        log.log("info", "proxy", "connections that would not be admitted any more were ended", {
          bind: bindsByPlace.get(place)?.key ?? "",
          connections: String(ended)
        })
    }

    /** The next configuration may want their ports back. */
    const closeUnused = Effect.suspend(() => {
      const unused = [...sockets].filter(([place]) => !bindsByPlace.has(place))
      for (const [place] of unused) sockets.delete(place)
      return dismiss(unused.map(([, open]) => open))
    })

    /**
     * A replaced snapshot is let go when its last request is over, or when its time is up: then requests that still run on
     * it, streams and tunnels, are cut.
     */
    const retire = (old: Snapshot) => {
      const until = clocks.monotonic() + options.retirement
      return Effect.gen(function* () {
        while (old.inFlight > 0 && clocks.monotonic() < until) yield* Effect.sleep("100 millis")
        let cut = 0
        for (const { bound } of [...sockets.values(), ...givenUp])
          cut += bound.cutRequests((x) => x.settings === snapshots.get(old), "its configuration was replaced")
        outlived.record(cut)
        if (cut > 0)
          log.log("warn", "proxy", "requests that outlived their configuration were cut", { requests: String(cut) })
        yield* Scope.close(old.scope, Exit.void)
        snapshots.delete(old)
        held.record(snapshots.size)
      })
    }

    const background = yield* Effect.scope
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() =>
        Effect.forEach(snapshots.keys(), ({ scope }) => Scope.close(scope, Exit.void), { discard: true })
      )
    )
    /** A shutdown leaves nobody more time than itself. */
    const everySocket = () => {
      for (const { bound } of givenUp) bound.hasten(options.drain.deadline)
      return [...sockets.values(), ...givenUp]
    }
    yield* Effect.addFinalizer(() => Effect.suspend(() => closeAll(everySocket())))
    publish(current, yield* openMissing(current))

    const oneAtATime = yield* Semaphore.make(1)
    const reload = (text: ConfigurationText) =>
      Effect.gen(function* () {
        // Only this is long; what is opened after it serves requests, and those are nobody's slices.
        const next = yield* inSlices(makeSnapshot(options.distribution, text, options.random, checkAside))
        // An emptied or truncated file is likelier than the wish to close every port, which the end of the process fulfils.
        const nothing = next.warnings.find(({ code }) => code === servesNothing)
        if (nothing !== undefined) {
          yield* Scope.close(next.scope, Exit.void)
          return yield* new InvalidConfiguration({ problems: [{ ...nothing, severity: "error" }] })
        }
        const opened = yield* Effect.onError(openMissing(next), () => Scope.close(next.scope, Exit.void))
        const old = current
        publish(next, opened)
        yield* Effect.forkIn(retire(old), background)
        yield* Effect.forkIn(closeUnused, background, { startImmediately: true })
      }).pipe(
        Effect.onError(() => Effect.sync(() => synchronized.record(0))),
        Effect.provideContext(ports),
        oneAtATime.withPermits(1)
      )

    return {
      snapshot: () => current,
      watchers,
      reload,
      listeners: () =>
        current.assembled.binds.map((bind) => ({
          key: bind.key,
          configured: bind.port,
          port: sockets.get(keyOf(bind))?.bound.port
        })),
      drain: Effect.suspend(() =>
        Effect.forEach(everySocket(), ({ bound }) => bound.drain(options.drain), {
          concurrency: "unbounded",
          discard: true
        })
      )
    }
  })

/** Whether whoever reaches the machine reaches it. */
const isEverywhere = (place: Address): boolean =>
  place._tag === "Tcp" && (place.host === "::" || place.host === "0.0.0.0")

/** What is said of a socket in what it is known by. */
const spoken: Readonly<Record<AssembledBind["protocol"], string>> = { http: "", tls: " with TLS", tcp: " of TCP" }

const notAdmitted = "its connection is not admitted any more"

/** Whether policies may decide otherwise of connections that stand. */
const decidesOtherwise = (
  before: Pick<AssembledBind, "admission"> | undefined,
  { admission }: Pick<AssembledBind, "admission">
): boolean =>
  admission !== undefined && revealedText(admission.effective()) !== revealedText(before?.admission?.effective())

/** What is left of a port that the configuration does not have any more. */
const noBind = new NotFound({ what: "listener" })

const closeAll = (open: Iterable<Open>) =>
  Effect.forEach(open, ({ scope }) => Scope.close(scope, Exit.void), { concurrency: "unbounded", discard: true })

/** A warning at the start, and an error for what is served already. */
const servesNothing: Code = "serves-nothing"

/** The configuration that decides where a bind listens. */
const settingOf = ({ path, address }: AssembledBind): string => {
  const fields = address === undefined ? ["port"] : address.startsWith("unix:") ? ["address"] : ["address", "port"]
  return fields.map((field) => formatPath([...path, field])).join(" or ")
}
