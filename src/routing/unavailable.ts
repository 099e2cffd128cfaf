/** What a configuration uses that this build does not have: it is checked like everything else, and refused at start with its place. */
import type { Path } from "../../spec/config/path.ts"
import { type ConfigProblem, unavailable } from "../pipeline/stage.ts"
import type { Normalised, Policies, Route, TcpRoute } from "./normalised.ts"

/** One use of a policy, of a kind of backend, or of another part of the language. */
export interface Use {
  readonly feature: "policy" | "backend" | "part"
  /** Configuration name of the policy, `kind` of the backend, or name of the part. */
  readonly name: string
  readonly path: Path
}

/** What there is. */
export interface Available {
  readonly policies: ReadonlySet<string>
  /** Kinds of backends, and `service`. */
  readonly backends: ReadonlySet<string>
  readonly parts: ReadonlySet<Part>
}

/** Parts of the language beside policies and backends. `tunnel` are binds that take connections out of a tunnel or have no socket. */
export type Part =
  | "tcpRoutes"
  | "routeGroups"
  | "listenerSetTarget"
  | "serviceTarget"
  | "sectionTarget"
  | "discovery"
  | "hbone"
  | "tunnel"
  | "tls"
  | "http2"
  | "headerCase"

/**
 * Everything that a configuration uses, in the order of the normalised form. A route that is on several listeners is told
 * once. The policies of a model are not here: the terminal for models applies them itself and refuses what it lacks.
 */
export const uses = (config: Normalised): ReadonlyArray<Use> => {
  const found = new Map<string, Use>()
  const add = (feature: Use["feature"], name: string, path: Path) =>
    found.set(`${feature} ${name} ${path.join(".")}`, { feature, name, path })
  const part = (name: Part, path: Path) => add("part", name, path)
  const policies = (all: Policies) => {
    for (const { name, path } of Object.values(all)) add("policy", name, path)
  }
  const route = (each: Route | TcpRoute) => {
    if ("policies" in each) policies(each.policies)
    policies(each.backendPolicies)
    for (const backend of each.backends) {
      policies(backend.policies)
      if (backend.target.kind === "service") add("backend", "service", backend.path)
    }
  }

  const { http, tls, path } = config.frontend
  for (const key of Object.keys(http ?? {})) if (key.startsWith("http2")) part("http2", [...path, "http", key])
  if (http?.http1HeaderCase === "preserve") part("headerCase", [...path, "http", "http1HeaderCase"])
  if (tls !== undefined) part("tls", [...path, "tls"])
  policies(config.frontend.policies)
  for (const bind of config.binds) {
    if (bind.mode === "internal" || bind.tunnelProtocol !== "direct") part("tunnel", bind.path)
    for (const listener of bind.listeners) {
      if (listener.protocol === "HBONE") part("hbone", listener.path)
      if (listener.tls !== undefined) part("tls", [...listener.path, "tls"])
      policies(listener.policies)
      for (const each of listener.tcpRoutes) part("tcpRoutes", each.path)
      for (const each of [...listener.routes, ...listener.tcpRoutes]) route(each)
    }
  }
  for (const group of Object.values(config.routeGroups)) {
    part("routeGroups", group.path)
    group.routes.forEach(route)
  }
  for (const { destination, policies: own, path } of Object.values(config.backends)) {
    add("backend", destination.kind, path)
    policies(own)
    if (destination.kind === "ai")
      for (const { providers } of destination.config.groups) for (const each of providers) policies(each.policies)
  }
  for (const { target, policy, path } of config.targeted) {
    if (target.listenerSet !== undefined) part("listenerSetTarget", [...path, "target", "listenerSet"])
    if (target.backend?.service !== undefined) part("serviceTarget", [...path, "target", "backend", "service"])
    if (target.backend?.backend?.section !== undefined)
      part("sectionTarget", [...path, "target", "backend", "backend", "section"])
    add("policy", policy.name, policy.path)
  }
  for (const { path } of config.discovery) part("discovery", path)
  return [...found.values()]
}

const told: Readonly<Record<Part, string>> = {
  tcpRoutes: "a TCP route",
  routeGroups: "a route group",
  listenerSetTarget: "a policy of a listener set",
  serviceTarget: "a policy of a service",
  sectionTarget: "a policy of one part of a backend",
  discovery: "a service or workload of a mesh",
  hbone: "an HBONE listener",
  tunnel: "a tunnel or internal bind",
  tls: "TLS of a listener",
  http2: "HTTP/2",
  headerCase: "preserving the case of header names"
}

/** What of it there is not, as problems. */
export const missing = (config: Normalised, available: Available): ReadonlyArray<ConfigProblem> => {
  const has = { policy: available.policies, backend: available.backends, part: available.parts } as Readonly<
    Record<Use["feature"], ReadonlySet<string>>
  >
  return uses(config)
    .filter(({ feature, name }) => !has[feature].has(name))
    .map(({ feature, name, path }) => unavailable(path, feature === "part" ? told[name as Part] : `${feature} ${name}`))
}
