/** What `/config_dump` shows: the configuration in force, in its normalised form, with secrets masked. */
import { masked } from "../pipeline/masked.ts"
import type * as Normalised from "../routing/normalised.ts"
import { hiddenOf } from "./hidden.ts"
import { version } from "./version.ts"

const policiesOf = (policies: Normalised.Policies): Record<string, unknown> =>
  Object.fromEntries(
    Object.values(policies).map(({ name, branches }) => {
      const shown = branches.map(({ condition, config }) =>
        condition === undefined ? config : { condition: condition.expression, policy: config }
      )
      return [name, shown.length === 1 ? shown[0] : shown]
    })
  )

const routeOf = (route: Normalised.Route) => ({
  key: route.key,
  name: route.name,
  namespace: route.namespace,
  ruleName: route.ruleName ?? null,
  hostnames: route.hostnames,
  matches: route.matches,
  backends: route.backends.map(({ weight, target, policies }) => ({
    weight,
    ...(target.kind === "backend"
      ? { backend: `/${target.key}` }
      : target.kind === "routeGroup"
        ? { routeGroup: target.name }
        : target.kind === "service"
          ? { service: { name: target.name, port: target.port } }
          : { invalid: null }),
    inlinePolicies: policiesOf(policies)
  })),
  inlinePolicies: policiesOf({ ...route.policies, ...route.backendPolicies })
})

const keyedBy = <A>(items: ReadonlyArray<A>, key: (item: A) => string, shown: (item: A) => unknown) =>
  Object.fromEntries(items.map((item) => [key(item), shown(item)]))

const wholeOf = (config: Normalised.Normalised) => ({
  workloads: [],
  services: [],
  binds: [...config.binds]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((bind) => ({
      key: bind.key,
      address: `[::]:${bind.port}`,
      protocol: bind.protocol,
      tunnelProtocol: bind.tunnelProtocol,
      mode: bind.mode,
      listeners: keyedBy(
        bind.listeners,
        (listener) => listener.key,
        (listener) => ({
          key: listener.key,
          gatewayName: listener.gatewayName,
          gatewayNamespace: listener.gatewayNamespace,
          listenerName: listener.name,
          hostname: listener.hostname,
          protocol: listener.protocol,
          routes: keyedBy(listener.routes, (route) => route.key, routeOf)
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
  policies: config.binds.flatMap((bind) =>
    bind.listeners.flatMap((listener) =>
      Object.entries(policiesOf(listener.policies)).map(([name, policy]) => ({
        key: `${listener.key}/${name}`,
        name: null,
        target: { gateway: { gatewayName: listener.gatewayName, gatewayNamespace: listener.gatewayNamespace } },
        policy: { traffic: { phase: "gateway", [name]: policy } }
      }))
    )
  ),
  backends: Object.values(config.backends).map((backend) => ({
    backend: {
      [backend.destination.kind]: {
        name: backend.name,
        namespace: backend.namespace,
        target: backend.destination.config
      }
    },
    inlinePolicies: policiesOf(backend.policies)
  })),
  models: [],
  version,
  config: config.settings
})

/** The whole configuration as plain data. */
export const configDump = (config: Normalised.Normalised): unknown => masked(wholeOf(config), hiddenOf(config))
