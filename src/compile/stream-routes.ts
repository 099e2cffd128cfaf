/** Listeners of TCP and TLS with their routes: connections are passed on there as they are. */
import { Effect, Result } from "effect"
import type { Admission } from "../pipeline/contact.ts"
import { NoBackend } from "../pipeline/errors.ts"
import type { StreamBackend, StreamListener, StreamRoute } from "../pipeline/relay.ts"
import type { ConfigPath, ConfigProblem } from "../pipeline/stage.ts"
import type { Attached } from "../routing/attach.ts"
import { isAbsent, namedBy } from "../routing/lookup.ts"
import type * as Normalised from "../routing/normalised.ts"
import { compileTcpRoutes, type TcpRouteEntry } from "../routing/tcp.ts"
import { type Random, weightedChoice } from "../routing/weights.ts"
import { type Backends, forRequests } from "./backends.ts"
import type { Lookup } from "./lookup.ts"
import type { Compiling, Problems } from "./problems.ts"

/** A route as a listener serves it, with the backends to which it may lead. */
export interface ServedStreamRoute {
  readonly listener: StreamListener
  readonly route: StreamRoute
  readonly backends: ReadonlyArray<StreamBackend>
}

/** What they are compiled with. */
export interface StreamSources {
  readonly backends: Backends
  readonly lookup: Lookup
  readonly problems: Problems
  readonly random: Random
}

const nowhere = {
  backend: new NoBackend({ detail: "backend does not exist" }),
  service: new NoBackend({ detail: "service not found" })
}
const noneEligible = new NoBackend({ detail: "no valid backends" })

export const compileStreamListener = (
  { backends, lookup, problems, random }: StreamSources,
  bind: Normalised.Bind,
  source: Normalised.Listener,
  attached: Attached,
  admission: Admission | undefined
): Compiling<{ readonly listener: StreamListener; readonly routes: ReadonlyArray<ServedStreamRoute> }> =>
  Effect.gen(function* () {
    // What is said of a whole gateway is meant for those among its listeners that it can be for.
    for (const { level, policies } of [...attached.gateway, ...attached.route([])])
      if (level === "listener")
        for (const { name, path } of Object.values(policies)) problems.add({ path, message: `${name} ${forRequests}` })

    const backend = (
      route: Normalised.TcpRoute,
      reference: Normalised.BackendReference
    ): Compiling<StreamBackend | NoBackend> =>
      Effect.gen(function* () {
        const named = namedBy(reference.target)
        if (named === undefined) return nowhere.backend
        const found = yield* lookup.find(named)
        if (isAbsent(found)) return nowhere[found.absent]
        const ofRoute = { level: "routeInline", key: "", policies: route.backendPolicies } as const
        const attachments = [...attached.backend([], found, reference), ofRoute]
        return (yield* backends.ofStreams(found, attachments, reference.path)) ?? noneEligible
      })

    const entries: Array<TcpRouteEntry<StreamRoute>> = []
    const served: Array<Omit<ServedStreamRoute, "listener">> = []
    for (const route of source.tcpRoutes) {
      const values = yield* Effect.forEach(route.backends, (reference) => backend(route, reference))
      const weighted = route.backends.map(({ weight }, index) => ({ weight, value: values[index]! }))
      const compiled = compiledRoute(route, weighted, random)
      served.push(compiled)
      const { key, hostnames } = route
      entries.push({ key, hostnames, value: compiled.route })
    }
    const routes = compileTcpRoutes(entries)
    if (Result.isFailure(routes)) for (const problem of routes.failure) problems.add(placed(problem, source))
    const listener: StreamListener = {
      key: source.key,
      name: source.name,
      bind: bind.key,
      gateway: `${source.gatewayNamespace}/${source.gatewayName}`,
      protocol: source.protocol === "TLS" ? "tls" : "tcp",
      admission,
      routes: source.tcpRoutes.map(({ key }) => key),
      select: Result.isSuccess(routes) ? (serverName) => routes.success.find(serverName) : () => undefined
    }
    return { listener, routes: served.map((each) => ({ ...each, listener })) }
  })

/** Of a problem that begins with the index of a route. */
const placed = (problem: ConfigProblem, { tcpRoutes, path }: Normalised.Listener): ConfigProblem => {
  const [index, ...rest] = problem.path
  const at: ConfigPath = tcpRoutes[Number(index)]?.path ?? path
  return { ...problem, path: [...at, ...rest] }
}

// A function of its own, so that what connections run through keeps nothing of the compiling.
const compiledRoute = (
  { key, name, namespace, ruleName }: Normalised.TcpRoute,
  backends: ReadonlyArray<{ readonly weight: number; readonly value: StreamBackend | NoBackend }>,
  random: Random
): Omit<ServedStreamRoute, "listener"> => {
  const choice = weightedChoice(backends)
  const eligible = backends.filter(({ weight }) => weight > 0)
  return {
    route: {
      key,
      name,
      namespace,
      rule: ruleName,
      mayLeadNowhere: eligible.length === 0 || eligible.some(({ value }) => "_tag" in value),
      choose: () => choice(random) ?? noneEligible
    },
    backends: backends.flatMap(({ value }) => ("_tag" in value ? [] : [value]))
  }
}
