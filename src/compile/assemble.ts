/**
 * A normalised configuration becomes what the engine runs: every policy and terminal compiled, every route in its table.
 * All problems are found in one go; nothing is served before there are none.
 */
import { Effect, Redacted, Result, type Scope } from "effect"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { emptySite, responseSteps, type SiteGraph } from "../pipeline/compile.ts"
import type { ConnectionOptions, ConnectionPolicy } from "../pipeline/connection-policy.ts"
import { NoBackend } from "../pipeline/errors.ts"
import { readingSlots } from "../pipeline/expressions.ts"
import { StageTimes } from "../pipeline/latency.ts"
import { masked } from "../pipeline/masked.ts"
import type { Registry, Services } from "../pipeline/registry.ts"
import type { Backend, EffectivePolicies, Listener, Route } from "../pipeline/route.ts"
import type { Step } from "../pipeline/run.ts"
import { type AnySlot, type ConfigPath, type ConfigProblem, unavailable } from "../pipeline/stage.ts"
import { makeWays, type Ways } from "../pipeline/sub-call.ts"
import type { AnyTerminal, CompiledBackend } from "../pipeline/terminal.ts"
import { readBy, terminalSteps } from "../pipeline/terminal-steps.ts"
import { type Attached, attachments } from "../routing/attach.ts"
import { compileListeners } from "../routing/listeners.ts"
import { type BackendLevel, type Merging, merging, type PolicyAttachment } from "../routing/merge.ts"
import { none } from "../routing/normalise/policies.ts"
import type * as Normalised from "../routing/normalised.ts"
import { chainKey, delegates, selection, type Tabled } from "../routing/selection.ts"
import { compileRoutes, type RouteEntry, type RouteTable } from "../routing/table.ts"
import { type Available, missing, type Part } from "../routing/unavailable.ts"
import { type Random, weightedChoice } from "../routing/weights.ts"
import { type Connection, Connections } from "./connections.ts"
import { Credentials, type CredentialText } from "./credentials.ts"
import { type Compiling, Problems } from "./problems.ts"
import { withProxies } from "./proxies.ts"
import { References, withReferences } from "./references.ts"
import { ServicePorts } from "./service-ports.ts"
import { type CompileCondition, Sites } from "./sites.ts"

/** What is in force before a backend is reached. */
type Way = readonly [gateway: SiteGraph, route: SiteGraph]

/** That of a backend which no route leads to. */
const emptyWay = (registry: Registry): Way => [emptySite(registry, "gateway"), emptySite(registry, "route")]

/** A port to listen on. */
export interface AssembledBind {
  readonly key: string
  readonly port: number
  /** As the configuration writes it; `undefined` where it says nothing. */
  readonly address: string | undefined
  readonly path: ConfigPath
  /** The listener for the host of a canonical authority. */
  readonly listenerFor: (host: string) => Listener | undefined
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
}

export interface Parts<R extends Registry> {
  readonly registry: R
  /** What the policies of a file say of themselves. */
  readonly specs: PolicySpecs
  readonly terminals: ReadonlyArray<AnyTerminal>
  readonly connections: ReadonlyArray<ConnectionPolicy>
  readonly compileCondition: CompileCondition
  readonly random: Random
}

export const assemble = <R extends Registry>(
  parts: Parts<R>,
  config: Normalised.Normalised
): Effect.Effect<Assembled, ReadonlyArray<ConfigProblem>, Services<R["policies"]> | Scope.Scope> =>
  Effect.gen(function* () {
    return yield* new Assembly(parts, config, yield* StageTimes, yield* makeWays).run()
  })

