/**
 * A normalised configuration becomes what the engine runs: every policy and terminal compiled, every route in its table.
 * All problems are found in one go; nothing is served before there are none.
 */
import { Effect, Result, type Scope } from "effect"
import type { Plan } from "../pipeline/attempts.ts"
import { emptySite, responseSteps, type SiteGraph } from "../pipeline/compile.ts"
import type { Admission } from "../pipeline/contact.ts"
import { NoBackend, NotFound } from "../pipeline/errors.ts"
import { StageTimes } from "../pipeline/latency.ts"
import type { ListenerOptions } from "../pipeline/listener-policy.ts"
import type { Registry, Services } from "../pipeline/registry.ts"
import type { Backend, Listener, Route } from "../pipeline/route.ts"
import type { Step } from "../pipeline/run.ts"
import { type ConfigPath, type ConfigProblem, unavailable } from "../pipeline/stage.ts"
import { makeWays, type Ways } from "../pipeline/sub-call.ts"
import { type Attached, attachments, frontendAttachments } from "../routing/attach.ts"
import { compileListeners } from "../routing/listeners.ts"
import { isAbsent, namedBy } from "../routing/lookup.ts"
import { type Merging, merging } from "../routing/merge.ts"
import type * as Normalised from "../routing/normalised.ts"
import { chainKey, delegates, selection, type Tabled } from "../routing/selection.ts"
import { compileRoutes, type RouteEntry, type RouteTable } from "../routing/table.ts"
import { missing } from "../routing/unavailable.ts"
import { type Random, weightedChoice } from "../routing/weights.ts"
import { Backends, type ChoosingBackend } from "./backends.ts"
import { compileListenerTls, type FollowedListenerTls, tlsDefaults } from "./listener-tls.ts"
import { Lookup } from "./lookup.ts"
import { availableIn, type Parts } from "./parts.ts"
import { type Compiling, Problems } from "./problems.ts"
import {
  type BindTls,
  bindTls,
  byHost,
  byServerName,
  type ListenerFor,
  type Served,
  type StreamsFor,
  streamsByServerName
} from "./served-ports.ts"
import { listenerOptions, Sites } from "./sites.ts"
import { compileStreamListener, type ServedStreamRoute } from "./stream-routes.ts"

/** A port to listen on. */
export interface AssembledBind {
  readonly key: string
  readonly port: number
  /** As the configuration writes it; `undefined` where it says nothing. */
  readonly address: string | undefined
  /** It opens no socket: whoever reaches it came through a tunnel. */
  readonly internal: boolean
  /** Nothing is served there but tunnels. */
  readonly tunnels: boolean
  readonly path: ConfigPath
  /** What its connections are, before anything is known of one. */
  readonly protocol: Normalised.Bind["protocol"]
  /** What decides about its connections, if anything does. */
  readonly admission: Admission | undefined
  readonly listenerFor: ListenerFor
  /** Absent: all of them bear requests. */
  readonly streamsFor: StreamsFor | undefined
  /** What clients meet before HTTP; absent without TLS. */
  readonly tls: BindTls | undefined
}

/** A route as a listener serves it, with the backends that it may reach: what its graph is drawn from. */
export interface ServedRoute {
  readonly listener: Listener
  readonly route: Route
  readonly backends: ReadonlyArray<Backend>
}

export interface Assembled {
  readonly binds: ReadonlyArray<AssembledBind>
  readonly routes: ReadonlyArray<ServedRoute>
  readonly streams: ReadonlyArray<ServedStreamRoute>
  /** What decides about the connections of clients at any port, if anything does. */
  readonly admission: Admission | undefined
  /** How connections of clients are taken, before anything decides about them. */
  readonly listening: ListenerOptions
  readonly choosing: ReadonlyArray<ChoosingBackend>
}

export const assemble = <R extends Registry>(
  parts: Parts<R>,
  config: Normalised.Normalised
): Effect.Effect<Assembled, ReadonlyArray<ConfigProblem>, Services<R["policies"]> | Scope.Scope> =>
  Effect.gen(function* () {
    return yield* new Assembly(parts, config, yield* StageTimes, yield* makeWays).run()
  })

interface CompiledRoute {
  readonly route: Route
  readonly backends: ReadonlyArray<Backend>
}

/** The tables of one listener while they are made. */
interface Tables {
  readonly gateway: SiteGraph
  readonly attached: Attached
  readonly chains: Map<string, Route>
  readonly groups: Map<string, RouteTable<Tabled>>
  readonly routes: Array<CompiledRoute>
}

