/** What a lint rule yields: a warning with its code. */
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { Listener, Normalised, Policies, Route } from "../normalised.ts"

/** Every code with what it warns of. */
export const codes = {
  "serves-nothing": "a file without a listener: a start is possible, a reload refused",
  "never-matches": "a route that no request can reach",
  "replaced-route": "a route that another one with the same name replaces",
  "hostname-never-served": "a host name that none of the listeners of a route serves",
  "unknown-backend": "a reference to a backend that is not defined",
  "unknown-route-group": "a reference to a route group that is not defined",
  "unknown-target": "a policy whose target is not there",
  "delegation-cycle": "route groups that delegate to one another without end",
  "no-backend": "a route that can only answer with an error",
  "admin-exposed": "the admin interface where others than this machine reach it",
  "key-exposed": "the key of a provider, used for whoever reaches the port",
  "dynamic-exposed": "any destination, for whoever reaches the port",
  "optional-authentication": "authentication that lets requests without a credential pass because its mode is left out",
  "unguarded-path": "prompt guards beside paths that are forwarded past them",
  "raw-paths": "a decision by paths that stay as they are received",
  "unguarded-stream": "guards over answers that do not read streamed ones",
  "inline-credential": "a credential written out in the file",
  "insecure-tls": "a server whose certificate is not verified",
  "cors-any-origin-with-credentials": "credentials for every web page",
  "limit-never-binds": "a limit that can never refuse anything",
  "limit-refuses-all": "a limit that refuses everything",
  "limit-never-refills": "a limit that refuses everything once it is used up",
  "limit-too-long": "a long limit that a restart forgets",
  "rule-never-true": "a rule or a condition whose types tell that it never holds",
  "repeated-header": "a rule that does not see a header which a client sends twice",
  "model-never-used": "a model that no request can reach",
  deprecated: "a form that another one has replaced"
} as const

export type Code = keyof typeof codes

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
