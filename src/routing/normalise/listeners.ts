/** Gateways and binds as ports with listeners. Routes are put on them afterwards. */
import type { Path } from "../../../spec/config/path.ts"
import type {
  Bind as BindConfig,
  Gateway as GatewayConfig,
  Listener as ListenerConfig
} from "../../../spec/standalone/listener.ts"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import type { Bind, Listener, Policies } from "../normalised.ts"
import type { Complaints } from "./complaints.ts"
import { attached, none } from "./policies.ts"

/** A listener whose routes are still to be found. */
export type BareListener = Omit<Listener, "routes" | "tcpRoutes">

/** A bind whose listeners have no routes yet. */
export interface BareBind extends Omit<Bind, "listeners"> {
  readonly listeners: ReadonlyArray<BareListener>
}

/** A gateway by the name that routes refer to. */
export interface Attachable {
  readonly name: string
  readonly listeners: ReadonlyArray<BareListener>
}

const kindOf = (protocol: Listener["protocol"]) =>
  protocol === "HTTP" || protocol === "HTTPS" || protocol === "HBONE" ? "HTTP" : "TCP"

/** Whether HTTP routes or TCP routes belong on a listener. */
export const routesOf = (listener: { readonly protocol: Listener["protocol"] }): "HTTP" | "TCP" =>
  kindOf(listener.protocol)

const gateway = { gatewayName: "default", gatewayNamespace: "default" }

/** Where routes are put that say wrongly where they belong, so that what else is wrong with them is told. */
export const nowhere: BareListener = {
  key: "nowhere",
  name: "nowhere",
  ...gateway,
  hostname: "",
  protocol: "HTTP",
  tls: undefined,
  policies: none,
  path: []
}

/** The rules of TLS and protocol that one listener must keep by itself. */
const checkTls = (protocol: Listener["protocol"], tls: unknown, path: Path, problems: Complaints) => {
  if ((protocol === "HTTP" || protocol === "TCP") && tls !== undefined)
    problems.add([...path, "tls"], `protocol ${protocol} cannot be used with tls`)
  if (protocol === "HTTPS" && tls === undefined) problems.add(path, "protocol HTTPS requires tls")
}

/** What a port carries, and the rule that it carries one thing only. */
const protocolOf = (listeners: ReadonlyArray<BareListener>, path: Path, problems: Complaints): Bind["protocol"] => {
  const secure = listeners.filter(({ protocol }) => protocol === "HTTPS" || protocol === "TLS")
  const plain = listeners.filter((listener) => !secure.includes(listener))
  if (secure.length > 0 && plain.length > 0) problems.add(path, "listeners of one port cannot mix TLS with plaintext")
  const tcp = plain.filter(({ protocol }) => protocol === "TCP")
  if (tcp.length > 0 && tcp.length < plain.length) problems.add(path, "listeners of one port cannot mix HTTP with TCP")
  return secure.length > 0 ? "tls" : tcp.length > 0 ? "tcp" : "http"
}

const uniqueNames = (listeners: ReadonlyArray<BareListener>, problems: Complaints) => {
  const seen = new Set<string>()
  for (const { name, path } of listeners) {
    if (seen.has(name)) problems.add(path, `listener ${name} is defined twice`)
    seen.add(name)
  }
}