class Assembly {
  readonly #parts: Parts<Registry>
  readonly #config: Normalised.Normalised
  readonly #merge: Merging
  readonly #problems = new Problems()
  readonly #lookup: Lookup
  readonly #sites: Sites
  readonly #attachedToPort: ReturnType<typeof frontendAttachments>
  readonly #attachedTo: (listener: Normalised.Listener | undefined) => Attached
  readonly #backends: Backends
  readonly #routes: Array<ServedRoute> = []
  readonly #streams: Array<ServedStreamRoute> = []
  #admission: Admission | undefined = undefined
  readonly #reached = new Set<Normalised.RouteGroup>()
  readonly #tlsDefaults: ReturnType<typeof tlsDefaults>

  constructor(parts: Parts<Registry>, config: Normalised.Normalised, times: StageTimes, ways: Ways) {
    const merge = merging(parts.specs)
    const lookup = new Lookup(config)
    const sites = new Sites(parts.registry, parts.compileCondition, this.#problems)
    const attachedTo = attachments(config)
    this.#parts = parts
    this.#config = config
    this.#merge = merge
    this.#lookup = lookup
    this.#sites = sites
    this.#attachedTo = attachedTo
    this.#attachedToPort = frontendAttachments(config)
    this.#tlsDefaults = tlsDefaults(config.frontend)
    const attached = attachedTo(undefined)
    const problems = this.#problems
    this.#backends = new Backends({ parts, config, merge, sites, lookup, problems, times, ways, attached })
  }

  run(): Compiling<Assembled> {
    return this.#backends.referredTo(this.#assembled())
  }

  #assembled(): Compiling<Assembled> {
    return Effect.gen({ self: this }, function* () {
      const binds: Array<AssembledBind> = []
      for (const problem of yield* missing(this.#config, this.#parts.specs, availableIn(this.#parts)))
        this.#problems.add(problem)
      const { frontend } = this.#config
      this.#admission = yield* this.#sites.admission(
        this.#merge.frontend([{ level: "gateway", key: "", policies: frontend.policies }])
      )
      for (const problem of this.#tlsDefaults.problems) this.#problems.add(problem)
      for (const bind of this.#config.binds) {
        const assembled = yield* this.#bind(bind)
        if (assembled !== undefined) binds.push(assembled)
      }
      const listening = listenerOptions(this.#parts.listeners, frontend.policies)
      const { choosing } = this.#backends
      yield* Effect.scoped(this.#unreached())
      const problems = this.#problems.list
      if (problems.length > 0) return yield* Effect.fail(problems)
      return { binds, routes: this.#routes, streams: this.#streams, admission: this.#admission, listening, choosing }
    })
  }

  #bind(bind: Normalised.Bind): Compiling<AssembledBind | undefined> {
    return Effect.gen({ self: this }, function* () {
      const { mode, tunnelProtocol } = bind
      if (tunnelProtocol !== "direct" && tunnelProtocol !== "connect")
        this.#problems.add(unavailable([...bind.path, "tunnelProtocol"], `tunnelProtocol ${tunnelProtocol}`))
      const tunnels = tunnelProtocol === "connect"
      const admission = yield* this.#admissionOf(bind)
      const listeners: Array<{ readonly hostname: string; readonly value: Served }> = []
      for (const listener of bind.listeners)
        listeners.push({ hostname: listener.hostname, value: yield* this.#served(bind, listener, admission) })
      const { key, port, address, protocol, path } = bind
      const one = { key, port, address, protocol, path, admission, internal: mode === "internal", tunnels }
      if (protocol === "tcp") {
        if (listeners.length !== 1)
          this.#problems.add({
            path,
            message: "a port of plain TCP has one listener: nothing tells its connections apart"
          })
        const [only] = listeners
        return { ...one, listenerFor: noRequests, streamsFor: () => only?.value.streams, tls: undefined }
      }
      const found = compileListeners(listeners)
      if (Result.isFailure(found)) {
        this.#indexed(found.failure, bind.listeners, path)
        return undefined
      }
      const served = found.success
      if (protocol !== "tls") return { ...one, listenerFor: byHost(served), streamsFor: undefined, tls: undefined }
      const tls = bindTls(served, listeners, this.#tlsDefaults.defaults.handshakeTimeout)
      const streamsFor = listeners.some(({ value }) => value.streams !== undefined)
        ? streamsByServerName(served)
        : undefined
      return { ...one, listenerFor: byServerName(served), streamsFor, tls }
    })
  }

  #admissionOf(bind: Normalised.Bind): Compiling<Admission | undefined> {
    const attached = this.#attachedToPort(bind)
    return attached.length === 1
      ? Effect.succeed(this.#admission)
      : this.#sites.admission(this.#merge.frontend(attached))
  }

  #served(bind: Normalised.Bind, source: Normalised.Listener, admission: Admission | undefined): Compiling<Served> {
    return Effect.gen({ self: this }, function* () {
      const tls = yield* this.#tlsOf(source)
      if (source.protocol !== "TCP" && source.protocol !== "TLS")
        return { listener: yield* this.#listener(bind, source, admission), tls }
      const sources = {
        backends: this.#backends,
        lookup: this.#lookup,
        problems: this.#problems,
        random: this.#parts.random
      }
      const attached = this.#attachedTo(source)
      const compiled = yield* compileStreamListener(sources, bind, source, attached, admission)
      this.#streams.push(...compiled.routes)
      return { streams: compiled.listener, tls, passesThrough: source.protocol === "TLS" && source.tls === undefined }
    })
  }

  /** What its clients meet before HTTP. */
  #tlsOf(listener: Normalised.Listener): Compiling<FollowedListenerTls | undefined> {
    if (listener.tls === undefined) return Effect.succeed(undefined)
    return this.#problems.collect(compileListenerTls(listener, listener.tls, this.#tlsDefaults.defaults))
  }

  /** What nothing leads to is not served, but is wrong all the same if it is. */
  #unreached(): Compiling<void> {
    return Effect.gen({ self: this }, function* () {
      const listener = this.#config.binds[0]?.listeners[0]
      if (listener === undefined) return
      const attached = this.#attachedTo(listener)
      const tables: Tables = {
        gateway: emptySite(this.#parts.registry, "gateway"),
        attached,
        chains: new Map(),
        groups: new Map(),
        routes: []
      }
      for (const group of Object.values(this.#config.routeGroups))
        if (!this.#reached.has(group)) yield* this.#table(tables, group.routes, [], group.path)
      yield* this.#backends.unreached()
    })
  }

  /** Problems whose path begins with the index of one of `sources`. */
  #indexed(
    problems: ReadonlyArray<ConfigProblem>,
    sources: ReadonlyArray<{ readonly path: ConfigPath }>,
    otherwise: ConfigPath
  ): void {
    for (const problem of problems) {
      const [index, ...rest] = problem.path
      this.#problems.add({ ...problem, path: [...(sources[Number(index)]?.path ?? otherwise), ...rest] })
    }
  }

  #listener(bind: Normalised.Bind, source: Normalised.Listener, admission: Admission | undefined): Compiling<Listener> {
    return Effect.gen({ self: this }, function* () {
      const attached = this.#attachedTo(source)
      const gateway = yield* this.#sites.compile("gateway", this.#merge.gateway(attached.gateway))
      const tables: Tables = { gateway, attached, chains: new Map(), groups: new Map(), routes: [] }
      const routes = yield* this.#table(tables, source.routes, [], source.path)
      const listener: Listener = {
        key: source.key,
        name: source.name,
        bind: bind.key,
        gateway: `${source.gatewayNamespace}/${source.gatewayName}`,
        namesHosts: namesHosts([source.hostname]),
        admission,
        steps: gateway.request,
        response: responseSteps(this.#parts.registry, "response", [gateway]),
        effective: gateway.effective,
        select: selection({ ...tables, routes }, this.#parts.random)
      }
      for (const route of tables.routes) this.#routes.push({ listener, ...route })
      return listener
    })
  }

  /** Compiles routes that were reached by way of `before`, and the groups that they delegate to. */
  #table(
    tables: Tables,
    routes: ReadonlyArray<Normalised.Route>,
    before: ReadonlyArray<Normalised.Route>,
    path: ConfigPath
  ): Compiling<RouteTable<Tabled> | undefined> {
    return Effect.gen({ self: this }, function* () {
      const entries: Array<RouteEntry<Tabled>> = []
      for (const route of routes) {
        const chain = [...before, route]
        const compiled = yield* this.#route(tables, chain)
        tables.routes.push(compiled)
        tables.chains.set(chainKey(chain), compiled.route)
        if (delegates(route)) yield* this.#groups(tables, route, chain)
        entries.push({
          key: route.key,
          hostnames: route.hostnames,
          matches: route.matches,
          value: { source: route, compiled: delegates(route) || before.length > 0 ? undefined : compiled.route }
        })
      }
      const table = yield* Effect.result(compileRoutes(entries, this.#config.frontend.http?.paths))
      if (Result.isSuccess(table)) return table.success
      this.#indexed(table.failure, routes, path)
      return undefined
    })
  }

  #groups(tables: Tables, route: Normalised.Route, chain: ReadonlyArray<Normalised.Route>): Compiling<void> {
    return Effect.gen({ self: this }, function* () {
      for (const { target } of route.backends) {
        if (target.kind !== "routeGroup") continue
        const group = this.#config.routeGroups[target.name]
        // A circle is an answer at run time: a route that was passed already is not entered again.
        if (group === undefined || group.routes.some((inner) => chain.includes(inner))) continue
        this.#reached.add(group)
        const table = yield* this.#table(tables, group.routes, chain, group.path)
        if (table !== undefined) tables.groups.set(target.name, table)
      }
    })
  }

  /** Compiles the last route of a chain of delegation. */
  #route(tables: Tables, chain: ReadonlyArray<Normalised.Route>): Compiling<CompiledRoute> {
    const source = chain.at(-1)!
    const references = source.backends.filter(({ target }) => target.kind !== "routeGroup")
    return Effect.flatMap(
      this.#sites.compile("route", this.#merge.route(tables.attached.route(chain))),
      (graph): Compiling<CompiledRoute> =>
        Effect.map(
          Effect.forEach(references, (reference) => this.#backend(tables, graph, chain, reference)),
          (values) => {
            const backends = references.map(({ weight }, index) => ({ weight, value: values[index]! }))
            const response = responseSteps(this.#parts.registry, "response", [tables.gateway, graph])
            const named = chain.some(({ hostnames }) => namesHosts(hostnames))
            return compiledWay(source, named, graph, response, backends, this.#parts.random)
          }
        )
    )
  }

  #backend(
    tables: Tables,
    route: SiteGraph,
    chain: ReadonlyArray<Normalised.Route>,
    reference: Normalised.BackendReference
  ): Compiling<Backend | NoBackend> {
    const { target } = reference
    const named = namedBy(target)
    if (named === undefined) return Effect.succeed(nowhere.backend)
    return Effect.flatMap(this.#lookup.find(named), (source) =>
      // What a policy may not refer to is an answer of a route: the rest of the file is served.
      isAbsent(source)
        ? Effect.succeed(nowhere[source.absent])
        : this.#reachedBackend(tables, route, chain, reference, source)
    )
  }

  #reachedBackend(
    { gateway, attached }: Tables,
    route: SiteGraph,
    chain: ReadonlyArray<Normalised.Route>,
    reference: Normalised.BackendReference,
    source: Normalised.Backend
  ): Compiling<Backend | NoBackend> {
    const before = () => [this.#merge.gateway(attached.gateway), this.#merge.route(attached.route(chain))]
    return Effect.map(
      this.#backends.atEndOf([gateway, route], source, attached.backend(chain, source, reference), before),
      (compiled) => compiled ?? new NoBackend({ detail: "invalid backend type" })
    )
  }
}

/** What comes to a port of plain TCP is passed on. */
const noRequests: ListenerFor = () => noListener
const noListener = new NotFound({ what: "listener" })

const namesHosts = (hostnames: ReadonlyArray<string>): boolean =>
  hostnames.length > 0 && hostnames.every((name) => name !== "" && name !== "*")

const nowhere = {
  backend: new NoBackend({ detail: "backend does not exist" }),
  service: new NoBackend({ detail: "service not found" })
}
const noneEligible = new NoBackend({ detail: "no valid backends" })

// What requests run through is made by functions of their own: a closure keeps all that is in scope where it was made, and
// that of compiling is several times larger than its result.
const compiledWay = (
  source: Normalised.Route,
  namesHosts: boolean,
  graph: SiteGraph,
  response: ReadonlyArray<Step>,
  backends: ReadonlyArray<{ readonly weight: number; readonly value: Backend | NoBackend }>,
  random: Random
): CompiledRoute => {
  const choice = weightedChoice(backends)
  const eligible = backends.filter(({ weight }) => weight > 0)
  return {
    route: {
      key: source.key,
      name: source.name,
      namespace: source.namespace,
      rule: source.ruleName,
      namesHosts,
      steps: graph.request,
      response,
      effective: graph.effective,
      mayLeadNowhere: eligible.length === 0 || eligible.some(({ value }) => "_tag" in value),
      elsewhere: elsewhereOf(backends.flatMap(({ value }) => ("_tag" in value ? [] : [value]))),
      choose: () => choice(random) ?? noneEligible
    },
    backends: backends.flatMap(({ value }) => ("_tag" in value ? [] : [value]))
  }
}

/** The most that a backend of a route may ask for: which of them it will be is not known yet. */
const elsewhereOf = (backends: ReadonlyArray<Backend>): Plan | undefined => {
  const plans = backends.flatMap((backend) => backend.elsewhere ?? [])
  return plans.find(({ unsent }) => unsent !== true) ?? plans[0]
}
