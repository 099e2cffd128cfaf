/** Routes and models that no request can reach, and references that lead nowhere. */
import { didYouMean } from "../../../spec/config/nearest.ts"
import { formatPath, type Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { RouteMatch } from "../../../spec/standalone/route.ts"
import { attachments } from "../attach.ts"
import { type Absent, isAbsent, lookUp, type Named, namedBy } from "../lookup.ts"
import type { Listener, Normalised, Route, RouteGroup } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { routesWithListeners, warn, warnOfName } from "./finding.ts"

/** A file without any listener. */
export const servesNothing = ({ binds }: Normalised): ReadonlyArray<Complaint> =>
  binds.some(({ listeners }) => listeners.length > 0)
    ? []
    : [warn("serves-nothing", [], "there is no listener, so that nothing is served; add gateways, binds, llm or mcp")]

interface Candidate {
  readonly route: Route
  readonly match: RouteMatch
  readonly index: number
}

/** Matches with the same key have the same paths. A wider prefix never comes before a narrower one; regular expressions are not looked into. */
const pathKey = ({ path }: RouteMatch): string => {
  if (path.exact !== undefined) return `= ${path.exact}`
  return path.regex === undefined ? `> ${path.pathPrefix.replace(/\/+$/, "")}` : `~ ${path.regex}`
}

interface Condition {
  readonly name: string
}

const coversList = <A extends Condition>(
  wide: ReadonlyArray<A> = [],
  narrow: ReadonlyArray<A> = [],
  nameOf = (name: string) => name
): boolean => {
  const textOf = (each: A) => JSON.stringify({ ...each, name: nameOf(each.name) })
  const texts = new Set(narrow.map(textOf))
  return wide.every((each) => texts.has(textOf(each)))
}

const inLowerCase = (name: string) => name.toLowerCase()

/** Whether every request that matches `narrow` matches `wide`, their paths being the same. */
const covers = (wide: RouteMatch, narrow: RouteMatch): boolean =>
  (wide.method === undefined || wide.method === narrow.method) &&
  coversList(wide.headers, narrow.headers, inLowerCase) &&
  coversList(wide.query, narrow.query)

/** The order in which matches of the same host name and the same path are tried. */
const compare = (a: Candidate, b: Candidate): number => {
  const rank = ({ match: { method, headers = [], query = [] } }: Candidate) => [
    method === undefined ? 1 : 0,
    -headers.length,
    -query.length
  ]
  const left = rank(a)
  const right = rank(b)
  for (const [index, value] of left.entries()) if (value !== right[index]) return value - right[index]!
  return a.route.key < b.route.key ? -1 : a.route.key > b.route.key ? 1 : a.index - b.index
}

const hostsOf = (route: Route): ReadonlyArray<string> =>
  route.hostnames.length === 0 ? ["*"] : route.hostnames.map((name) => name.toLowerCase() || "*")

/** The matches of one listener or one group by host name and path. */
const indexed = (routes: ReadonlyArray<Route>): ReadonlyMap<string, ReadonlyArray<Candidate>> => {
  const index = new Map<string, Array<Candidate>>()
  for (const route of routes)
    for (const [at, match] of route.matches.entries())
      for (const host of hostsOf(route)) {
        const key = `${host} ${pathKey(match)}`
        const bucket = index.get(key) ?? []
        if (bucket.length === 0) index.set(key, bucket)
        bucket.push({ route, match, index: at })
      }
  return index
}

/** Matches of which another one takes every request, on every listener and for every host name. */
export const shadowed = (config: Normalised): ReadonlyArray<Complaint> => {
  const indexes = new Map<Listener | RouteGroup, ReadonlyMap<string, ReadonlyArray<Candidate>>>()
  const indexOf = (place: Listener | RouteGroup) => {
    const index = indexes.get(place) ?? indexed(place.routes)
    indexes.set(place, index)
    return index
  }
  return routesWithListeners(config).flatMap(({ route, listeners }) => {
    const { path } = route
    if (route.matches.length === 0)
      return [warn("never-matches", [...path, "matches"], "an empty list of matches never matches")]
    const places =
      listeners.length > 0
        ? listeners
        : Object.values(config.routeGroups).filter(({ routes }) => routes.includes(route))
    return route.matches.flatMap((match, index) => {
      const shadows = places.flatMap((place) =>
        hostsOf(route).map((host) => {
          const rivals = indexOf(place).get(`${host} ${pathKey(match)}`) ?? []
          // The same route has another key on every listener.
          const own = rivals.find((rival) => rival.route.path === path && rival.index === index)
          return own && rivals.find((rival) => rival !== own && compare(rival, own) < 0 && covers(rival.match, match))
        })
      )
      const first = shadows[0]
      if (first === undefined || shadows.includes(undefined)) return []
      const by = first.route.path === path ? `matches[${first.index}]` : formatPath(first.route.path)
      const at = route.matches.length === 1 ? path : [...path, "matches", index]
      return [warn("never-matches", at, `never matches: ${by} comes first and takes all of its requests`)]
    })
  })
}

const hostsMeet = (route: string, listener: string): boolean => {
  if (listener === "" || listener === "*" || route === "*") return true
  const below = (suffix: string, name: string) => name.endsWith(suffix.slice(1)) && name.length > suffix.length - 1
  if (listener.startsWith("*."))
    return route === listener || below(listener, route) || (route.startsWith("*.") && below(route, listener))
  return route === listener || (route.startsWith("*.") && below(route, listener))
}

/** Host names of routes, of requests and of connections, that none of their listeners serves. */
export const unservedHosts = (config: Normalised): ReadonlyArray<Complaint> =>
  [...routesWithListeners(config), ...tcpRoutesWithListeners(config)].flatMap(({ route, listeners }) =>
    listeners.length === 0
      ? []
      : route.hostnames.flatMap((host, index) =>
          listeners.some(({ hostname }) => hostsMeet(host.toLowerCase(), hostname.toLowerCase()))
            ? []
            : [
                warn(
                  "hostname-never-served",
                  [...route.path, "hostnames", index],
                  `${host} is not among the host names of ${listenerList(listeners)}`
                )
              ]
        )
  )

const tcpRoutesWithListeners = (config: Normalised) => {
  const all = config.binds.flatMap(({ listeners }) =>
    listeners.flatMap((listener) => listener.tcpRoutes.map((route) => ({ route, listener })))
  )
  const byPlace = Map.groupBy(all, ({ route }) => route.path.join("/"))
  return [...byPlace.values()].map((found) => ({
    route: found[0]!.route,
    listeners: found.map(({ listener }) => listener)
  }))
}

const listenerList = (listeners: ReadonlyArray<Listener>) =>
  listeners.map(({ key, hostname }) => `${key} (${hostname})`).join(", ")

/** Routes that another one with the same key replaced. */
export const replacedRoutes = (config: Normalised): ReadonlyArray<Complaint> => {
  const told = new Map(config.replaced.map(({ path, by }) => [path.join("/"), { path, by }]))
  return [...told.values()].map(({ path, by }) =>
    warn("replaced-route", path, `replaced by ${formatPath(by)}, which has the same name on the same listener`)
  )
}

const leadsNowhere = ({ absent, message, meant }: Absent, { backend, service }: Named, path: Path): Complaint =>
  warnOfName("unknown-backend", [...path, absent], `${message}; requests are answered with 500${meant}`, {
    among: [`${absent}s`],
    isName: (word) => (service === undefined ? word === backend : service.name.endsWith(`/${word}`))
  })

/** References to backends and groups that are not there, and groups that lead back to themselves. */
export const references = (config: Normalised): ReadonlyArray<Complaint> => {
  const found = routesWithListeners(config).flatMap(({ route }) =>
    route.backends.flatMap(({ target, path }) => {
      const named = namedBy(target)
      const found = named && lookUp(config, named)
      if (found !== undefined && isAbsent(found)) return [leadsNowhere(found, named!, path)]
      if (target.kind === "routeGroup" && !Object.hasOwn(config.routeGroups, target.name))
        return [
          warnOfName(
            "unknown-route-group",
            [...path, "routeGroup"],
            `route group ${target.name} is not defined; requests are answered with 404${didYouMean(target.name, Object.keys(config.routeGroups))}`,
            { among: ["routeGroups"], isName: (word) => word === target.name }
          )
        ]
      return []
    })
  )
  return [...found, ...cycles(config)]
}

const cycles = (config: Normalised): ReadonlyArray<Complaint> => {
  const leadsTo = (name: string) =>
    (config.routeGroups[name]?.routes ?? []).flatMap(({ backends }) =>
      backends.flatMap(({ target }) => (target.kind === "routeGroup" ? [target.name] : []))
    )
  return Object.values(config.routeGroups).flatMap(({ name, path }) => {
    const seen = new Set<string>()
    const queue = leadsTo(name)
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (next === name)
        return [
          warn("delegation-cycle", path, "delegates to itself; a request that comes here twice is answered with 500")
        ]
      if (!seen.has(next)) queue.push(...leadsTo(next))
      seen.add(next)
    }
    return []
  })
}

