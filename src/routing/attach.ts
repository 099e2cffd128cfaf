/**
 * What a configuration attaches where: for a listener, for a route on it, and for a backend of that route, every policy that
 * is written there or targeted at it, with its level. Merging tells what of them is in force.
 */

import type { BackendLevel, FrontendLevel, GatewayLevel, PolicyAttachment, RouteLevel } from "./merge.ts"
import type {
  Backend,
  BackendReference,
  Bind,
  Listener,
  Normalised,
  Policies,
  Route,
  TargetedPolicy
} from "./normalised.ts"

type Target = TargetedPolicy["target"]

/** A listener by its own name, or, among those of several gateways, by the name of its gateway and its own: `edge/tenants`. */
const isNamed = (listenerName: string, { key, name }: Pick<Listener, "key" | "name">): boolean =>
  listenerName === name || key === `gateway/${listenerName}`

/** The level at which a policy of a gateway holds for a listener; `undefined` when it does not. */
export const gatewayLevel = (
  { gateway }: Target,
  { port }: Pick<Bind, "port">,
  listener: Pick<Listener, "key" | "name" | "gatewayName" | "gatewayNamespace">
): "gateway" | "gatewayPort" | "listener" | undefined => {
  if (gateway?.gatewayName !== listener.gatewayName || gateway.gatewayNamespace !== listener.gatewayNamespace)
    return undefined
  if (gateway.listenerName !== undefined) return isNamed(gateway.listenerName, listener) ? "listener" : undefined
  if (gateway.port !== undefined) return gateway.port === port ? "gatewayPort" : undefined
  return "gateway"
}

/** The kind of every route of requests. */
const routeKind = "HTTPRoute"

/** The level at which a policy of a route holds for one; `undefined` when it does not. */
export const routeLevel = (
  { route: target }: Target,
  route: Pick<Route, "name" | "namespace" | "ruleName">
): "route" | "rule" | undefined => {
  if (target?.name !== route.name || target.namespace !== route.namespace) return undefined
  if ((target.kind ?? routeKind) !== routeKind) return undefined
  return target.ruleName === undefined ? "route" : target.ruleName === route.ruleName ? "rule" : undefined
}

/** Whether a policy is one of a whole backend. */
export const isOfBackend = ({ backend }: Target, { name, namespace }: Pick<Backend, "name" | "namespace">): boolean => {
  const target = backend?.backend
  return target?.name === name && target.namespace === namespace && target.section === undefined
}

/** The level at which a policy of a service holds for one of its ports; `undefined` when it does not. */
export const serviceLevel = (
  { backend }: Target,
  { service, port }: { readonly service: string; readonly port: number | undefined }
) => {
  const target = backend?.service
  if (target === undefined || `${target.namespace}/${target.hostname}` !== service) return undefined
  return target.port === undefined ? "backend" : target.port === port ? "section" : undefined
}

/** Whether a policy is one of a part of a backend: of a provider, by its name. */
export const isOfSection = (
  { backend }: Target,
  { name, namespace }: Pick<Backend, "name" | "namespace">,
  section: string
) => {
  const target = backend?.backend
  return target?.name === name && target.namespace === namespace && target.section === section
}

/** Prepares a configuration: what is attached to the connections of a port. */
export const frontendAttachments = ({ targeted, frontend }: Pick<Normalised, "targeted" | "frontend">) => {
  const everywhere = written<FrontendLevel>("gateway", frontend.policies)
  const ofPorts = targeted.filter(({ phase }) => phase === "frontend")
  return (bind: Bind): ReadonlyArray<PolicyAttachment<FrontendLevel>> => [
    everywhere,
    ...ofPorts.flatMap((policy) => {
      const levels = bind.listeners.map((listener) => gatewayLevel(policy.target, bind, listener))
      const level = levels.find((each) => each === "gateway" || each === "gatewayPort")
      return level === undefined ? [] : [targetedAt(policy, level)]
    })
  ]
}

