/**
 * `headgatectl proxy config`: what a proxy runs with, from a running one or from a saved `/config_dump`; whole, or one kind of
 * thing in it.
 */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { stringify } from "yaml"
import { askAdmin } from "../admin/client.ts"
import { fromFile } from "../configuration/source.ts"
import { adminAddress, adminPort } from "./admin-address.ts"
import { type Dump, decodeDump, decodeTarget, type Target } from "./dump.ts"
import { orExit, Unable } from "./failure.ts"
import { fileFlag, oneFile } from "./one-file.ts"
import { table } from "./table.ts"

const flags = {
  file: fileFlag,
  operand: Argument.String("file").pipe(
    Argument.optional,
    Argument.withDescription(
      "A saved /config_dump; - for standard input. Without it the proxy on this machine is asked."
    )
  ),
  adminPort,
  output: Flag.Literals("output", ["short", "json", "yaml"]).pipe(
    Flag.withAlias("o"),
    Flag.withDefault("short" as const),
    Flag.withDescription("A table, JSON, or YAML; default: short, the table.")
  )
}

interface Asked {
  readonly file: Option.Option<string>
  readonly operand: Option.Option<string>
  readonly adminPort: Option.Option<number>
}

const dumpOf = ({ file: flag, operand, adminPort }: Asked): Effect.Effect<unknown, { readonly message: string }> =>
  Effect.gen(function* () {
    const file = yield* oneFile(flag, operand)
    const text = Option.isSome(file)
      ? yield* fromFile(file.value).read
      : String(yield* askAdmin(yield* adminAddress(adminPort), "GET", "/config_dump"))
    return yield* Effect.try({
      try: (): unknown => JSON.parse(text),
      catch: () => new Unable({ detail: `${Option.getOrElse(file, () => "the proxy's answer")} is no JSON` })
    })
  })

const json = (value: unknown) => JSON.stringify(value, null, 2)
const yaml = (value: unknown) => stringify(value, { lineWidth: 0 }).trimEnd()

const all = Command.make("all", flags, (asked) =>
  Effect.flatMap(dumpOf(asked), (dump) => Console.log(asked.output === "yaml" ? yaml(dump) : json(dump))).pipe(orExit())
).pipe(Command.withDescription("Show everything; `short` is JSON."))

type Row = Readonly<Record<string, string | number>>

/** A command for one kind of thing in the dump: a table of rows, or the things themselves. */
const listing = (
  name: string,
  description: string,
  items: (dump: Dump) => ReadonlyArray<unknown>,
  rows: (dump: Dump) => ReadonlyArray<Row>
) =>
  Command.make(name, flags, (asked) =>
    Effect.gen(function* () {
      const dump = decodeDump(yield* dumpOf(asked))
      if (Option.isNone(dump)) return yield* new Unable({ detail: "this is no dump of a configuration" })
      yield* Console.log(
        asked.output === "short"
          ? table(rows(dump.value))
          : asked.output === "yaml"
            ? yaml(items(dump.value))
            : json(items(dump.value))
      )
    }).pipe(orExit())
  ).pipe(Command.withDescription(description))

const listenersOf = ({ binds }: Dump) =>
  binds.flatMap((bind) => Object.values(bind.listeners).map((listener) => ({ bind, listener })))

const binds = listing(
  "binds",
  "List the ports.",
  ({ binds }) => binds,
  ({ binds }) =>
    binds.map(({ key, address, protocol, listeners }) => ({
      KEY: key,
      ADDRESS: address,
      PROTOCOL: protocol,
      LISTENERS: Object.keys(listeners).length
    }))
)

/** A protocol that speaks TLS stands with its settings. */
const protocolName = (protocol: unknown): string =>
  typeof protocol === "string" ? protocol : (Object.keys(protocol ?? {})[0] ?? "")

const listeners = listing(
  "listeners",
  "List the listeners.",
  (dump) => listenersOf(dump).map(({ listener }) => listener),
  (dump) =>
    listenersOf(dump).map(({ bind, listener }) => ({
      KEY: listener.key,
      BIND: bind.key,
      HOSTNAME: listener.hostname,
      PROTOCOL: protocolName(listener.protocol),
      ROUTES: Object.keys(listener.routes).length + Object.keys(listener.tcpRoutes).length
    }))
)

const routesOf = (dump: Dump) => [
  ...listenersOf(dump).flatMap(({ listener }) =>
    [...Object.values(listener.routes), ...Object.values(listener.tcpRoutes)].map((route) => ({
      on: listener.key,
      route
    }))
  ),
  ...Object.entries(dump.routes.routeGroups).flatMap(([group, routes]) =>
    routes.map((route) => ({ on: `group ${group}`, route }))
  )
]