/** What is neither a policy of the registry nor a terminal, and the parts that nothing here reads, are refused: never ignored. */
const availableIn = ({ registry, terminals, connections }: Parts<Registry>): Available => ({
  // What a terminal applies at its own backends is refused at all others when these are compiled.
  policies: new Set([
    ...[...registry.policies, ...connections].map(({ name }) => name),
    ...terminals.flatMap(({ applies = [] }) => applies)
  ]),
  backends: new Set(terminals.map(({ name }) => name)),
  parts: new Set<Part>(["routeGroups"])
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
  readonly #times: StageTimes
  readonly #problems = new Problems()
  readonly #merge: Merging
  readonly #routes: Array<ServedRoute> = []
  readonly #opened = new Map<Normalised.Backend, Array<Opened>>()
  readonly #connections: Connections
  readonly #credentials: Credentials
  readonly #services: ServicePorts
  readonly #sites: Sites
  readonly #reached = new Set<Normalised.RouteGroup | Normalised.Backend>()
  readonly #attachedTo: (listener: Normalised.Listener | undefined) => Attached
  readonly #references: References
  /** What is in force, and what is attached, where no route leads. */
  readonly #alone: { readonly attached: Attached; readonly way: Way }

  constructor(parts: Parts<Registry>, config: Normalised.Normalised, times: StageTimes, ways: Ways) {
    this.#parts = parts
    this.#config = config
    this.#times = times
    this.#merge = merging(parts.specs)
    this.#services = new ServicePorts(config)
    this.#connections = new Connections(parts.connections)
    this.#credentials = new Credentials(parts.specs, config)
    this.#sites = new Sites(parts.registry, parts.compileCondition, this.#problems)
    this.#attachedTo = attachments(config)
    this.#alone = { attached: this.#attachedTo(undefined), way: emptyWay(parts.registry) }
    this.#references = new References(
      config,
      this.#services,
      parts.specs,
      ways,
      this.#problems,
      (source, beside, from) => this.#backendAlone(source, beside, from)
    )
  }

  run(): Compiling<Assembled> {
    const { specs } = this.#parts
    const inForce = (source: Normalised.Backend, policies: Normalised.Policies) =>
      this.#merge.backend(this.#alone.attached.backend([], source, { policies }))
    const sources = { config: this.#config, specs, connections: this.#connections, inForce }
    return withProxies(sources, withReferences(this.#references, this.#assembled()))
  }

  #assembled(): Compiling<Assembled> {
    return Effect.gen({ self: this }, function* () {
      const binds: Array<AssembledBind> = []
      for (const problem of yield* missing(this.#config, this.#parts.specs, availableIn(this.#parts)))
        this.#problems.add(problem)
      for (const bind of this.#config.binds) {
        const assembled = yield* this.#bind(bind)
        if (assembled !== undefined) binds.push(assembled)
      }
      yield* Effect.scoped(this.#unreached())
      const problems = this.#problems.list
      if (problems.length > 0) return yield* Effect.fail(problems)
      return { binds, routes: this.#routes }
    })
  }

  #bind(bind: Normalised.Bind): Compiling<AssembledBind | undefined> {
    return Effect.gen({ self: this }, function* () {
      const isServed = bind.protocol === "http" && bind.mode === "standard" && bind.tunnelProtocol === "direct"
      if (!isServed) {
        const what =
          bind.protocol !== "http" ? `a ${bind.protocol.toUpperCase()} listener` : "a tunnel or internal bind"
        this.#problems.add(unavailable(bind.path, what))
      }
      const listeners: Array<{ readonly hostname: string; readonly value: Listener }> = []
      for (const listener of bind.listeners)
        listeners.push({ hostname: listener.hostname, value: yield* this.#listener(bind, listener) })
      const found = compileListeners(listeners)
      if (Result.isFailure(found)) {
        this.#indexed(found.failure, bind.listeners, bind.path)
        return undefined
      }
      const listenerFor = (host: string) => found.success.forHost(host)
      return { key: bind.key, port: bind.port, address: bind.address, path: bind.path, listenerFor }
    })
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
      for (const backend of Object.values(this.#config.backends))
        if (!this.#reached.has(backend)) yield* this.#backendAlone(backend, none, undefined)
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

  #listener(bind: Normalised.Bind, source: Normalised.Listener): Compiling<Listener> {
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
    if (target.kind === "service")
      return Effect.flatMap(this.#services.find(target.name, target.port), (source) =>
        source === undefined
          ? Effect.succeed(new NoBackend({ detail: "service not found" }))
          : this.#reachedBackend(tables, route, chain, reference, source)
      )
    const source = target.kind === "backend" ? this.#config.backends[target.key] : undefined
    if (source === undefined) return Effect.succeed(new NoBackend({ detail: "backend does not exist" }))
    return this.#reachedBackend(tables, route, chain, reference, source)
  }

  #reachedBackend(
    { gateway, attached }: Tables,
    route: SiteGraph,
    chain: ReadonlyArray<Normalised.Route>,
    reference: Normalised.BackendReference,
    source: Normalised.Backend
  ): Compiling<Backend | NoBackend> {
    const { kind } = source.destination
    // What is targeted at a whole gateway is meant for those among its backends that it can be for.
    const attachments = attached
      .backend(chain, source, reference)
      .filter(
        ({ level, policies }) =>
          !wide.has(level) || !Object.keys(policies).some((name) => this.#isForOthers(name, kind))
      )
    const before = () => [this.#merge.gateway(attached.gateway), this.#merge.route(attached.route(chain))]
    return Effect.map(
      this.#compiledBackend(source, attachments, [gateway, route], undefined, before),
      (compiled) => compiled ?? new NoBackend({ detail: "invalid backend type" })
    )
  }

  /** A backend with its own policies and with those beside a reference to it. */
  #backendAlone(
    source: Normalised.Backend,
    policies: Normalised.Policies,
    from: ConfigPath | undefined
  ): Compiling<Backend | undefined> {
    const { attached, way } = this.#alone
    return this.#compiledBackend(source, attached.backend([], source, { policies }), way, from, () => [])
  }

  #isForOthers(policy: string, kind: string): boolean {
    return this.#parts.specs[policy]?.backends?.includes(kind) === false
  }

  /**
   * @param from the reference that leads to it, where no route does.
   * @param before the policies in force before it is reached.
   */
  #compiledBackend(
    source: Normalised.Backend,
    attachments: ReadonlyArray<PolicyAttachment<BackendLevel>>,
    [gateway, route]: Way,
    from: ConfigPath | undefined,
    before: () => ReadonlyArray<Normalised.Policies>
  ): Compiling<Backend | undefined> {
    this.#reached.add(source)
    const { kind } = source.destination
    const policies = this.#merge.backend(attachments)
    const [ofConnection, ofCalls] = this.#connections.parted(policies)
    const terminal = this.#terminal(source)
    if (terminal === undefined) return Effect.succeed(undefined)
    const compiling = Effect.flatMap(
      this.#backendTerminal(terminal, source, attachments, ofConnection, () => [...before(), ofCalls]),
      (opened): Compiling<Backend | undefined> => {
        // No other backend knows what it is about: it would let everything through.
        for (const { name, path } of Object.values(policies))
          if (this.#isForOthers(name, kind))
            this.#problems.add({
              path,
              message: `${name} needs ${this.#parts.specs[name]!.backends!.map(aBackend).join(" or ")}`
            })
        const [ofTerminal, ofStages] = parted(ofCalls, terminal.applies ?? [])
        const credentials =
          from === undefined || opened === undefined
            ? undefined
            : this.#credentials.shown([ofCalls], opened.connection.options)
        return Effect.map(this.#sites.compile("backend", ofStages), (graph) => {
          if (opened === undefined) return undefined
          const sites = [gateway, route, graph] as const
          return compiledBackend(this.#parts.registry, this.#times, source, opened, sites, ofTerminal, credentials)
        })
      }
    )
    return this.#references.entering(source.key, from, compiling)
  }

  #terminal({ destination }: Normalised.Backend): AnyTerminal | undefined {
    return this.#parts.terminals.find(({ name }) => name === destination.kind)
  }

  /**
   * A backend is opened once for each way in which its connections are, however many routes lead to it; one that keeps sessions, for
   * each set of credentials besides; one whose providers depend on the route, for each of them.
   */
  #backendTerminal(
    terminal: AnyTerminal,
    source: Normalised.Backend,
    attachments: ReadonlyArray<PolicyAttachment<BackendLevel>>,
    ofConnection: Normalised.Policies,
    inForce: () => ReadonlyArray<Normalised.Policies>
  ): Compiling<OpenedTerminal | undefined> {
    const credentialsOver = (connections: ConnectionOptions) =>
      terminal.keepsSessions === true ? this.#credentials.shown(inForce(), connections) : undefined
    const opened = this.#connections.compile(ofConnection).pipe(
      Effect.flatMap((connection) =>
        Effect.flatMap(this.#configOf(source, terminal, attachments), (config) => {
          const { options } = connection
          const compiling = compileTerminal(terminal, config, source, options, credentialsOver(options))
          return Effect.map(compiling, (compiled) => ({ ...compiled, connection }))
        })
      ),
      (opening) => this.#problems.collect(opening)
    )
    if (source.destination.kind === "ai") return opened
    const known = this.#opened.get(source) ?? []
    this.#opened.set(source, known)
    // Connections are told apart by what they are opened by.
    const credentials = credentialsOver({})
    const same = known.find(
      (each) => isSame(each.ofConnection, ofConnection) && areAlike(each.credentials, credentials)
    )
    if (same !== undefined) return Effect.succeed(same.terminal)
    return Effect.map(opened, (terminal) => {
      known.push({ ofConnection, credentials, terminal })
      return terminal
    })
  }

  /** What a terminal is made from. One for models has providers, each with what is in force for it alone. */
  #configOf(
    { destination }: Normalised.Backend,
    { applies = [] }: AnyTerminal,
    attachments: ReadonlyArray<PolicyAttachment<BackendLevel>>
  ): Compiling<unknown> {
    // Their own policies, what the terminal applies of the wider ones, and what is said of connections.
    const shared = attachments.map((attachment) => {
      const [ofConnection, others] = this.#connections.parted(attachment.policies)
      return { ...attachment, policies: { ...parted(others, applies)[0], ...ofConnection } }
    })
    const provided = <E extends { readonly policies: Normalised.Policies }>(endpoints: ReadonlyArray<E>) =>
      Effect.forEach(endpoints, (endpoint) => {
        const all = this.#merge.backend([...shared, { level: "provider", key: "", policies: endpoint.policies }])
        const [ofConnection, policies] = this.#connections.parted(all)
        return Effect.map(this.#problems.collect(this.#connections.compile(ofConnection)), (connection) => ({
          ...endpoint,
          policies,
          connections: connection?.options
        }))
      })
    if (destination.kind === "llm")
      return Effect.map(provided(destination.config.models), (models) => ({ ...destination.config, models }))
    if (destination.kind !== "ai") return Effect.succeed(destination.config)
    const groups = Effect.forEach(destination.config.groups, ({ providers }) =>
      Effect.map(provided(providers), (providers) => ({ providers }))
    )
    return Effect.map(groups, (groups) => ({ groups }))
  }
}

