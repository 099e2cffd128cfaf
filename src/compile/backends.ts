/**
 * Backends as requests reach them: the terminal of each, with what is in force at it on every way there. Routes lead to them, and
 * so do references, from policies and from other backends.
 */
import { Effect } from "effect"
import type { EndpointState } from "../../spec/live-endpoints.ts"
import { emptySite, responseSteps, type SiteGraph } from "../pipeline/compile.ts"
import type { ConnectionOptions } from "../pipeline/connection-policy.ts"
import type { StageTimes } from "../pipeline/latency.ts"
import { masked } from "../pipeline/masked.ts"
import type { Registry } from "../pipeline/registry.ts"
import type { CompiledStreams, StreamBackend } from "../pipeline/relay.ts"
import type { Backend, EffectivePolicies } from "../pipeline/route.ts"
import { type ConfigPath, unavailable } from "../pipeline/stage.ts"
import type { Ways } from "../pipeline/sub-call.ts"
import { readBy, terminalSteps } from "../pipeline/terminal-steps.ts"
import { type Attached, sectionAttachments } from "../routing/attach.ts"
import type { BackendLevel, Merging, PolicyAttachment } from "../routing/merge.ts"
import { none } from "../routing/normalise/policies.ts"
import type * as Normalised from "../routing/normalised.ts"
import { type Connection, Connections } from "./connections.ts"
import { Credentials, type CredentialText } from "./credentials.ts"
import type { Lookup } from "./lookup.ts"
import { parted } from "./parted.ts"
import type { Parts } from "./parts.ts"
import type { Compiling, Problems } from "./problems.ts"
import { withProxies } from "./proxies.ts"
import { References, withReferences } from "./references.ts"
import type { Sites } from "./sites.ts"
import { configPath, type OpenedTerminal, Terminals } from "./terminals.ts"

/** A backend, and how the endpoints do that it chooses between. */
export interface ChoosingBackend {
  readonly source: Normalised.Backend
  readonly endpoints: () => ReadonlyArray<EndpointState>
}

/** What is in force before a backend is reached. */
export type Way = readonly [gateway: SiteGraph, route: SiteGraph]

export interface BackendSources {
  readonly parts: Parts<Registry>
  readonly config: Normalised.Normalised
  readonly merge: Merging
  readonly sites: Sites
  readonly lookup: Lookup
  readonly problems: Problems
  readonly times: StageTimes
  readonly ways: Ways
  /** What is attached where no route leads. */
  readonly attached: Attached
}

export class Backends {
  readonly #parts: Parts<Registry>
  readonly #config: Normalised.Normalised
  readonly #merge: Merging
  readonly #sites: Sites
  readonly #lookup: Lookup
  readonly #problems: Problems
  readonly #times: StageTimes
  readonly #attached: Attached
  /** What is in force where no route leads. */
  readonly #noWay: Way
  readonly #connections: Connections
  readonly #credentials: Credentials
  readonly #terminals: Terminals
  readonly #references: References
  readonly #compiled = new Set<Normalised.Backend>()
  readonly #choosing = new Map<Normalised.Backend, () => ReadonlyArray<EndpointState>>()

