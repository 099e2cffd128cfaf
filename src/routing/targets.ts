/** Policies whose target a configuration does not have: they have no effect, which nobody should find out by accident. */
import type { Path } from "../../spec/config/path.ts"
import type { Complaint } from "../../spec/config/positions.ts"
import { gatewayLevel, isOfBackend, routeLevel, serviceLevel } from "./attach.ts"
import type { Backend, Normalised, TargetedPolicy } from "./normalised.ts"

/** A policy without effect: where it names its target, and what there is to say. */
export interface WithoutTarget {
  readonly policy: TargetedPolicy
  readonly path: Path
  readonly message: string
  readonly missing: Complaint["missing"]
}

export const withoutTarget = (config: Normalised): ReadonlyArray<WithoutTarget> => {
  const listeners = config.binds.flatMap((bind) => bind.listeners.map((listener) => ({ bind, listener })))
  const routes = Map.groupBy(
    [
      ...listeners.flatMap(({ listener }) => listener.routes),
      ...Object.values(config.routeGroups).flatMap((group) => group.routes)
    ],
    ({ name }) => name
  )
  const backends = Map.groupBy(Object.values(config.backends), ({ name }) => name)

  /** The kind of the target, where nothing is what it names. What cannot be a target at all is told elsewhere. */
  const missing = ({ target }: TargetedPolicy): ReadonlyArray<string> | undefined => {
    if (target.gateway !== undefined)
      return listeners.some(({ bind, listener }) => gatewayLevel(target, bind, listener)) ? undefined : ["gateway"]
    if (target.route !== undefined)
      return routes.get(target.route.name)?.some((route) => routeLevel(target, route)) ? undefined : ["route"]
    // A file has none of them.
    if (target.listenerSet !== undefined) return ["listenerSet"]
    const { service, backend: named } = target.backend ?? {}
    if (service !== undefined) return hasService(config, target) ? undefined : ["backend", "service"]
    if (named === undefined) return undefined
    const { section, ...whole } = named
    const ofName = backends.get(whole.name)?.filter((each) => isOfBackend({ backend: { backend: whole } }, each)) ?? []
    if (ofName.length === 0) return ["backend", "backend"]
    return section === undefined || ofName.some((each) => hasSection(each, section))
      ? undefined
      : ["backend", "backend", "section"]
  }

  return config.targeted.flatMap((policy) => {
    const kind = missing(policy)
    if (kind === undefined) return []
    const message = `no such ${kind.length === 3 ? "part of the backend" : kind.at(-1)}: ${policy.policy.name} has no effect`
    const { gateway, route, backend } = policy.target
    // One without a name has a number, and may be what was left out.
    const [, numbered] = /^route(\d+)$/.exec(route?.name ?? "") ?? []
    const name =
      policy.target.listenerSet?.name ??
      backend?.service?.hostname ??
      backend?.backend?.section ??
      gateway?.listenerName?.split("/").at(-1) ??
      gateway?.port?.toString() ??
      route?.name ??
      backend?.backend?.name
    return [
      {
        policy,
        path: [...policy.path, "target", ...kind],
        message,
        missing: { among: numbered === undefined ? [] : ["routes", Number(numbered)], isName: (word) => word === name }
      }
    ]
  })
}

/** Whether there is that service, or that port of it: in the file, or where a route leads to it, whoever finds it. */
const hasService = (config: Normalised, target: TargetedPolicy["target"]): boolean => {
  const { hostname, namespace, port } = target.backend!.service!
  const known = config.services[`${namespace}/${hostname}`]
  const { ports } = known?.config ?? {}
  if (known !== undefined && (port === undefined || ports === undefined || ports.some((each) => each.port === port)))
    return true
  return [
    ...config.binds.flatMap(({ listeners }) => listeners.flatMap(({ routes, tcpRoutes }) => [...routes, ...tcpRoutes])),
    ...Object.values(config.routeGroups).flatMap(({ routes }) => routes)
  ].some(({ backends }) =>
    backends.some(
      ({ target: to }) =>
        to.kind === "service" && serviceLevel(target, { service: to.name, port: to.port }) !== undefined
    )
  )
}

/** Whether a part of a backend has that name. */
const hasSection = ({ destination }: Backend, section: string): boolean => {
  if (destination.kind === "ai")
    return destination.config.groups.some(({ providers }) => providers.some(({ name }) => name === section))
  if (destination.kind === "mcp") return destination.config.targets.some(({ name }) => name === section)
  return false
}