const namesHosts = (hostnames: ReadonlyArray<string>): boolean =>
  hostnames.length > 0 && hostnames.every((name) => name !== "" && name !== "*")

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
      hasEndpoints: backends.some(({ value }) => "type" in value && value.type === "service"),
      choose: () => choice(random) ?? noneEligible
    },
    backends: backends.flatMap(({ value }) => ("_tag" in value ? [] : [value]))
  }
}

const compiledBackend = (
  registry: Registry,
  times: StageTimes,
  source: Normalised.Backend,
  { compiled, reads, connection }: OpenedTerminal,
  sites: readonly [gateway: SiteGraph, route: SiteGraph, backend: SiteGraph],
  ofTerminal: Normalised.Policies,
  credentials: CredentialText | undefined
): Backend => {
  const { type, protocol, target, call, keepsTime } = compiled
  const own = terminalSteps(source.destination.kind, configPath(source), compiled.nodes ?? [], reads, times)
  const { request, effective } = sites[2]
  const beside = responseSteps(registry, "call", sites)
  return {
    name: source.name,
    type,
    protocol,
    target,
    keepsTime,
    call,
    steps: [...request, ...own.request],
    reads: compiled.reads === undefined ? reads : readBy(compiled.reads, reads),
    connections: connection.inForce,
    secured: connection.options.tls !== undefined,
    credentials,
    requestTimeout: connection.options.requestTimeout,
    beside: beside.length === 0 ? undefined : beside,
    backendResponse: [...own.backendResponse, ...responseSteps(registry, "backendResponse", sites)],
    response: responseSteps(registry, "response", sites),
    effective: withTerminals(effective, ofTerminal, connection)
  }
}