  constructor({ parts, config, merge, sites, lookup, problems, times, ways, attached }: BackendSources) {
    this.#parts = parts
    this.#config = config
    this.#merge = merge
    this.#sites = sites
    this.#lookup = lookup
    this.#problems = problems
    this.#times = times
    this.#attached = attached
    this.#noWay = [emptySite(parts.registry, "gateway"), emptySite(parts.registry, "route")]
    this.#connections = new Connections(parts.connections)
    this.#credentials = new Credentials(parts.specs, config)
    this.#terminals = new Terminals(parts.terminals, this.#connections, merge, sectionAttachments(config), problems)
    this.#references = new References(lookup, parts.specs, ways, problems, (source, beside, from) =>
      this.#alone(source, beside, from)
    )
  }

  /** Compiles what refers to backends and proxies. */
  referredTo<A>(compiling: Compiling<A>): Compiling<A> {
    const { specs } = this.#parts
    const inForce = (source: Normalised.Backend, beside: Normalised.Policies) =>
      this.#merge.backend(this.#attached.backend([], source, { policies: beside }))
    const sources = { lookup: this.#lookup, specs, connections: this.#connections, inForce }
    return withProxies(sources, withReferences(this.#references, compiling))
  }

  /**
   * A backend at the end of a route; `undefined` if there is nothing in this build that could serve it.
   * @param before the policies in force on the way there.
   */
  atEndOf(
    way: Way,
    source: Normalised.Backend,
    attachments: ReadonlyArray<PolicyAttachment<BackendLevel>>,
    before: () => ReadonlyArray<Normalised.Policies>
  ): Compiling<Backend | undefined> {
    const { kind } = source.destination
    // What is targeted at a whole gateway is meant for those among its backends that it can be for.
    const meant = attachments.filter(
      ({ level, policies }) => !wide.has(level) || !Object.keys(policies).some((name) => this.#isForOthers(name, kind))
    )
    return this.#backend(source, meant, way, undefined, before)
  }

  /**
   * A backend at the end of a route of connections, which has no requests: what is said of its connections holds, and that something
   * is said of its requests is wrong. `undefined` if something else of it is.
   */
  ofStreams(
    source: Normalised.Backend,
    attachments: ReadonlyArray<PolicyAttachment<BackendLevel>>,
    from: ConfigPath
  ): Compiling<StreamBackend | undefined> {
    return Effect.gen({ self: this }, function* () {
      this.#compiled.add(source)
      const terminal = this.#terminals.of(source)
      if (terminal?.streams === undefined) {
        const { kind } = source.destination
        this.#problems.add(
          kind === "dynamic"
            ? unavailable(from, "a dynamic backend of a TCP route")
            : { path: from, message: `a TCP route leads to a host or a service, not to ${aBackend(kind)}` }
        )
        return undefined
      }
      const narrow = attachments.map((attachment) =>
        wide.has(attachment.level)
          ? { ...attachment, policies: this.#connections.parted(attachment.policies)[0] }
          : attachment
      )
      const [ofConnection, ofCalls] = this.#connections.parted(this.#merge.backend(narrow))
      for (const { name, path } of Object.values(ofCalls))
        this.#problems.add({ path, message: `${name} ${forRequests}` })
      const opened = yield* this.#problems.collect(
        Effect.gen({ self: this }, function* () {
          const connection = yield* this.#connections.compile(ofConnection)
          const { config } = source.destination
          const streams: CompiledStreams = yield* terminal.streams!(config, configPath(source), connection.options)
          return { connection, streams }
        })
      )
      if (opened === undefined) return undefined
      const { endpoints } = opened.streams
      if (endpoints !== undefined && !this.#choosing.has(source)) this.#choosing.set(source, endpoints)
      const { inForce } = opened.connection
      return {
        ...opened.streams,
        name: source.name,
        connections: inForce,
        effective: () => Object.fromEntries(inForce.map(({ policy, config }) => [policy, masked(config)]))
      }
    })
  }

  /** Those that choose between endpoints, as far as something leads to them. */
  get choosing(): ReadonlyArray<ChoosingBackend> {
    return Array.from(this.#choosing, ([source, endpoints]) => ({ source, endpoints }))
  }

  /** Those that nothing led to, compiled for what is wrong with them. */
  unreached(): Compiling<void> {
    return Effect.gen({ self: this }, function* () {
      for (const backend of Object.values(this.#config.backends))
        if (!this.#compiled.has(backend)) yield* this.#alone(backend, none, undefined)
    })
  }

  /** A backend with its own policies and with those beside a reference to it. */
  #alone(
    source: Normalised.Backend,
    policies: Normalised.Policies,
    from: ConfigPath | undefined
  ): Compiling<Backend | undefined> {
    return this.#backend(source, this.#attached.backend([], source, { policies }), this.#noWay, from, () => [])
  }

  #isForOthers(policy: string, kind: string): boolean {
    return this.#parts.specs[policy]?.backends?.includes(kind) === false
  }

  /** @param from the reference that leads to it, where no route does. */
  #backend(
    source: Normalised.Backend,
    attachments: ReadonlyArray<PolicyAttachment<BackendLevel>>,
    [gateway, route]: Way,
    from: ConfigPath | undefined,
    before: () => ReadonlyArray<Normalised.Policies>
  ): Compiling<Backend | undefined> {
    this.#compiled.add(source)
    const { kind } = source.destination
    const policies = this.#merge.backend(attachments)
    const [ofConnection, ofCalls] = this.#connections.parted(policies)
    const terminal = this.#terminals.of(source)
    if (terminal === undefined) return Effect.succeed(undefined)
    const ofSessions = (connections: ConnectionOptions) => this.#credentials.shown([...before(), ofCalls], connections)
    const compiling = Effect.flatMap(
      this.#terminals.open(terminal, source, attachments, ofConnection, ofSessions),
      (opened): Compiling<Backend | undefined> => {
        // No other backend knows what it is about: it would let everything through.
        for (const { name, path } of Object.values(policies))
          if (this.#isForOthers(name, kind))
            this.#problems.add({
              path,
              message: `${name} needs ${this.#parts.specs[name]!.backends!.map(aBackend).join(" or ")}`
            })
        const [ofTerminal, ofStages] = parted(ofCalls, (name) => terminal.applies?.includes(name) === true)
        return Effect.map(this.#sites.compile("backend", ofStages), (graph) => {
          if (opened === undefined) return undefined
          // Ways of its own to a backend change nothing about how its endpoints do.
          const { endpoints } = opened.compiled
          if (endpoints !== undefined && !this.#choosing.has(source)) this.#choosing.set(source, endpoints)
          const { options } = opened.connection
          // Routes ask what they end at for nothing; what refers to a backend may have to know.
          const credentials = from === undefined ? undefined : this.#credentials.shown([ofCalls], options)
          const sites = [gateway, route, graph] as const
          return compiledBackend(this.#parts.registry, this.#times, source, opened, sites, ofTerminal, credentials)
        })
      }
    )
    return this.#references.entering(source.key, from, compiling)
  }
}

// What requests run through is made by a function of its own: a closure keeps all that is in scope where it was made, and that of
// compiling is several times larger than its result.
const compiledBackend = (
  registry: Registry,
  times: StageTimes,
  source: Normalised.Backend,
  { compiled, reads, connection }: OpenedTerminal,
  sites: readonly [gateway: SiteGraph, route: SiteGraph, backend: SiteGraph],
  ofTerminal: Normalised.Policies,
  credentials: CredentialText | undefined
): Backend => {
  const { type, protocol, target, call, keepsTime, endpoints, elsewhere } = compiled
  const own = terminalSteps(source.destination.kind, configPath(source), compiled.nodes ?? [], reads, times)
  const { request, effective } = sites[2]
  const beside = responseSteps(registry, "call", sites)
  return {
    name: source.name,
    type,
    protocol,
    target,
    keepsTime,
    endpoints,
    elsewhere,
    call,
    steps: [...request, ...own.request],
    reads: compiled.reads === undefined ? reads : readBy(compiled.reads, reads),
    connections: connection.inForce,
    secured: connection.options.tls !== undefined,
    credentials,
    requestTimeout: connection.options.requestTimeout,
    beside: beside.length === 0 ? undefined : beside,
    backendResponse: [...own.backendResponse, ...responseSteps(registry, "backendResponse", sites)],
    afterwards: own.afterwards.length === 0 ? undefined : own.afterwards,
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

/** What is wrong with a policy where there are none. */
export const forRequests = "is for requests, and of a connection that is passed on none is read"

const wide: ReadonlySet<BackendLevel> = new Set(["gateway", "gatewayPort", "listener"])

const aBackend = (kind: string): string => `${/^([aeiou]|mcp|llm)/.test(kind) ? "an" : "a"} ${kind} backend`
