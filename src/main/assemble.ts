/**
 * A normalised configuration becomes what the engine runs: every policy and terminal compiled, every route in its table.
 * All problems are found in one go; nothing is served before there are none.
 */
import { Effect, Result, type Scope } from "effect"
import {
  type AttachedPolicy,
  compileSite,
  type PolicyEntry,
  responseSteps,
  type SiteGraph
} from "../pipeline/compile.ts"
import { NoBackend } from "../pipeline/errors.ts"
import type { Exchange } from "../pipeline/exchange.ts"
import { Latency } from "../pipeline/latency.ts"
import { masked } from "../pipeline/masked.ts"
import type { Registry, Services } from "../pipeline/registry.ts"
import type { Backend, Listener, Route, Selection } from "../pipeline/route.ts"
import type { Step } from "../pipeline/run.ts"
import type { ConfigPath, ConfigProblem, Site } from "../pipeline/stage.ts"
import type { AnyTerminal, Callee } from "../pipeline/terminal.ts"
import { type Choice, delegate } from "../routing/delegation.ts"
import { joinRules } from "../routing/join.ts"
import { compileListeners } from "../routing/listeners.ts"
import { type BackendLevel, mergeBackendPolicies, type PolicyAttachment } from "../routing/merge.ts"
import type * as Normalised from "../routing/normalised.ts"
import { compileRoutes, type RouteEntry, type RouteTable } from "../routing/table.ts"
import { type Available, type Part, unavailable } from "../routing/unavailable.ts"
import { type Random, weightedChoice } from "../routing/weights.ts"

/** A port to listen on. */
export interface AssembledBind {
  readonly key: string
  readonly port: number
  readonly path: ConfigPath
  /** The listener for the host of a canonical authority. */
  readonly listenerFor: (host: string) => Listener | undefined
}

/** One way through a configuration: what the graph of a route is drawn from. */
export interface Way {
  readonly listener: Listener
  readonly route: Route
  readonly backends: ReadonlyArray<Backend>
}

export interface Assembled {
  readonly binds: ReadonlyArray<AssembledBind>
  readonly ways: ReadonlyArray<Way>
}

/** Compiles the condition of a conditional policy. */
export type CompileCondition = (
  expression: string,
  site: Site
) => Result.Result<(exchange: Exchange) => boolean, ReadonlyArray<string>>

export interface Parts<R extends Registry> {
  readonly registry: R
  readonly terminals: ReadonlyArray<AnyTerminal>
  readonly compileCondition: CompileCondition
  readonly random: Random
}

export const assemble = <R extends Registry>(
  parts: Parts<R>,
  config: Normalised.Normalised
): Effect.Effect<Assembled, ReadonlyArray<ConfigProblem>, Services<R["policies"]> | Scope.Scope> =>
  Effect.suspend(() => new Assembly(parts, config).run())

/** A route in its table: compiled, unless it delegates, in which case the way through the groups decides. */
interface Tabled {
  readonly source: Normalised.Route
  readonly compiled: Route | undefined
}

/** What is neither a policy of the registry nor a terminal, and the parts that nothing here reads, are refused: never ignored. */
const availableIn = ({ registry, terminals }: Parts<Registry>): Available => ({
  // What a terminal applies at its own backends is refused at all others when these are compiled.
  policies: new Set([
    ...registry.policies.map(({ name }) => name),
    ...terminals.flatMap(({ applies = [] }) => applies)
  ]),
  backends: new Set(terminals.map(({ name }) => name)),
  parts: new Set<Part>(["routeGroups"])
})

const notAvailable = (what: string) => `${what} is not available yet`

/** What compiling needs is known where the registry is; inside it is whatever the policies ask for. */
// biome-ignore lint/suspicious/noExplicitAny: the registry's own type says which services these are.
type Compiling<A> = Effect.Effect<A, ReadonlyArray<ConfigProblem>, any>

interface CompiledWay {
  readonly route: Route
  readonly backends: ReadonlyArray<Backend>
}

/** The tables of one listener while they are made. */
interface Tables {
  readonly gateway: SiteGraph
  /** By the keys of the routes passed: what a request that came this way runs through. */
  readonly chains: Map<string, Route>
  readonly groups: Map<string, RouteTable<Tabled>>
  readonly ways: Array<CompiledWay>
}

class Assembly {
  readonly #parts: Parts<Registry>
  readonly #config: Normalised.Normalised
  readonly #problems: Array<ConfigProblem> = []
  readonly #ways: Array<Way> = []
  readonly #callees = new Map<string, Callee | undefined>()

  constructor(parts: Parts<Registry>, config: Normalised.Normalised) {
    this.#parts = parts
    this.#config = config
  }

