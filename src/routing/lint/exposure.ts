/** What is open to whoever reaches a port: the admin interface, the keys of providers, any destination; and checks that check too little. */

import { formatPath } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import { isLoopback } from "../../../spec/standalone/address.ts"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import { type Attached, attachments } from "../attach.ts"
import { merging } from "../merge.ts"
import type { AttachedPolicy, Backend, BackendReference, Listener, Normalised, Policies, Route } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { type RouteOnListeners, routesWithListeners, warn } from "./finding.ts"

/** Whether it lets no request pass that it knows nothing of, unless it is in a mode in which it does. */
export const isAuthenticating = (specs: PolicySpecs, name: string): boolean => {
  const decides = specs[name]?.decides
  return decides === "identity" || decides === "access"
}

/** Whether one of them decides about a request whoever sent it. */
const decides = (specs: PolicySpecs, { policies }: { readonly policies: Policies }): boolean =>
  Object.keys(policies).some((name) => specs[name]?.decides === "access")

/** Whether a request without a credential passes. */
const isLax = (specs: PolicySpecs, { name, branches }: AttachedPolicy): boolean =>
  branches.some(({ config }) => specs[name]?.admitsAnyone?.(config) === true)

const backendOf = (config: Normalised, { target }: BackendReference): Backend | undefined =>
  target.kind === "backend" ? config.backends[target.key] : undefined

/** Whether rules of a backend, or of every model behind it, decide about a call. */
const isDecidedAt = (
  specs: PolicySpecs,
  attached: Attached,
  route: Route,
  backend: Backend,
  reference: BackendReference
): boolean => {
  const decided = (policies: { readonly policies: Policies }) => decides(specs, policies)
  return (
    attached.backend([route], backend, reference).some(decided) ||
    (backend.destination.kind === "llm" && backend.destination.config.models.every(decided))
  )
}

/**
 * Whether a request reaches a backend of a route on one of its listeners without having shown a credential. Where
 * authentication is there and does not insist, it is the answer.
 */
const openness = ({ normalised, specs }: Configuration, excepted: ReadonlySet<Listener> = new Set()) => {
  const attachedTo = attachments(normalised)
  const merge = merging(specs)
  return (
    { route, listeners }: RouteOnListeners,
    backend: Backend,
    reference: BackendReference
  ): "open" | AttachedPolicy | undefined => {
    for (const listener of listeners) {
      if (excepted.has(listener)) continue
      const attached = attachedTo(listener)
      if (isDecidedAt(specs, attached, route, backend, reference)) continue
      const phases = [merge.gateway(attached.gateway), merge.route(attached.route([route]))]
      const found = phases.flatMap((policies) =>
        Object.values(policies).filter(({ name }) => isAuthenticating(specs, name))
      )
      if (found.every((policy) => isLax(specs, policy))) return found[0] ?? "open"
    }
    return undefined
  }
}

/** What closes it. */
const advice = (open: "open" | AttachedPolicy, policies: string): string =>
  open === "open" ? `add ${policies}` : `${formatPath(open.path)} does not insist on one: set mode: strict there`

/** Listeners that only this machine reaches: what is open there is open to its own users. */
const localListeners = ({ binds }: Normalised): ReadonlySet<Listener> =>
  new Set(binds.flatMap(({ address, listeners }) => (address !== undefined && isOnlyLocal(address) ? listeners : [])))

const isOnlyLocal = (address: string): boolean => address.startsWith("unix:") || isLoopback(address)

/** The admin interface where others than this machine reach it. */
export const adminExposed = (configuration: Configuration): ReadonlyArray<Complaint> => {
  const { adminAddr } = configuration.normalised.settings
  const host = adminAddr.replace(/:[0-9]+$/, "").replace(/^\[|\]$/g, "")
  const address =
    adminAddr === "off" || isOnlyLocal(host)
      ? []
      : [
          warn(
            "admin-exposed",
            ["config", "adminAddr"],
            "the admin interface has no authentication: whoever reaches this address can read the configuration and shut the proxy down; let it listen on localhost"
          )
        ]
  return [
    ...address,
    ...exposed(
      configuration,
      "internal",
      "admin-exposed",
      "the admin interface is open to whoever reaches the port",
      "an authentication policy"
    )
  ]
}