/** A named gateway: a bind of its own with one listener, or with the listeners that it lists. */
export const fromGateway = (name: string, config: GatewayConfig, specs: PolicySpecs, problems: Complaints) => {
  const path: Path = ["gateways", name]
  const listener = (
    source: Pick<GatewayConfig, "protocol" | "tls">,
    key: string,
    listenerName: string,
    hostname: string,
    at: Path
  ): BareListener => {
    const protocol = source.protocol ?? (source.tls === undefined ? "HTTP" : "HTTPS")
    checkTls(protocol, source.tls, at, problems)
    const policies = attached(source, at, specs)
    return { key, name: listenerName, ...gateway, hostname, protocol, tls: source.tls, policies, path: at }
  }
  const own = attached(config, path, specs)
  if (config.listeners !== undefined) {
    for (const key of ["protocol", "tls", ...Object.keys(own)])
      if (key in config)
        problems.add([...path, key], "a gateway with listeners cannot have protocol, tls or policies of its own")
  }
  const listeners = config.listeners?.map((each, index) => {
    const listenerName = each.name ?? `listener${index}`
    const at: Path = [...path, "listeners", index]
    return listener(each, `gateway/${name}/${listenerName}`, listenerName, each.hostname ?? "*", at)
  }) ?? [listener(config, `gateway/${name}`, name, "*", path)]
  uniqueNames(listeners, problems)
  const bind: BareBind = {
    key: `bind/${config.port}`,
    port: config.port,
    address: config.address,
    protocol: protocolOf(listeners, path, problems),
    mode: "standard",
    tunnelProtocol: "direct",
    listeners,
    path
  }
  return { bind, attachable: { name, listeners } satisfies Attachable }
}

/** A bind in raw form, with its listeners beside their configuration. */
export const fromBind = (config: BindConfig, index: number, specs: PolicySpecs, problems: Complaints) => {
  const path: Path = ["binds", index]
  const port = config.port ?? 0
  if (port === 0 && config.mode !== "internal") problems.add(path, "a bind without a port must set mode: internal")
  const key = port === 0 ? "bind/wildcard" : `bind/${port}`
  const pairs = config.listeners.map((source: ListenerConfig, at) => {
    const name = source.name ?? `listener${at}`
    const listenerPath: Path = [...path, "listeners", at]
    const { protocol, tls, hostname = "" } = source
    checkTls(protocol, tls, listenerPath, problems)
    checkRoutes(source, listenerPath, problems)
    const policies = attached(source.policies, [...listenerPath, "policies"], specs)
    const listener: BareListener = {
      key: `default/default/${key}/${name}`,
      name,
      ...gateway,
      hostname,
      protocol,
      tls,
      policies,
      path: listenerPath
    }
    return { source, listener }
  })
  const listeners = pairs.map(({ listener }) => listener)
  uniqueNames(listeners, problems)
  const { mode, tunnelProtocol, address } = config
  if (mode === "internal" && address !== undefined)
    problems.add([...path, "address"], "an internal bind opens no socket: it has no address")
  const bind: BareBind = {
    key,
    port,
    address,
    protocol: protocolOf(listeners, path, problems),
    mode,
    tunnelProtocol,
    listeners,
    path
  }
  return { bind, pairs }
}

/** The port of what is nowhere. */
export const unbound: BareBind = {
  key: "bind/nowhere",
  port: 0,
  address: undefined,
  protocol: "http",
  mode: "standard",
  tunnelProtocol: "direct",
  listeners: [nowhere],
  path: []
}

/** The port of a section that attaches to no gateway. */
export const ownBind = (
  section: string,
  port: number,
  tls: Listener["tls"],
  policies: Policies,
  path: Path
): BareBind => {
  const key = `bind/${port}`
  const protocol = tls === undefined ? "HTTP" : "HTTPS"
  const listener = {
    key: `default/default/${key}/${section}`,
    name: section,
    ...gateway,
    hostname: "",
    protocol,
    tls,
    policies,
    path
  } as const
  return {
    key,
    port,
    address: undefined,
    protocol: tls === undefined ? "http" : "tls",
    mode: "standard",
    tunnelProtocol: "direct",
    listeners: [listener],
    path
  }
}

const checkRoutes = (source: ListenerConfig, path: Path, problems: Complaints) => {
  if (source.routes !== undefined && source.tcpRoutes !== undefined)
    return problems.add(path, "a listener has either routes or tcpRoutes")
  const wanted = routesOf(source) === "HTTP" ? "routes" : "tcpRoutes"
  const other = wanted === "routes" ? "tcpRoutes" : "routes"
  if (source[other] !== undefined)
    problems.add([...path, other], `protocol ${source.protocol} requires '${wanted}'`, {
      among: [...path, "protocol"],
      isName: () => false
    })
}