/** What the terminal applies by itself is in force as well, and so is what is said of connections. */
const withTerminals = (
  effective: EffectivePolicies,
  ofTerminal: Normalised.Policies,
  { inForce }: Connection
): EffectivePolicies => {
  const own = Object.values(ofTerminal)
  if (own.length === 0 && inForce.length === 0) return effective
  return () => ({
    ...effective(),
    ...Object.fromEntries(own.map(({ name, branches }) => [name, masked(branches[0]?.config)])),
    ...Object.fromEntries(inForce.map(({ policy, config }) => [policy, masked(config)]))
  })
}

/** Where the configuration of a backend stands: under its kind, unless it is a section of the file by itself. */
const configPath = ({ path, destination }: Normalised.Backend): ConfigPath =>
  path.length === 1 && path[0] === destination.kind ? path : [...path, destination.kind]

/** Those of the given names, and the others. */
const parted = (policies: Normalised.Policies, names: ReadonlyArray<string>) => {
  const { named = [], others = [] } = Object.groupBy(Object.entries(policies), ([name]) =>
    names.includes(name) ? "named" : "others"
  )
  return [Object.fromEntries(named), Object.fromEntries(others)] as const
}

interface CompiledTerminal {
  readonly compiled: CompiledBackend<AnySlot>
  readonly reads: ReadonlyArray<AnySlot>
}

