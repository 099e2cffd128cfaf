/** Policies whose target a configuration does not have: they have no effect, which nobody should find out by accident. */
import { formatPath, type Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import { gatewayLevel, isOfBackend, routeLevel } from "../attach.ts"
import type { Normalised, TargetedPolicy } from "../normalised.ts"
import { warn } from "./finding.ts"

export const unknownTargets = (config: Normalised): ReadonlyArray<Complaint> => {
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
    const path: Path = [...policy.path, "target", ...kind]
    const name = formatPath(policy.policy.path)
    return [warn("unknown-target", path, `no such ${kind[0]}: ${name} has no effect`)]
  })
}