/** Routes without anything that could answer. */
export const withoutBackend = ({ normalised: config, specs }: Configuration): ReadonlyArray<Complaint> => {
  const attachedTo = attachments(config)
  const isAnswered = (route: Route, listener: Listener | undefined) =>
    attachedTo(listener)
      .route([route])
      .some(({ policies }) => Object.keys(policies).some((name) => specs[name]?.answers === true))
  return routesWithListeners(config).flatMap(({ route, listeners }) => {
    if (route.backends.some(({ weight }) => weight > 0)) return []
    const places = listeners.length === 0 ? [undefined] : listeners
    if (places.every((listener) => isAnswered(route, listener))) return []
    return route.backends.length === 0
      ? [warn("no-backend", route.path, "has no backend; requests are answered with 500")]
      : [warn("no-backend", [...route.path, "backends"], "every backend has weight 0; requests are answered with 500")]
  })
}

/** Models behind another one of the same name that takes every request. */
export const unusedModels = ({ normalised: config, specs }: Configuration): ReadonlyArray<Complaint> =>
  Object.values(config.backends).flatMap(({ destination }) => {
    if (destination.kind !== "llm") return []
    const { models } = destination.config
    return models.flatMap((model, index) => {
      const first = models
        .slice(0, index)
        .find(
          (other) =>
            other.name === model.name &&
            other.matches.length === 0 &&
            other.visibility === "public" &&
            !Object.keys(other.policies).some((name) => specs[name]?.decides === "access")
        )
      return first === undefined
        ? []
        : [
            warn(
              "model-never-used",
              model.path,
              `never used: ${formatPath(first.path)} has the same name and takes all of its requests`
            )
          ]
    })
  })
