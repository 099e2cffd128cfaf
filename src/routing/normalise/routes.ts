/** Routes with their keys: on a listener, attached to gateways, or in a group. */
import { didYouMean } from "../../../spec/config/nearest.ts"
import type { Path } from "../../../spec/config/path.ts"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import type {
  AttachedRoute,
  AttachedTcpRoute,
  Route as RouteConfig,
  TcpRoute as TcpRouteConfig
} from "../../../spec/standalone/route.ts"
import type { Backend, BackendReference, Route, TcpRoute } from "../normalised.ts"
import { referenceOf } from "./backends.ts"
import type { Complaints } from "./complaints.ts"
import { type Attachable, type BareListener, nowhere, routesOf } from "./listeners.ts"
import { onRoute } from "./policies.ts"

/** What every part of the expansion needs: the policies of the language, and where to complain. */
export interface Context {
  readonly specs: PolicySpecs
  readonly problems: Complaints
  /** The place of a route in its list, as it is in the file. */
  readonly numberOf: (path: Path) => number | string
}

/** A route with the backends that are written on it. */
export interface WithBackends<R> {
  readonly route: R
  readonly inline: ReadonlyArray<Backend>
}

const identity = (config: RouteConfig | TcpRouteConfig, prefix: string, path: Path, context: Context) => {
  const name = config.name ?? `route${context.numberOf(path)}`
  const namespace = config.namespace ?? "default"
  const key = `${prefix}/${namespace}/${name}`
  const { ruleName, hostnames = [] } = config
  return { key, name, namespace, ruleName, named: config.name !== undefined, hostnames, path }
}

const backendsOf = (config: RouteConfig | TcpRouteConfig, key: string, path: Path, { specs, problems }: Context) => {
  const inline: Array<Backend> = []
  const backends = (config.backends ?? []).map((backend, index): BackendReference => {
    const found = referenceOf(backend, key, [...path, "backends", index], specs, problems)
    if (found.inline !== undefined) inline.push(found.inline)
    return found.reference
  })
  return { backends, inline }
}

/** A route under the key of its listener or group. */
export const httpRoute = (config: RouteConfig, prefix: string, path: Path, context: Context): WithBackends<Route> => {
  const named = identity(config, prefix, path, context)
  const { backends, inline } = backendsOf(config, named.key, path, context)
  const policies = onRoute(config.policies, [...path, "policies"], context.specs)
  return { route: { ...named, matches: config.matches, ...policies, backends }, inline }
}

/** A TCP route under the key of its listener. */
export const tcpRoute = (
  config: TcpRouteConfig,
  prefix: string,
  path: Path,
  context: Context
): WithBackends<TcpRoute> => {
  const named = identity(config, prefix, path, context)
  const { backends, inline } = backendsOf(config, named.key, path, context)
  const { policies, backendPolicies } = onRoute(config.policies, [...path, "policies"], context.specs)
  return { route: { ...named, backendPolicies: { ...policies, ...backendPolicies }, backends }, inline }
}

/** The listeners that a section attaches to, by its references or by the gateway named `default`; without either, `unset` is the problem. */
export const attachTo = (
  unset: string,
  refs: AttachedRoute["gateways"] | AttachedTcpRoute["gateways"],
  kind: "HTTP" | "TCP",
  gateways: ReadonlyArray<Attachable>,
  path: Path,
  problems: Complaints
): ReadonlyArray<BareListener> => {
  const among = ["gateways"]
  const fitting = (listeners: ReadonlyArray<BareListener>) =>
    listeners.filter((listener) => routesOf(listener) === kind)
  if (refs === undefined) {
    const listeners = fitting(gateways.find(({ name }) => name === "default")?.listeners ?? [])
    if (listeners.length === 0) problems.add(path, unset, { among, isName: (word) => word === "default" })
    return listeners.length === 0 ? [nowhere] : listeners
  }
  const at = (index: number): Path => (typeof refs === "string" ? [...path, "gateways"] : [...path, "gateways", index])
  const found = (typeof refs === "string" ? [refs] : refs).flatMap((ref, index) => {
    const slash = ref.indexOf("/")
    const [name, only] = slash === -1 ? [ref, undefined] : [ref.slice(0, slash), ref.slice(slash + 1)]
    const gateway = gateways.find((gateway) => gateway.name === name)
    const listeners = gateway?.listeners.filter((listener) => only === undefined || listener.name === only) ?? []
    if (listeners.length === 0)
      problems.add(
        at(index),
        `unknown gateway reference ${ref}${didYouMean(
          ref,
          gateways.map((each) => each.name)
        )}`,
        { among, isName: (word) => word === name || word === only }
      )
    else if (fitting(listeners).length === 0)
      problems.add(at(index), `gateway reference ${ref} has no ${kind} listeners`, {
        among,
        isName: (word) => word === name
      })
    return fitting(listeners)
  })
  return found.length === 0 && refs.length > 0 ? [nowhere] : [...new Set(found)]
}
