/**
 * A normalised configuration becomes what the engine runs: every policy and terminal compiled, every route in its table.
 * All problems are found in one go; nothing is served before there are none.
 */
import { Cause, Effect, Exit, Option, Result, type Scope } from "effect"
import { NoBackend } from "../pipeline/errors.ts"
import type { Exchange } from "../pipeline/exchange.ts"
import { type AttachedPolicy, compileSite, type PolicyEntry, responseSteps, type SiteGraph } from "../pipeline/compile.ts"
import type { Registry, Services } from "../pipeline/registry.ts"
import type { Backend, Listener, Route, Selection } from "../pipeline/route.ts"
import type { ConfigPath, ConfigProblem, Site } from "../pipeline/stage.ts"
import type { AnyTerminal, Callee } from "../pipeline/terminal.ts"
import { type Choice, delegate } from "../routing/delegation.ts"
import { compileListeners } from "../routing/listeners.ts"
import { mergeBackendPolicies } from "../routing/merge.ts"
import type * as Normalised from "../routing/normalised.ts"
import { compileRoutes, type RouteTable } from "../routing/table.ts"
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
  Effect.suspend(() => new Assembly(parts, config).run()) as Effect.Effect<
    Assembled,
    ReadonlyArray<ConfigProblem>,
    Services<R["policies"]> | Scope.Scope
  >

/** A route in its table: compiled, unless it delegates, in which case the way through the groups decides. */
interface Tabled {
  readonly source: Normalised.Route
  readonly compiled: Route | undefined
}