  run(): Compiling<Assembled> {
    return Effect.gen({ self: this }, function* () {
      const binds: Array<AssembledBind> = []
      for (const { path, message } of unavailable(this.#config, availableIn(this.#parts))) this.#problem(path, message)
      for (const bind of this.#config.binds) {
        const assembled = yield* this.#bind(bind)
        if (assembled !== undefined) binds.push(assembled)
      }
      if (this.#problems.length > 0) return yield* Effect.fail(this.#problems)
      return { binds, ways: this.#ways }
    })
  }

  #problem(path: ConfigPath, message: string): void {
    // What several routes share is compiled for each of them.
    const known = this.#problems.some((p) => p.message === message && p.path.join("\0") === path.join("\0"))
    if (!known) this.#problems.push({ path, message })
  }

  /** Runs a compilation; its problems are collected, and `undefined` stands for its result. */
  #collect<A>(effect: Compiling<A>, base: ConfigPath = []): Compiling<A | undefined> {
    return Effect.catch(effect, (problems) =>
      Effect.sync(() => {
        for (const { path, message } of problems) this.#problem([...base, ...path], message)
        return undefined
      })
    )
  }

  #site(site: Site, attached: ReadonlyArray<AttachedPolicy>): Compiling<SiteGraph> {
    return Effect.map(
      this.#collect(compileSite(this.#parts.registry, site, attached)),
      (graph) => graph ?? emptySite(site)
    )
  }

  #attached(policies: Normalised.Policies, site: Site): ReadonlyArray<AttachedPolicy> {
    return Object.values(policies).map(({ name, branches }) => ({
      name,
      entries: branches.map((branch): PolicyEntry => {
        const { condition, config, path } = branch
        if (condition === undefined) return { config, path }
        const compiled = this.#parts.compileCondition(condition.expression, site)
        if (Result.isSuccess(compiled))
          return { config, path, condition: { text: condition.expression, holds: compiled.success } }
        for (const message of compiled.failure) this.#problem(condition.path, message)
        return { config, path }
      })
    }))
  }

  #bind(bind: Normalised.Bind): Compiling<AssembledBind | undefined> {
    return Effect.gen({ self: this }, function* () {
      if (bind.protocol !== "http" || bind.mode !== "standard" || bind.tunnelProtocol !== "direct") {
        const what =
          bind.protocol !== "http" ? `a ${bind.protocol.toUpperCase()} listener` : "a tunnel or internal bind"
        this.#problem(bind.path, notAvailable(what))
        return undefined
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
      return { key: bind.key, port: bind.port, path: bind.path, listenerFor }
    })
  }

