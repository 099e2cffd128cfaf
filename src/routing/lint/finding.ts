/** What a lint rule yields: a warning with its code. */
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { Code } from "../../../spec/warnings.ts"
import type { Listener, Normalised, Policies, Route } from "../normalised.ts"

export const warn = (code: Code, path: Path, message: string, about: "key" | "value" = "value"): Complaint => ({
  path,
  message,
  severity: "warning",
  code,
  about
})

/** The same about a name that nothing has. */
export const warnOfName = (code: Code, path: Path, message: string, missing: Complaint["missing"]): Complaint => ({
  ...warn(code, path, message),
  ...(missing && { missing })
})

export interface RouteOnListeners {
  readonly route: Route
  readonly listeners: ReadonlyArray<Listener>
}

// Most rules ask for it, and a file may have ten thousand routes.
const gathered = new WeakMap<Normalised, ReadonlyArray<RouteOnListeners>>()

/** Every route with the listeners it is on; one that is on several is given once. Routes of groups are on none. */
export const routesWithListeners = (config: Normalised): ReadonlyArray<RouteOnListeners> => {
  const known = gathered.get(config)
  if (known !== undefined) return known
  const found = new Map<string, { route: Route; listeners: Array<Listener> }>()
  for (const { listeners } of config.binds)
    for (const listener of listeners)
      for (const route of listener.routes) {
        const key = route.path.join("/")
        const entry = found.get(key) ?? { route, listeners: [] }
        entry.listeners.push(listener)
        found.set(key, entry)
      }
  for (const { routes } of Object.values(config.routeGroups))
    for (const route of routes) found.set(route.path.join("/"), { route, listeners: [] })
  const routes = [...found.values()]
  gathered.set(config, routes)
  return routes
}

/** Every set of policies in a configuration. */
export const allPolicies = function* (config: Normalised): Generator<Policies> {
  yield config.frontend.policies
  for (const { listeners } of config.binds) for (const { policies } of listeners) yield policies
  for (const { route } of routesWithListeners(config)) {
    yield route.policies
    yield route.backendPolicies
    for (const { policies } of route.backends) yield policies
  }
  for (const { policies, destination } of Object.values(config.backends)) {
    yield policies
    if (destination.kind === "ai")
      for (const { providers } of destination.config.groups) for (const each of providers) yield each.policies
    if (destination.kind === "llm") for (const each of destination.config.models) yield each.policies
  }
  for (const { policy } of config.targeted) yield { [policy.name]: policy }
}