/** Routes to a kind of backend that need no credential. */
const exposed = (
  configuration: Configuration,
  kind: "internal" | "dynamic",
  code: "admin-exposed" | "dynamic-exposed",
  message: string,
  missing: string
): ReadonlyArray<Complaint> => {
  // A page that the browser of a user shows reaches loopback, too, and must not read the admin interface there.
  const { normalised: config } = configuration
  const isOpen = openness(configuration, kind === "internal" ? undefined : localListeners(config))
  return routesWithListeners(config).flatMap((place) =>
    place.route.backends.flatMap((reference) => {
      const backend = backendOf(config, reference)
      if (backend?.destination.kind !== kind) return []
      const open = isOpen(place, backend, reference)
      return open === undefined ? [] : [warn(code, reference.path, `${message}; ${advice(open, missing)}`)]
    })
  )
}

/** Any destination, for whoever reaches the port. */
export const dynamicExposed = (configuration: Configuration): ReadonlyArray<Complaint> =>
  exposed(
    configuration,
    "dynamic",
    "dynamic-exposed",
    "whoever reaches the port can reach any destination through it",
    "an authentication or authorization policy"
  )

/** Provider keys that are used for whoever reaches the port. */
export const keysExposed = (configuration: Configuration): ReadonlyArray<Complaint> => {
  const { normalised, specs } = configuration
  const isOpen = openness(configuration, localListeners(normalised))
  return routesWithListeners(normalised).flatMap((place) => {
    const { route } = place
    return route.backends.flatMap((reference) => {
      const backend = backendOf(normalised, reference)
      if (backend === undefined) return []
      const { destination } = backend
      const inner =
        destination.kind === "llm"
          ? destination.config.models.filter((model) => !decides(specs, model)).map(({ policies }) => policies)
          : destination.kind === "ai"
            ? destination.config.groups.flatMap(({ providers }) => providers.map(({ policies }) => policies))
            : []
      const all = [reference.policies, route.backendPolicies, backend.policies, ...inner]
      const auth = all
        .flatMap((policies) => Object.values(policies))
        .find(({ name, branches }) => branches.some(({ config }) => specs[name]?.showsCredential?.(config) === true))
      const open = auth && isOpen(place, backend, reference)
      return auth === undefined || open === undefined
        ? []
        : [
            warn(
              "key-exposed",
              auth.path,
              `this credential is used for whoever reaches ${formatPath(route.path)}; ${advice(open, "an authentication policy to it")}`
            )
          ]
    })
  })
}

/** Authentication whose mode was left out, so that it lets requests without a credential pass, with no rule to catch them. */
export const optionalAuthentication = ({ normalised, positions, specs }: Configuration): ReadonlyArray<Complaint> => {
  const attachedTo = attachments(normalised)
  const told = new Map<string, Complaint>()
  for (const { route, listeners } of routesWithListeners(normalised))
    for (const listener of listeners.length === 0 ? [undefined] : listeners) {
      const attached = attachedTo(listener)
      const later = attached.route([route])
      // What is decided about the route or behind it catches what any phase let pass.
      const isCaught =
        later.some((policies) => decides(specs, policies)) ||
        (route.backends.length > 0 &&
          route.backends.every((reference) => {
            const backend = backendOf(normalised, reference)
            return backend !== undefined && isDecidedAt(specs, attached, route, backend, reference)
          }))
      if (isCaught) continue
      const earlier = attached.gateway.some((policies) => decides(specs, policies)) ? [] : attached.gateway
      for (const { policies } of [...earlier, ...later])
        for (const { name, branches } of Object.values(policies))
          for (const { config, path } of branches)
            if (specs[name]?.admitsAnyone?.(config) === true && !positions.has([...path, "mode"]))
              told.set(
                path.join("/"),
                warn(
                  "optional-authentication",
                  path,
                  "mode is left out and is optional: requests without a credential pass; set mode: strict, or mode: optional to keep it"
                )
              )
    }
  return [...told.values()]
}

/** Credentials that are written out in the file. */
export const inlineCredentials = ({ inlineCredentials }: Configuration): ReadonlyArray<Complaint> =>
  inlineCredentials.map((path) =>
    warn("inline-credential", path, "a credential is written out here; take it from the environment ($NAME) or a file")
  )