  /** Problems whose path begins with the index of one of `sources`. */
  #indexed(
    problems: ReadonlyArray<ConfigProblem>,
    sources: ReadonlyArray<{ readonly path: ConfigPath }>,
    otherwise: ConfigPath
  ): void {
    for (const { path, message } of problems) {
      const [index, ...rest] = path
      this.#problem([...(sources[Number(index)]?.path ?? otherwise), ...rest], message)
    }
  }

  #listener(bind: Normalised.Bind, source: Normalised.Listener): Compiling<Listener> {
    return Effect.gen({ self: this }, function* () {
      const gateway = yield* this.#site("gateway", this.#attached(source.policies, "gateway"))
      const tables: Tables = { gateway, chains: new Map(), groups: new Map(), ways: [] }
      const table = yield* this.#table(tables, source.routes, [], source.path)
      const listener: Listener = {
        key: source.key,
        name: source.name,
        bind: bind.key,
        gateway: `${source.gatewayNamespace}/${source.gatewayName}`,
        steps: gateway.request,
        response: responseSteps(this.#parts.registry, "response", [gateway]),
        effective: gateway.effective,
        select: selection(table, tables, this.#parts.random)
      }
      for (const way of tables.ways) this.#ways.push({ listener, ...way })
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
        const way = yield* this.#route(tables.gateway, chain)
        tables.ways.push(way)
        tables.chains.set(chainKey(chain), way.route)
        const delegates = route.backends.some(({ target }) => target.kind === "routeGroup")
        if (delegates) yield* this.#groups(tables, route, chain)
        entries.push({
          key: route.key,
          hostnames: route.hostnames,
          matches: route.matches,
          value: { source: route, compiled: delegates || before.length > 0 ? undefined : way.route }
        })
      }
      const table = compileRoutes(entries)
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
        const table = yield* this.#table(tables, group.routes, chain, group.path)
        if (table !== undefined) tables.groups.set(target.name, table)
      }
    })
  }

  /** What holds at the end of a chain of delegation: a child's own policies come first, but its rules come on top. */
  #inherited(chain: ReadonlyArray<Normalised.Route>): Normalised.Policies {
    const policies: Normalised.Policies = Object.assign({}, ...chain.map((route) => route.policies))
    const own = policies["authorization"]
    const rules = chain.flatMap(({ policies }) => policies["authorization"]?.branches ?? [])
    if (own === undefined || rules.length === own.branches.length) return policies
    if (rules.some(({ condition }) => condition !== undefined)) {
      this.#problem(own.path, notAvailable("conditional authorization together with that of a delegating route"))
      return policies
    }
    const { path } = own.branches[0]!
    const config = joinRules(chain.map((route) => configs(route.policies)["authorization"]))
    return { ...policies, authorization: { ...own, branches: [{ condition: undefined, config, path }] } }
  }

  /** Compiles the last route of a chain of delegation. */
  #route(gateway: SiteGraph, chain: ReadonlyArray<Normalised.Route>): Compiling<CompiledWay> {
    return Effect.gen({ self: this }, function* () {
      const source = chain.at(-1)!
      const graph = yield* this.#site("route", this.#attached(this.#inherited(chain), "route"))
      const backends: Array<{ readonly weight: number; readonly value: Backend | NoBackend }> = []
      for (const reference of source.backends)
        if (reference.target.kind !== "routeGroup")
          backends.push({ weight: reference.weight, value: yield* this.#backend(gateway, graph, chain, reference) })
      const choice = weightedChoice(backends)
      const { random, registry } = this.#parts
      const none = new NoBackend({ detail: "no valid backends" })
      const route: Route = {
        key: source.key,
        name: source.name,
        namespace: source.namespace,
        rule: source.ruleName,
        steps: graph.request,
        response: responseSteps(registry, "response", [gateway, graph]),
        effective: graph.effective,
        choose: () => choice(random) ?? none
      }
      return { route, backends: backends.flatMap(({ value }) => ("_tag" in value ? [] : [value])) }
    })
  }

  #backend(
    gateway: SiteGraph,
    route: SiteGraph,
    chain: ReadonlyArray<Normalised.Route>,
    { target, policies, path }: Normalised.BackendReference
  ): Compiling<Backend | NoBackend> {
    return Effect.gen({ self: this }, function* () {
      if (target.kind === "service") return new NoBackend({ detail: "service not found" })
      const source = target.kind === "backend" ? this.#config.backends[target.key] : undefined
      if (source === undefined) return new NoBackend({ detail: "backend does not exist" })
      const attachments: ReadonlyArray<PolicyAttachment<BackendLevel>> = [
        { level: "backendInline", key: "", path: [...source.path, "policies"], policies: configs(source.policies) },
        ...chain.map((hop, index) => ({
          level: "routeInline" as const,
          hop: index,
          key: "",
          path: [...hop.path, "policies"],
          policies: configs(hop.backendPolicies)
        })),
        { level: "backendRef", key: "", path: [...path, "policies"], policies: configs(policies) }
      ]
      const callee = yield* this.#callee(source, attachments)
      if (callee === undefined) return new NoBackend({ detail: "invalid backend type" })
      const inForce = mergeBackendPolicies(attachments)
      const applied = new Set(this.#terminal(source)?.applies)
      // No other backend knows what these rules are about: it would let everything through.
      for (const { name, path } of inForce)
        if (name === "mcpAuthorization" && callee.protocol !== "mcp")
          this.#problem(path, "mcpAuthorization needs an mcp backend")
      const graph = yield* this.#site(
        "backend",
        inForce
          .filter(({ name }) => !applied.has(name))
          .map(({ name, config, path }) => ({ name, entries: [{ config, path }] }))
      )
      const all = [gateway, route, graph]
      const { registry } = this.#parts
      const own = (phase: "backend" | "backendResponse", run: Callee["prepare"]) =>
        run === undefined ? [] : [terminalStep(source, phase, run)]
      const { type, protocol, target: address, prepare, answered, call } = callee
      const backend: Backend = {
        name: source.name,
        type,
        protocol,
        target: address,
        call,
        steps: [...graph.request, ...own("backend", prepare)],
        backendResponse: [...own("backendResponse", answered), ...responseSteps(registry, "backendResponse", all)],
        response: responseSteps(registry, "response", all),
        effective: {
          ...graph.effective,
          ...Object.fromEntries(
            inForce.flatMap(({ name, config }) => (applied.has(name) ? [[name, masked(config)]] : []))
          )
        }
      }
      return backend
    })
  }

  #terminal({ destination }: Normalised.Backend): AnyTerminal | undefined {
    return this.#parts.terminals.find(({ name }) => name === destination.kind)
  }

  /** A backend is opened once, however many routes lead to it; one whose providers depend on the route, for each of them. */
  #callee(
    source: Normalised.Backend,
    attachments: ReadonlyArray<PolicyAttachment<BackendLevel>>
  ): Compiling<Callee | undefined> {
    return Effect.gen({ self: this }, function* () {
      const terminal = this.#terminal(source)
      const { destination } = source
      if (destination.kind === "ai") {
        const config = withInForce(destination.config, attachments, new Set(terminal?.applies))
        return terminal && (yield* this.#collect(terminal.compile(config, configPath(source))))
      }
      if (this.#callees.has(source.key)) return this.#callees.get(source.key)
      const callee = terminal && (yield* this.#collect(terminal.compile(destination.config, configPath(source))))
      this.#callees.set(source.key, callee)
      return callee
    })
  }
}

/** Where the configuration of a backend stands: under its kind, unless it is a section of the file by itself. */
const configPath = ({ path, destination }: Normalised.Backend): ConfigPath =>
  path.length === 1 && path[0] === destination.kind ? path : [...path, destination.kind]

type AiConfig = Extract<Normalised.Destination, { readonly kind: "ai" }>["config"]

/** An AI backend whose providers each carry what is in force for them: their own policies, and what the terminal applies of the wider ones. */
const withInForce = (
  { groups }: AiConfig,
  wider: ReadonlyArray<PolicyAttachment<BackendLevel>>,
  applied: ReadonlySet<string>
): AiConfig => {
  const shared = wider.map((attachment) => ({
    ...attachment,
    policies: Object.fromEntries(Object.entries(attachment.policies).filter(([name]) => applied.has(name)))
  }))
  const policiesOf = ({ policies, path }: Normalised.NamedProvider): Normalised.Policies => {
    const own = { level: "provider", key: "", path: [...path, "policies"], policies: configs(policies) } as const
    return Object.fromEntries(
      mergeBackendPolicies([...shared, own]).map(({ name, config, path, sources }) => {
        const origins = sources
          .toReversed()
          .flatMap(({ config, path }) =>
            Object.keys(config as object).map((key) => ({ part: [key], path: [...path, key] }))
          )
        return [name, { name, path, branches: [{ condition: undefined, config, path, origins }] }]
      })
    )
  }
  return {
    groups: groups.map(({ providers }) => ({
      providers: providers.map((provider) => ({ ...provider, policies: policiesOf(provider) }))
    }))
  }
}

/** A terminal takes part in the phases around its call like any policy, under its own name. */
const terminalStep = (
  source: Normalised.Backend,
  phase: "backend" | "backendResponse",
  run: NonNullable<Callee["prepare"]>
): Step => ({
  policy: source.destination.kind,
  node: phase === "backend" ? source.destination.kind : `${source.destination.kind}.answered`,
  site: "backend",
  phase,
  path: configPath(source),
  failOpen: false,
  // The engine alone calls steps, and what it hands them is the exchange itself.
  run: (view) => run(view as Exchange),
  condition: undefined,
  holds: undefined,
  latency: new Latency()
})

const emptySite = (site: Site): SiteGraph => ({
  site,
  request: [],
  responses: { backendResponse: new Map(), response: new Map() },
  effective: {}
})

/** Policies of a backend are never conditional: each has one configuration. */
const configs = (policies: Normalised.Policies): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.values(policies).map(({ name, branches }) => [name, branches[0]?.config]))

/** How a listener chooses the route of a request. */
const selection = (table: RouteTable<Tabled> | undefined, tables: Tables, random: Random): Listener["select"] => {
  const evaluated = (x: Exchange) => table?.candidates(x.request) ?? []
  const unmatched: Selection = { route: undefined, prefix: undefined, evaluated }
  if (table === undefined) return () => unmatched
  const cycle: Selection = { ...unmatched, failure: new NoBackend({ detail: "route delegation cycle detected" }) }
  const choices = new Map<Normalised.Route, (random: Random) => Choice<true> | undefined>()
  const choiceOf = (route: Normalised.Route) => {
    let choice = choices.get(route)
    if (choice === undefined) {
      choice = weightedChoice<Choice<true>>(
        route.backends.map(({ weight, target }) => ({
          weight,
          value:
            target.kind === "routeGroup" ? { _tag: "Group", name: target.name } : { _tag: "Backend", backend: true }
        }))
      )
      choices.set(route, choice)
    }
    return choice
  }
  return (x) => {
    const found = table.find(x.request)
    if (found === undefined) return unmatched
    if (found.value.compiled !== undefined) return { route: found.value.compiled, prefix: found.prefix, evaluated }
    const way = delegate(x.request, table, tables.groups, ({ source }) => choiceOf(source)(random))
    switch (way._tag) {
      case "Reached":
        return {
          route: tables.chains.get(chainKey(way.chain.map(({ source }) => source))),
          prefix: way.prefix,
          evaluated
        }
      case "Unmatched":
        return unmatched
      case "Cycle":
        return cycle
    }
  }
}

const chainKey = (chain: ReadonlyArray<Normalised.Route>) => chain.map((route) => route.key).join(" > ")
