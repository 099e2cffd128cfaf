/** A configuration as a flat list of named parts, each with its place: what two configurations are compared by. */
import type { Path } from "../../../spec/config/path.ts"
import type * as Normalised from "../../routing/normalised.ts"
import {
  backendParts,
  bare,
  bindParts,
  frontendSettings,
  listenerParts,
  policiesOf,
  routeParts,
  routePolicies,
  serviceParts,
  targetedParts
} from "../admin/config-dump.ts"

export type PartKind =
  | "setting"
  | "bind"
  | "listener"
  | "route"
  | "backend"
  | "policy"
  | "frontend"
  | "service"
  | "workload"

export interface Part {
  readonly kind: PartKind
  /** Unique among the parts of its kind. */
  readonly key: string
  /** Its number alone tells it apart, and that changes with the order of the file. */
  readonly numbered: boolean
  readonly path: Path
  /** Everything about it but its policies. Credentials are in it. */
  readonly value: unknown
  readonly policies: ReadonlyArray<{ readonly name: string; readonly path: Path; readonly value: unknown }>
}

const attached = (policies: Normalised.Policies): Part["policies"] =>
  Object.values(policies).map((policy) => ({
    name: policy.name,
    path: policy.path,
    value: policiesOf({ [policy.name]: policy })[policy.name]
  }))

/** A backend that is written on a route is a part of the route. */
const isInline = ({ path }: Normalised.Backend) => path.length > 1 && path[0] !== "backends"

const routePart = (
  route: Normalised.Route | Normalised.TcpRoute,
  backends: Normalised.Normalised["backends"]
): Part => {
  // The number of a route says nothing about it.
  const { key: _, name, ...rest } = routeParts(route)
  const value = {
    ...(route.named ? { name } : {}),
    ...rest,
    backends: rest.backends.map((reference, index) => {
      const target = route.backends[index]?.target
      const backend = target?.kind === "backend" ? backends[target.key] : undefined
      if (backend === undefined || !isInline(backend)) return reference
      const { weight, inlinePolicies } = reference
      return { weight, [backend.destination.kind]: bare(backend.destination.config), inlinePolicies }
    })
  }
  return {
    kind: "route",
    key: route.key,
    numbered: !route.named,
    path: route.path,
    value,
    policies: attached(routePolicies(route))
  }
}

/** Every part of a configuration. */
export const partsOf = (config: Normalised.Normalised): ReadonlyArray<Part> => {
  const part = (
    kind: PartKind,
    key: string,
    path: Path,
    value: unknown,
    policies: Normalised.Policies = {},
    numbered = false
  ): Part => ({ kind, key, path, value, policies: attached(policies), numbered })
  return [
    part("setting", "config", ["config"], config.settings),
    part(
      "frontend",
      "frontendPolicies",
      config.frontend.path,
      frontendSettings(config.frontend),
      config.frontend.policies
    ),
    ...config.binds.flatMap((bind) => [
      part("bind", bind.key, bind.path, bindParts(bind, config.settings)),
      ...bind.listeners.flatMap((listener) => [
        part("listener", listener.key, listener.path, listenerParts(listener), listener.policies),
        ...[...listener.routes, ...listener.tcpRoutes].map((route) => routePart(route, config.backends))
      ])
    ]),
    ...Object.values(config.routeGroups).flatMap((group) =>
      group.routes.map((route) => routePart(route, config.backends))
    ),
    ...Object.values(config.backends)
      .filter((backend) => !isInline(backend))
      .map((backend) => part("backend", `/${backend.key}`, backend.path, backendParts(backend), backend.policies)),
    ...config.targeted.map((policy) => part("policy", policy.key, policy.path, targetedParts(policy))),
    ...Object.values(config.services).map((service) =>
      part("service", service.key, service.path, serviceParts(service))
    ),
    ...config.workloads.map(({ config, path }) => part("workload", String(path.at(-1)), path, config, {}, true))
  ]
}
