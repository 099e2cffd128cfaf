/** A decoded file in its normalised form. Everything that its parts demand of one another is checked here, all of it at once. */
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import { defaultSettings } from "../../../spec/standalone/settings.ts"
import type { Standalone } from "../../../spec/standalone.ts"
import type { Backend, Bind, Listener, Normalised, Route, RouteGroup, TcpRoute } from "../normalised.ts"
import { namedBackends } from "./backends.ts"
import { type Complaints, complaints } from "./complaints.ts"
import { type BareBind, type BareListener, fromBind, fromGateway } from "./listeners.ts"
import { attachTo, httpRoute, tcpRoute, type WithBackends } from "./routes.ts"

export type Result =
  | { readonly ok: true; readonly value: Normalised }
  | { readonly ok: false; readonly complaints: ReadonlyArray<Complaint> }

/** Expands every section of a file. `specs` are the policies with which the file was decoded. */
export const normalise = (file: Standalone, specs: PolicySpecs): Result => {
  const problems = complaints()
  const backends = new Map<string, Backend>()
  const routes = new Map<string, Map<string, Route>>()
  const tcpRoutes = new Map<string, Map<string, TcpRoute>>()

  // A second route with the same key on a listener replaces the first, and so do its backends.
  const put = <R extends Route | TcpRoute>(
    into: Map<string, Map<string, R>>,
    listener: BareListener,
    found: WithBackends<R>
  ) => {
    const onListener = into.get(listener.key) ?? new Map<string, R>()
    into.set(listener.key, onListener.set(found.route.key, found.route))
    for (const backend of found.inline) backends.set(backend.key, backend)
  }

  for (const backend of namedBackends(file.backends ?? [], specs)) {
    if (backends.has(backend.key)) problems.add(backend.path, `backend ${backend.name} is defined twice`)
    backends.set(backend.key, backend)
  }

  const binds = (file.binds ?? []).map((config, index) => {
    const { bind, pairs } = fromBind(config, index, specs, problems)
    for (const { source, listener } of pairs) {
      source.routes?.forEach((route, at) =>
        put(routes, listener, httpRoute(route, listener.key, [...listener.path, "routes", at], specs))
      )
      source.tcpRoutes?.forEach((route, at) =>
        put(tcpRoutes, listener, tcpRoute(route, listener.key, [...listener.path, "tcpRoutes", at], specs))
      )
    }
    return bind
  })
  const gateways = Object.entries(file.gateways ?? {}).map(([name, config]) =>
    fromGateway(name, config, specs, problems)
  )
  const attachables = gateways.map(({ attachable }) => attachable)

  file.routes?.forEach((route, index) => {
    const path: Path = ["routes", index]
    const section = `routes.${route.name ?? `route${index}`}`
    for (const listener of attachTo(section, route.gateways, "HTTP", attachables, path, problems))
      put(routes, listener, httpRoute(route, listener.key, path, specs))
  })
  file.tcpRoutes?.forEach((route, index) => {
    const path: Path = ["tcpRoutes", index]
    const section = `tcpRoutes.${route.name ?? `route${index}`}`
    for (const listener of attachTo(section, route.gateways, "TCP", attachables, path, problems))
      put(tcpRoutes, listener, tcpRoute(route, listener.key, path, specs))
  })

  const routeGroups: Record<string, RouteGroup> = {}
  file.routeGroups?.forEach(({ name, routes: members }, index) => {
    const path: Path = ["routeGroups", index]
    if (Object.hasOwn(routeGroups, name)) problems.add(path, `route group ${name} is defined twice`)
    const found = members.map((route, at) => httpRoute(route, `group/${name}`, [...path, "routes", at], specs))
    for (const backend of found.flatMap(({ inline }) => inline)) backends.set(backend.key, backend)
    routeGroups[name] = { name, routes: [...new Map(found.map(({ route }) => [route.key, route])).values()], path }
  })

  const ports = [...binds, ...gateways.map(({ bind }) => bind)]
  uniquePorts(ports, problems)
  if (problems.list.length > 0) return { ok: false, complaints: problems.list }

  const withRoutes = (listener: BareListener): Listener => ({
    ...listener,
    routes: [...(routes.get(listener.key)?.values() ?? [])],
    tcpRoutes: [...(tcpRoutes.get(listener.key)?.values() ?? [])]
  })
  return {
    ok: true,
    value: {
      settings: file.config ?? defaultSettings,
      binds: ports.map((bind): Bind => ({ ...bind, listeners: bind.listeners.map(withRoutes) })),
      routeGroups,
      backends: Object.fromEntries(backends)
    }
  }
}

const uniquePorts = (binds: ReadonlyArray<BareBind>, problems: Complaints) => {
  const owners = new Map<string, string>()
  for (const { key, port, path } of binds) {
    const owner = path.join(".")
    const first = owners.get(key)
    if (first === undefined) owners.set(key, owner)
    else if (port === 0) problems.add(path, "there can be one internal bind without a port")
    else
      problems.add(
        path,
        `port ${port} is configured by both ${first} and ${owner}; binds, llm, and mcp must use unique ports`
      )
  }
}