/** One whose connections are opened as policies say. */
interface OpenedTerminal extends CompiledTerminal {
  readonly connection: Connection
}

interface Opened {
  readonly ofConnection: Normalised.Policies
  readonly credentials: CredentialText | undefined
  /** `undefined`: something about it is wrong. */
  readonly terminal: OpenedTerminal | undefined
}

/** Whether the same places say the same. */
const isSame = (one: Normalised.Policies, other: Normalised.Policies): boolean => {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}

const areAlike = (one: CredentialText | undefined, other: CredentialText | undefined): boolean =>
  (one && Redacted.value(one)) === (other && Redacted.value(other))

const compileTerminal = (
  terminal: AnyTerminal,
  config: unknown,
  source: Normalised.Backend,
  connections: ConnectionOptions,
  credentials: CredentialText | undefined
) =>
  Effect.map(
    readingSlots(
      terminal.name,
      terminal.reads,
      terminal.writes,
      terminal.compile(config, configPath(source), source.name, connections, credentials)
    ),
    ([compiled, reads]): CompiledTerminal => ({ compiled, reads })
  )

const wide: ReadonlySet<BackendLevel> = new Set(["gateway", "gatewayPort", "listener"])

const aBackend = (kind: string): string => `${/^([aeiou]|mcp|llm)/.test(kind) ? "an" : "a"} ${kind} backend`