/** Prepares a configuration: what is targeted at a part of a backend. What stands on the part itself wins over it. */
export const sectionAttachments = ({ targeted }: Pick<Normalised, "targeted">) => {
  const ofSections = targeted.filter(({ target }) => target.backend?.backend?.section !== undefined)
  return (backend: Backend, section: string): ReadonlyArray<PolicyAttachment<BackendLevel>> =>
    ofSections
      .filter(({ target }) => isOfSection(target, backend, section))
      .map((policy) => targetedAt(policy, "provider"))
}

/** What is attached on the ways through one listener. */
export interface Attached {
  /** What holds before a route is chosen. */
  readonly gateway: ReadonlyArray<PolicyAttachment<GatewayLevel>>
  /** What holds for a route; with the routes that delegate to it before it. */
  readonly route: (chain: ReadonlyArray<Route>) => ReadonlyArray<PolicyAttachment<RouteLevel>>
  /** What holds for the calls of a backend. */
  readonly backend: (
    chain: ReadonlyArray<Route>,
    backend: Backend,
    reference: Pick<BackendReference, "policies">
  ) => ReadonlyArray<PolicyAttachment<BackendLevel>>
}

const targetedAt = <Level extends string>(
  { key, policy }: TargetedPolicy,
  level: Level,
  hop?: number
): PolicyAttachment<Level> => ({ level, hop, key, policies: { [policy.name]: policy } })

const written = <Level extends string>(level: Level, policies: Policies, hop?: number): PolicyAttachment<Level> => ({
  level,
  hop,
  key: "",
  policies
})

const none: ReadonlyArray<TargetedPolicy> = []

/** Prepares a configuration: what holds on a listener, or, without one, wherever a route may be reached. */
export const attachments = (config: Normalised): ((listener: Listener | undefined) => Attached) => {
  const binds = new Map(config.binds.flatMap((bind) => bind.listeners.map((listener) => [listener, bind] as const)))
  // Few policies concern any one route or backend of many.
  const ofGateways = config.targeted.filter(({ target: { gateway } }) => gateway !== undefined)
  const byRoute = Map.groupBy(config.targeted, ({ target: { route } }) => route && `${route.namespace}/${route.name}`)
  const byBackend = Map.groupBy(config.targeted, ({ target: { backend } }) => backend?.backend?.name)

  const ofRoute = (phase: TargetedPolicy["phase"], route: Route, hop: number) =>
    (byRoute.get(`${route.namespace}/${route.name}`) ?? none).flatMap((policy) => {
      const level = policy.phase === phase ? routeLevel(policy.target, route) : undefined
      return level === undefined ? [] : [targetedAt(policy, level, hop)]
    })

  const ofServices = config.targeted.filter(({ target }) => target.backend?.service !== undefined)
  const ofService = ({ destination }: Backend) =>
    destination.kind === "service"
      ? ofServices.flatMap((policy) => {
          const level = serviceLevel(policy.target, destination.config)
          return level === undefined ? [] : [targetedAt(policy, level)]
        })
      : []

  return (listener) => {
    const bind = listener && binds.get(listener)
    const onGateway = (phase: TargetedPolicy["phase"]) =>
      listener === undefined || bind === undefined
        ? []
        : ofGateways.flatMap((policy) => {
            const level = policy.phase === phase ? gatewayLevel(policy.target, bind, listener) : undefined
            return level === undefined ? [] : [targetedAt(policy, level)]
          })
    const routeWide = onGateway("route")
    const backendWide = onGateway("backend")
    return {
      gateway: [...onGateway("gateway"), ...(listener === undefined ? [] : [written("listener", listener.policies)])],
      route: (chain) => [
        ...routeWide,
        ...chain.flatMap((route, hop) => [...ofRoute("route", route, hop), written("inline", route.policies, hop)])
      ],
      backend: (chain, backend, reference) => [
        ...backendWide,
        ...(byBackend.get(backend.name) ?? none)
          .filter(({ target }) => isOfBackend(target, backend))
          .map((policy) => targetedAt(policy, "backend")),
        ...ofService(backend),
        ...chain.flatMap((route, hop) => [
          ...ofRoute("backend", route, hop),
          written("routeInline", route.backendPolicies, hop)
        ]),
        written("backendInline", backend.policies),
        written("backendRef", reference.policies)
      ]
    }
  }
}
