/** A decoded file in its normalised form. Everything that its parts demand of one another is checked here, all of it at once. */
import { type Gap, originOf } from "../../../spec/config/gaps.ts"
import { formatPath, type Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import type { ServiceConfig } from "../../../spec/standalone/service.ts"
import { defaultSettings } from "../../../spec/standalone/settings.ts"
import type { Standalone } from "../../../spec/standalone.ts"
import type { Backend, Bind, Listener, Normalised, Route, RouteGroup, Service, TcpRoute } from "../normalised.ts"
import { withoutTarget } from "../targets.ts"
import { namedBackends } from "./backends.ts"
import { type Complaints, complaints } from "./complaints.ts"
import { type BareBind, type BareListener, fromBind, fromGateway, nowhere, unbound } from "./listeners.ts"
import { attachTo, type Context, httpRoute, tcpRoute, type WithBackends } from "./routes.ts"
import { type Placed, placeLlm, placeMcp, placeUi } from "./sections.ts"
import { checkSettings, frontends, targetedPolicies } from "./targeted.ts"

export interface Result {
  /** With complaints it is good for nothing but to find out what else is wrong. */
  readonly value: Normalised
  readonly complaints: ReadonlyArray<Complaint>
}

/**
 * Expands every section of a file. `specs` are the policies with which the file was decoded, `gaps` what was left out of it: what has
 * no name is known by its number in the whole file.
 */
export const normalise = (file: Standalone, specs: PolicySpecs, gaps: ReadonlyArray<Gap> = []): Result => {
  const problems = complaints()
  const numberOf = (path: Path) => (gaps.length === 0 ? path : originOf(path, gaps)).at(-1)!
  const context: Context = { specs, problems, numberOf }
  const backends = new Map<string, Backend>()
  const routes = new Map<string, Map<string, Route>>()
  const tcpRoutes = new Map<string, Map<string, TcpRoute>>()
  const replaced: Array<Normalised["replaced"][number]> = []

  // A second route with the same key on a listener replaces the first, and so do its backends.
  const put = <R extends Route | TcpRoute>(
    into: Map<string, Map<string, R>>,
    listener: BareListener,
    found: WithBackends<R>
  ) => {
    const onListener = into.get(listener.key) ?? new Map<string, R>()
    const before = onListener.get(found.route.key)
    if (before !== undefined) replaced.push({ path: before.path, by: found.route.path })
    into.set(listener.key, onListener.set(found.route.key, found.route))
    for (const backend of found.inline) backends.set(backend.key, backend)
  }

  const define = (backend: Backend) => {
    if (backends.has(backend.key)) problems.add(backend.path, `backend ${backend.key} is defined twice`)
    backends.set(backend.key, backend)
  }
  for (const backend of namedBackends(file.backends ?? [], specs)) define(backend)

  const binds = (file.binds ?? []).map((config, index) => {
    const { bind, pairs } = fromBind(config, index, specs, problems)
    for (const { source, listener } of pairs) {
      const at = (kind: string, index: number): Path => [...listener.path, kind, index]
      source.routes?.forEach((route, index) =>
        put(routes, listener, httpRoute(route, listener.key, at("routes", index), context))
      )
      source.tcpRoutes?.forEach((route, index) =>
        put(tcpRoutes, listener, tcpRoute(route, listener.key, at("tcpRoutes", index), context))
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
    const unset = `routes.${route.name ?? `route${numberOf(path)}`} must set gateways`
    for (const listener of attachTo(unset, route.gateways, "HTTP", attachables, path, problems))
      put(routes, listener, httpRoute(route, listener.key, path, context))
  })
  file.tcpRoutes?.forEach((route, index) => {
    const path: Path = ["tcpRoutes", index]
    const unset = `tcpRoutes.${route.name ?? `route${numberOf(path)}`} must set gateways`
    for (const listener of attachTo(unset, route.gateways, "TCP", attachables, path, problems))
      put(tcpRoutes, listener, tcpRoute(route, listener.key, path, context))
  })

  const place = (section: Placed): BareBind | undefined => {
    for (const backend of section.route.inline) define(backend)
    for (const listener of section.listeners) put(routes, listener, { ...section.route, inline: [] })
    return section.bind
  }
  const llm = file.llm && place(placeLlm(file.llm, file.mcp, attachables, context))
  const mcp = file.mcp && place(placeMcp(file.mcp, llm, attachables, context))
  if (file.ui !== undefined) place(placeUi(file.ui, attachables, context))

  const groups = routeGroups(file, context)
  for (const backend of groups.inline) backends.set(backend.key, backend)

  const targeted = targetedPolicies(file.policies, context)
  checkSettings(file.config, problems)
  const ports = [...binds, ...gateways.map(({ bind }) => bind), llm, mcp].filter((bind) => bind !== undefined)
  uniquePorts(ports, problems)
  uniqueSockets(ports, problems)

  // An empty list attaches to nothing, without being wrong.
  const isAstray = problems.list.length > 0 && (routes.has(nowhere.key) || tcpRoutes.has(nowhere.key))
  const withRoutes = (listener: BareListener): Listener => ({
    ...listener,
    routes: [...(routes.get(listener.key)?.values() ?? [])],
    tcpRoutes: [...(tcpRoutes.get(listener.key)?.values() ?? [])]
  })
  const value: Normalised = {
    settings: file.config ?? defaultSettings(),
    binds: (isAstray ? [...ports, unbound] : ports).map(
      (bind): Bind => ({ ...bind, listeners: bind.listeners.map(withRoutes) })
    ),
    frontend: frontends(file.frontendPolicies, specs),
    routeGroups: groups.groups,
    backends: record(backends),
    targeted,
    replaced,
    services: services(file.services ?? [], problems),
    workloads: (file.workloads ?? []).map((config, index) => ({ config, path: ["workloads", index] }))
  }
  for (const { policy, path, message, missing } of withoutTarget(value))
    if (specs[policy.policy.name]!.decides !== undefined) problems.add(path, message, missing)
  return { value, complaints: problems.list }
}

/** A record in which every name is absent that the file does not give. */
const record = <A>(entries: Iterable<readonly [string, A]>): Readonly<Record<string, A>> =>
  Object.assign(Object.create(null), Object.fromEntries(entries))

const services = (configs: ReadonlyArray<ServiceConfig>, problems: Complaints): Readonly<Record<string, Service>> => {
  const found = new Map<string, Service>()
  for (const [index, config] of configs.entries()) {
    const path: Path = ["services", index]
    const key = `${config.namespace}/${config.hostname}`
    if (found.has(key)) problems.add(path, `service ${key} is defined twice`)
    found.set(key, { key, config, path })
  }
  return record(found)
}

const routeGroups = (file: Standalone, context: Context) => {
  const groups = new Map<string, RouteGroup>()
  const inline: Array<Backend> = []
  file.routeGroups?.forEach(({ name, routes }, index) => {
    const path: Path = ["routeGroups", index]
    if (groups.has(name)) context.problems.add(path, `route group ${name} is defined twice`)
    const found = routes.map((route, at) => httpRoute(route, `group/${name}`, [...path, "routes", at], context))
    inline.push(...found.flatMap(({ inline }) => inline))
    groups.set(name, { name, routes: [...new Map(found.map(({ route }) => [route.key, route])).values()], path })
  })
  return { groups: record(groups), inline }
}

const uniquePorts = (binds: ReadonlyArray<BareBind>, problems: Complaints) => {
  const owners = new Map<string, Path>()
  for (const { key, port, path } of binds) {
    const first = owners.get(key)
    if (first === undefined) owners.set(key, path)
    else if (port === 0) problems.add(path, "there can be one internal bind without a port")
    else
      problems.add(
        path,
        `port ${port} is configured by both ${formatPath(first)} and ${formatPath(path)}; binds, llm, and mcp must use unique ports`,
        { among: [...first, "port"], isName: () => false }
      )
  }
}

const uniqueSockets = (binds: ReadonlyArray<BareBind>, problems: Complaints) => {
  const owners = new Map<string, string>()
  for (const { address, path } of binds) {
    if (address === undefined || !address.startsWith("unix:")) continue
    const first = owners.get(address)
    if (first === undefined) owners.set(address, formatPath(path))
    else problems.add([...path, "address"], `${first} listens on this socket already`)
  }
}