const notAvailable = (what: string) => `${what} is not available yet`

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

  *#binds() {
    const binds: Array<AssembledBind> = []
    for (const bind of this.#config.binds) {
      if (bind.protocol !== "http" || bind.mode !== "standard" || bind.tunnelProtocol !== "direct") {
        const what = bind.protocol !== "http" ? `a ${bind.protocol.toUpperCase()} listener` : "a tunnel or internal bind"
        this.#problem(bind.path, notAvailable(what))
        continue
      }
      const listeners: Array<{ readonly hostname: string; readonly value: Listener }> = []
      for (const listener of bind.listeners)
        listeners.push({ hostname: listener.hostname, value: yield* this.#listener(bind, listener) })
      const found = compileListeners(listeners)
      if (Result.isFailure(found)) {
        for (const { path, message } of found.failure) {
          const [index, ...rest] = path
          this.#problem([...(bind.listeners[Number(index)]?.path ?? bind.path), ...rest], message)
        }
        continue
      }
      binds.push({ key: bind.key, port: bind.port, path: bind.path, listenerFor: (host) => found.success.forHost(host) })
    }
    return binds
  }

  run() {
    const assembly = this
    return Effect.gen(function* () {
      const binds = yield* assembly.#binds()
      if (assembly.#problems.length > 0) return yield* Effect.fail(assembly.#problems)
      return { binds, ways: assembly.#ways }
    })
  }

  #problem(path: ConfigPath, message: string): void {
    // A policy that several routes share is compiled for each of them.
    const known = this.#problems.some((p) => p.message === message && p.path.join("\0") === path.join("\0"))
    if (!known) this.#problems.push({ path, message })
  }

  /** Runs a compilation; its problems are collected, and `undefined` stands for its result. */
  *#collect<A>(effect: Effect.Effect<A, ReadonlyArray<ConfigProblem>, unknown>, base: ConfigPath = []) {
    const exit = yield* Effect.exit(effect)
    if (Exit.isSuccess(exit)) return exit.value
    const found = Cause.findErrorOption(exit.cause)
    if (Option.isNone(found)) return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
    for (const { path, message } of found.value) this.#problem([...base, ...path], message)
    return undefined
  }

  *#site(site: Site, attached: ReadonlyArray<AttachedPolicy>) {
    const empty: SiteGraph = {
      site,
      request: [],
      responses: { backendResponse: new Map(), response: new Map() },
      effective: {}
    }
    return (yield* this.#collect(compileSite(this.#parts.registry, site, attached))) ?? empty
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

  *#listener(bind: Normalised.Bind, source: Normalised.Listener) {
    const gateway = yield* this.#site("gateway", this.#attached(source.policies, "gateway"))
    const listener = {
      key: source.key,
      name: source.name,
      bind: bind.key,
      gateway: `${source.gatewayNamespace}/${source.gatewayName}`,
      steps: gateway.request,
      response: responseSteps(this.#parts.registry, "response", [gateway]),
      effective: gateway.effective
    }
    const chains = new Map<string, Route>()
    const groups = new Map<string, RouteTable<Tabled>>()
    const compiled: Array<{ readonly route: Route; readonly backends: ReadonlyArray<Backend> }> = []
    const tabled = function* (assembly: Assembly, routes: ReadonlyArray<Normalised.Route>, before: ReadonlyArray<Normalised.Route>) {
      const entries: Array<{ key: string; hostnames: ReadonlyArray<string>; matches: Normalised.Route["matches"]; value: Tabled }> = []
      for (const route of routes) {
        const chain = [...before, route]
        const delegates = route.backends.some(({ target }) => target.kind === "routeGroup")
        const way = yield* assembly.#route(gateway, chain)
        compiled.push(way)
        chains.set(chainKey(chain), way.route)
        entries.push({
          key: route.key,
          hostnames: route.hostnames,
          matches: route.matches,
          value: { source: route, compiled: delegates || before.length > 0 ? undefined : way.route }
        })
        if (delegates) yield* groupsOf(assembly, route, chain)
      }
      const table = compileRoutes(entries)
      if (Result.isSuccess(table)) return table.success
      for (const { path, message } of table.failure) {
        const [index, ...rest] = path
        assembly.#problem([...(routes[Number(index)]?.path ?? []), ...rest], message)
      }
      return undefined
    }
    const groupsOf = function* (
      assembly: Assembly,
      route: Normalised.Route,
      chain: ReadonlyArray<Normalised.Route>
    ): Generator<Effect.Effect<unknown, never, unknown>, void, unknown> {
      for (const { target } of route.backends) {
        if (target.kind !== "routeGroup") continue
        const group = assembly.#config.routeGroups[target.name]
        // A circle is an answer at run time: a route that was passed already is not entered again.
        if (group === undefined || chain.some((passed) => group.routes.includes(passed))) continue
        const table = yield* tabled(assembly, group.routes, chain) as never
        if (table !== undefined && !groups.has(target.name)) groups.set(target.name, table as RouteTable<Tabled>)
      }
    }
    const table = yield* tabled(this, source.routes, [])
    const { random } = this.#parts
    const choices = new Map<Normalised.Route, (random: Random) => Choice<true> | undefined>()
    const choose = ({ source: route }: Tabled) => {
      let choice = choices.get(route)
      if (choice === undefined) {
        choice = weightedChoice(
          route.backends.map(({ weight, target }) => ({
            weight,
            value:
              target.kind === "routeGroup"
                ? ({ _tag: "Group", name: target.name } as const)
                : ({ _tag: "Backend", backend: true } as const)
          }))
        )
        choices.set(route, choice)
      }
      return choice(random)
    }
    const evaluated = (x: Exchange) => table?.candidates(x.request) ?? []
    const select = (x: Exchange): Selection => {
      const found = table?.find(x.request)
      if (found === undefined || table === undefined) return { route: undefined, prefix: undefined, evaluated }
      if (found.value.compiled !== undefined) return { route: found.value.compiled, prefix: found.prefix, evaluated }
      const way = delegate(x.request, table, groups, choose)
      switch (way._tag) {
        case "Reached":
          return { route: chains.get(chainKey(way.chain.map((t) => t.source))), prefix: way.prefix, evaluated }
        case "Unmatched":
          return { route: undefined, prefix: undefined, evaluated }
        case "Cycle":
          return {
            route: undefined,
            prefix: undefined,
            evaluated,
            failure: new NoBackend({ detail: "route delegation cycle detected" })
          }
      }
    }
    const assembled: Listener = { ...listener, select }
    for (const way of compiled) this.#ways.push({ listener: assembled, ...way })
    return assembled
  }

  /** Compiles the last route of a chain of delegation. The policies of its parents hold unless it has its own. */
  *#route(gateway: SiteGraph, chain: ReadonlyArray<Normalised.Route>) {
    const source = chain.at(-1)!
    const inherited = Object.assign({}, ...chain.map((route) => route.policies)) as Normalised.Policies
    const graph = yield* this.#site("route", this.#attached(inherited, "route"))
    const backends: Array<{ readonly weight: number; readonly value: Backend | NoBackend }> = []
    for (const reference of source.backends) {
      if (reference.target.kind === "routeGroup") continue
      backends.push({ weight: reference.weight, value: yield* this.#backend(gateway, graph, chain, reference) })
    }
    const choice = weightedChoice(backends)
    const { random } = this.#parts
    const none = new NoBackend({ detail: "no valid backends" })
    const route: Route = {
      key: source.key,
      name: source.name,
      namespace: source.namespace,
      rule: source.ruleName,
      steps: graph.request,
      response: responseSteps(this.#parts.registry, "response", [gateway, graph]),
      effective: graph.effective,
      choose: () => choice(random) ?? none
    }
    return { route, backends: backends.flatMap(({ value }) => ("_tag" in value ? [] : [value])) }
  }

  *#backend(
    gateway: SiteGraph,
    route: SiteGraph,
    chain: ReadonlyArray<Normalised.Route>,
    { target, policies, path }: Normalised.BackendReference
  ) {
    if (target.kind === "service") {
      this.#problem(path, notAvailable("a service backend"))
      return new NoBackend({ detail: "service not found" })
    }
    if (target.kind !== "backend") return new NoBackend({ detail: "backend does not exist" })
    const source = this.#config.backends[target.key]
    if (source === undefined) return new NoBackend({ detail: "backend does not exist" })
    const callee = yield* this.#callee(source)
    if (callee === undefined) return new NoBackend({ detail: "invalid backend type" })
    const plain = (of: Normalised.Policies) =>
      Object.fromEntries(Object.values(of).map(({ name, branches }) => [name, branches[0]?.config]))
    const inForce = mergeBackendPolicies([
      { level: "backendInline", key: "", path: [...source.path, "policies"], policies: plain(source.policies) },
      ...chain.map((hop, index) => ({
        level: "routeInline" as const,
        hop: index,
        key: "",
        path: [...hop.path, "policies"],
        policies: plain(hop.backendPolicies)
      })),
      { level: "backendRef", key: "", path: [...path, "policies"], policies: plain(policies) }
    ])
    const graph = yield* this.#site(
      "backend",
      inForce.map(({ name, config, path }) => ({ name, entries: [{ config, path }] }))
    )
    const { registry } = this.#parts
    const all = [gateway, route, graph]
    const backend: Backend = {
      name: source.name,
      ...callee,
      steps: graph.request,
      backendResponse: responseSteps(registry, "backendResponse", all),
      response: responseSteps(registry, "response", all),
      effective: graph.effective
    }
    return backend
  }

  /** A backend is opened once, however many routes lead to it. */
  *#callee(source: Normalised.Backend) {
    if (this.#callees.has(source.key)) return this.#callees.get(source.key)
    const terminal = this.#parts.terminals.find(({ name }) => name === source.destination.kind)
    let callee: Callee | undefined
    if (terminal === undefined) this.#problem(source.path, notAvailable(`a backend of kind ${source.destination.kind}`))
    else {
      const at = [...source.path, source.destination.kind]
      callee = yield* this.#collect(terminal.compile(source.destination.config, at), at)
    }
    this.#callees.set(source.key, callee)
    return callee
  }
}

const chainKey = (chain: ReadonlyArray<Normalised.Route>) => chain.map((route) => route.key).join(" > ")
