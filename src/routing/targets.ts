/** Policies whose target a configuration does not have: they have no effect, which nobody should find out by accident. */
import type { Path } from "../../spec/config/path.ts"
import type { Complaint } from "../../spec/config/positions.ts"
import { gatewayLevel, isOfBackend, routeLevel } from "./attach.ts"
import type { Normalised, TargetedPolicy } from "./normalised.ts"

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
    const whole = target.backend?.backend
    if (whole === undefined || whole.section !== undefined) return undefined
    return backends.get(whole.name)?.some((backend) => isOfBackend(target, backend))
      ? undefined
      : ["backend", "backend"]
  }

  return config.targeted.flatMap((policy) => {
    const kind = missing(policy)
    if (kind === undefined) return []
    const message = `no such ${kind[0]}: ${policy.policy.name} has no effect`
    const { gateway, route, backend } = policy.target
    // One without a name has a number, and may be what was left out.
    const [, numbered] = /^route(\d+)$/.exec(route?.name ?? "") ?? []
    const name =
      gateway?.listenerName?.split("/").at(-1) ?? gateway?.port?.toString() ?? route?.name ?? backend?.backend?.name
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
