/** What `/config_dump` shows: the configuration in force, in its normalised form, with secrets masked, and how endpoints do. */
import { Redacted } from "effect"
import { addressOf, everywhere, show } from "../../../layers/http/address.ts"
import type { LiveBackends } from "../../../spec/live-endpoints.ts"
import type { Hidden } from "../../pipeline/hidden.ts"
import { masked } from "../../pipeline/masked.ts"
import type * as Normalised from "../../routing/normalised.ts"
import { version } from "../version.ts"

export const policiesOf = (policies: Normalised.Policies): Record<string, unknown> =>
  Object.fromEntries(
    Object.values(policies).map(({ name, branches }) => {
      const shown = branches.map(({ condition, config }) =>
        condition === undefined ? config : { condition: condition.expression, policy: config }
      )
      return [name, shown.length === 1 ? shown[0] : shown]
    })
  )

const isPolicies = (value: object): value is Normalised.Policies =>
  Object.values(value).every((each) => typeof each === "object" && each !== null && "branches" in each)

/** What a backend is, without the places that its parts were written at. */
export const bare = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(bare)
  if (typeof value !== "object" || value === null || Redacted.isRedacted(value) || !isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      key === "path" && Array.isArray(inner)
        ? []
        : key === "policies" && typeof inner === "object" && inner !== null && isPolicies(inner)
          ? [[key, policiesOf(inner)]]
          : [[key, bare(inner)]]
    )
  )
}

const isRecord = (value: object) => [Object.prototype, null].includes(Object.getPrototypeOf(value))

const targetOf = ({ target }: Normalised.BackendReference) => {
  switch (target.kind) {
    case "backend":
      return { backend: `/${target.key}` }
    case "routeGroup":
      return { routeGroup: target.name }
    case "service":
      return { service: { name: target.name, port: target.port } }
    case "invalid":
      return { invalid: null }
  }
}

const referenceOf = (reference: Normalised.BackendReference) => ({
  weight: reference.weight,
  ...targetOf(reference),
  inlinePolicies: policiesOf(reference.policies)
})

/** What a route on one listener is, but for its policies. */
export const routeParts = (route: Normalised.Route | Normalised.TcpRoute) => ({
  key: route.key,
  name: route.name,
  namespace: route.namespace,
  ruleName: route.ruleName ?? null,
  hostnames: route.hostnames,
  ...("matches" in route ? { matches: route.matches } : {}),
  backends: route.backends.map(referenceOf)
})

/** Every policy that is written on a route, those of its backends included. */
export const routePolicies = (route: Normalised.Route | Normalised.TcpRoute): Normalised.Policies =>
  "policies" in route ? { ...route.policies, ...route.backendPolicies } : route.backendPolicies

const routeOf = (route: Normalised.Route | Normalised.TcpRoute) => ({
  ...routeParts(route),
  inlinePolicies: policiesOf(routePolicies(route))
})

/** A protocol that speaks TLS stands with what it speaks it with. */
const protocolOf = ({ protocol, tls }: Normalised.Listener) =>
  protocol === "HTTPS" || protocol === "TLS" ? { [protocol]: tls ?? null } : protocol

/** What a listener is, but for its routes and policies. */
export const listenerParts = (listener: Normalised.Listener) => ({
  key: listener.key,
  gatewayName: listener.gatewayName,
  gatewayNamespace: listener.gatewayNamespace,
  listenerName: listener.name,
  hostname: listener.hostname,
  protocol: protocolOf(listener)
})

/** What a bind is, but for its listeners. */
export const bindParts = (bind: Normalised.Bind, { enableIpv6 }: Normalised.Normalised["settings"]) => ({
  key: bind.key,
  address: show(addressOf(bind.address ?? everywhere(enableIpv6), bind.port)),
  protocol: bind.protocol,
  tunnelProtocol: bind.tunnelProtocol,
  mode: bind.mode
})

/** What a backend is, but for its policies. The section for models is one, too: the router of models. */
export const backendParts = ({ destination, name, namespace }: Normalised.Backend) => ({
  [destination.kind === "llm" ? "llmRouter" : destination.kind]: { name, namespace, target: bare(destination.config) }
})

/** How a policy that names what it applies to stands in the dump. */
export const targetedParts = ({ key, target, phase, policy }: Normalised.TargetedPolicy) => {
  const config = policiesOf({ [policy.name]: policy })
  return {
    key,
    name: key,
    target,
    policy: phase === "backend" ? { backend: config } : { traffic: { phase, ...config } }
  }
}

const keyedBy = <A>(items: ReadonlyArray<A>, key: (item: A) => string, shown: (item: A) => unknown) =>
  Object.fromEntries(items.map((item) => [key(item), shown(item)]))

const everything = { gateway: { gatewayName: "default", gatewayNamespace: "default" } }

const policyEntries = (config: Normalised.Normalised) => [
  ...Object.entries({ ...frontendSettings(config.frontend), ...policiesOf(config.frontend.policies) }).map(
    ([name, policy]) => ({
      key: `frontend/${name}`,
      name: null,
      target: everything,
      policy: { frontend: { [name]: policy } }
    })
  ),
  ...config.binds.flatMap((bind) =>
    bind.listeners.flatMap((listener) =>
      Object.entries(policiesOf(listener.policies)).map(([name, policy]) => ({
        key: `${listener.key}/${name}`,
        name: null,
        target: {
          gateway: {
            gatewayName: listener.gatewayName,
            gatewayNamespace: listener.gatewayNamespace,
            listenerName: listener.name
          }
        },
        policy: { traffic: { phase: "gateway", [name]: policy } }
      }))
    )
  ),
  ...config.targeted.map(targetedParts)
]

/** What holds for connections, as far as it was written. */
export const frontendSettings = ({ http, tls, tcp }: Normalised.Frontends): Record<string, unknown> =>
  Object.fromEntries(Object.entries({ http, tls, tcp }).filter(([, value]) => value !== undefined))

/** What a service is. */
export const serviceParts = ({ config }: Normalised.Service) => ({ name: config.hostname, ...config })

const wholeOf = (config: Normalised.Normalised, live: (typeof LiveBackends)["Type"]) => ({
  workloads: config.workloads.map(({ config }) => config),
  services: Object.values(config.services).map(serviceParts),
  binds: [...config.binds]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((bind) => ({
      ...bindParts(bind, config.settings),
      listeners: keyedBy(
        bind.listeners,
        (listener) => listener.key,
        (listener) => ({
          ...listenerParts(listener),
          routes: keyedBy(listener.routes, (route) => route.key, routeOf),
          tcpRoutes: keyedBy(listener.tcpRoutes, (route) => route.key, routeOf)
        })
      )
    })),
  routes: {
    httpMesh: {},
    tcpMesh: {},
    routeGroups: keyedBy(
      Object.values(config.routeGroups),
      (group) => group.name,
      (group) => group.routes.map(routeOf)
    )
  },
  policies: policyEntries(config),
  backends: Object.values(config.backends).map((backend) => ({
    backend: backendParts(backend),
    inlinePolicies: policiesOf(backend.policies)
  })),
  endpoints: live,
  models: [],
  version,
  config: config.settings
})

/** The whole configuration as plain data, and how the endpoints do that it has several of. */
export const configDump = (
  config: Normalised.Normalised,
  hidden: Hidden,
  live: (typeof LiveBackends)["Type"] = []
): unknown => masked(wholeOf(config, live), hidden)