const routes = listing(
  "routes",
  "List the routes of all listeners and groups.",
  (dump) => routesOf(dump).map(({ route }) => route),
  (dump) =>
    routesOf(dump).map(({ on, route }) => ({
      KEY: route.key,
      LISTENER: on,
      HOSTNAMES: route.hostnames.join(",") || "*",
      MATCHES: route.matches?.length ?? "-",
      BACKENDS: route.backends.map(referenceName).join(",") || "-",
      POLICIES: Object.keys(route.inlinePolicies).join(",") || "-"
    }))
)

const referenceName = (reference: Dump["binds"][number]["listeners"][string]["routes"][string]["backends"][number]) =>
  reference.backend ?? reference.routeGroup ?? reference.service?.name ?? "invalid"

const policies = listing(
  "policies",
  "List the policies that are written on no route and no backend.",
  ({ policies }) => policies,
  ({ policies }) =>
    policies.map(({ key, target, policy }) => ({
      KEY: key,
      TARGET: JSON.stringify(target),
      POLICY: kindsOf(policy).join(",")
    }))
)

/** `traffic.cors`, `frontend.http`: where a policy applies, and which it is. */
const kindsOf = (policy: unknown): ReadonlyArray<string> =>
  Object.entries(policy ?? {}).flatMap(([place, inner]) =>
    Object.keys(inner ?? {}).flatMap((name) => (name === "phase" ? [] : [`${place}.${name}`]))
  )

/** Each endpoint of those backends that choose between endpoints. */
const endpointsOf = ({ endpoints = [] }: Dump) =>
  endpoints.flatMap(({ endpoints: all, ...backend }) => all.map((endpoint) => ({ ...backend, ...endpoint })))

type Endpoint = ReturnType<typeof endpointsOf>[number]

const nameOf = ({ name, port }: Endpoint) => (port === undefined ? name : `${name}:${port}`)

const endpoints = listing(
  "endpoints",
  "List the endpoints that backends choose between, and how each of them does.",
  endpointsOf,
  (dump) =>
    endpointsOf(dump).map((endpoint) => ({
      TYPE: endpoint.type,
      BACKEND: nameOf(endpoint),
      ENDPOINT: endpoint.endpoint,
      GROUP: endpoint.group ?? "-",
      HEALTH: healthText(endpoint.health, endpoint.evictedMs),
      SCORE: endpoint.score.toFixed(2),
      SHARE: `${Math.round(endpoint.share * 100)}%`,
      "IN FLIGHT": endpoint.inFlight,
      REQUESTS: endpoint.requests,
      LATENCY: latencyText(endpoint.latencyMs)
    }))
)

const healthText = (health: number, evictedMs: number | null): string =>
  evictedMs === null ? health.toFixed(2) : `Evict (${(evictedMs / 1000).toFixed(1)}s)`

const latencyText = (latencyMs: number | null): string => (latencyMs === null ? "-" : `${latencyMs.toFixed(2)}ms`)

/** Of a backend that chooses between endpoints, each of them. What the dump does not tell is null. */
const backendsOf = (dump: Dump) => {
  const chosen = endpointsOf(dump)
  const unknown = { health: null, requests: null, latencyMs: null, evictedMs: null }
  const others = dump.backends.flatMap(({ backend }) =>
    Object.entries(backend).flatMap(([type, { name, namespace, target }]) =>
      chosen.some((each) => each.type === type && each.name === name && each.namespace === namespace)
        ? []
        : [{ type, name, namespace, endpoint: endpointOf(target), ...unknown }]
    )
  )
  const own = chosen.map((each) => {
    const { type, namespace, endpoint, health, requests, latencyMs, evictedMs } = each
    return { type, name: nameOf(each), namespace, endpoint, health, requests, latencyMs, evictedMs }
  })
  return [...others, ...own]
}

const backends = listing("backends", "List the backends, and how their endpoints do.", backendsOf, (dump) =>
  backendsOf(dump).map(({ type, name, namespace, endpoint, health, requests, latencyMs, evictedMs }) => ({
    TYPE: type,
    NAME: name,
    NAMESPACE: namespace || "-",
    ENDPOINT: endpoint ?? "-",
    HEALTH: health === null ? "-" : healthText(health, evictedMs),
    REQUESTS: requests ?? "-",
    LATENCY: latencyText(latencyMs)
  }))
).pipe(Command.withAlias("b"))

/** The address of a backend, or the names of what stands behind it. */
const endpointOf = (value: unknown): string | null => {
  const target = Option.getOrElse(decodeTarget(value), (): Target => ({}))
  if (target.host !== undefined) return target.port === undefined ? target.host : `${target.host}:${target.port}`
  if (target.path !== undefined) return `unix:${target.path}`
  const { targets = [], models = [], groups = [] } = target
  const inner = [...targets, ...models, ...groups.flatMap(({ providers }) => providers)]
  return inner.length === 0 ? null : inner.map(({ name }) => name).join(",")
}

export const configCommand = Command.make("config").pipe(
  Command.withAlias("c"),
  Command.withDescription("Show what a proxy runs with."),
  Command.withSubcommands([all, binds, listeners, routes, backends, endpoints, policies])
)
