/** What is open to whoever reaches a port: the admin interface, the keys of providers, any destination; and checks that check too little. */

import { formatPath, type Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import { isLoopback } from "../../../spec/standalone/address.ts"
import { type Attached, attachments } from "../attach.ts"
import { mergeGatewayPolicies, mergeRoutePolicies } from "../merge.ts"
import type { AttachedPolicy, Backend, BackendReference, Listener, Normalised, Policies, Route } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { allPolicies, type RouteOnListeners, routesWithListeners, warn } from "./finding.ts"

/** Policies that let no request pass that they know nothing of, unless they are in a mode in which they do. */
export const authenticating = [
  "apiKey",
  "jwtAuth",
  "mcpAuthentication",
  "basicAuth",
  "oidc",
  "extAuthz",
  "authorization"
]

/** Policies that decide about a request whoever sent it. */
const deciding = ["extAuthz", "authorization", "mcpAuthorization"]

const decides = ({ policies }: { readonly policies: Policies }): boolean =>
  deciding.some((name) => Object.hasOwn(policies, name))

/** Whether a request without a credential passes. */
const isLax = ({ branches }: AttachedPolicy): boolean =>
  branches.some(({ config }) => {
    const { mode } = config as { readonly mode?: string }
    return mode === "optional" || mode === "permissive"
  })

const backendOf = (config: Normalised, { target }: BackendReference): Backend | undefined =>
  target.kind === "backend" ? config.backends[target.key] : undefined

/** Whether rules of a backend, or of every model behind it, decide about a call. */
const isDecidedAt = (attached: Attached, route: Route, backend: Backend, reference: BackendReference): boolean =>
  attached.backend([route], backend, reference).some(decides) ||
  (backend.destination.kind === "llm" && backend.destination.config.models.every(decides))

/**
 * Whether a request reaches a backend of a route on one of its listeners without having shown a credential. Where
 * authentication is there and does not insist, it is the answer.
 */
const openness = (config: Normalised, excepted: ReadonlySet<Listener> = new Set()) => {
  const attachedTo = attachments(config)
  return (
    { route, listeners }: RouteOnListeners,
    backend: Backend,
    reference: BackendReference
  ): "open" | AttachedPolicy | undefined => {
    for (const listener of listeners) {
      if (excepted.has(listener)) continue
      const attached = attachedTo(listener)
      if (isDecidedAt(attached, route, backend, reference)) continue
      const phases = [mergeGatewayPolicies(attached.gateway), mergeRoutePolicies(attached.route([route]))]
      const found = phases.flatMap((policies) => authenticating.flatMap((name) => policies[name] ?? []))
      if (found.every(isLax)) return found[0] ?? "open"
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
export const adminExposed = ({ normalised }: Configuration): ReadonlyArray<Complaint> => {
  const { adminAddr } = normalised.settings
  const host = adminAddr.replace(/:[0-9]+$/, "").replace(/^\[|\]$/g, "")
  const address =
    adminAddr === "off" || isOnlyLocal(host)
      ? []
      : [
          warn(
            "admin-exposed",
            ["config", "adminAddr"],
            "the admin interface has no authentication: whoever reaches this address can read the configuration and shut the proxy down; attach the ui section to a gateway instead"
          )
        ]
  return [
    ...address,
    ...exposed(
      normalised,
      "internal",
      "admin-exposed",
      "the admin interface is open to whoever reaches the port",
      "an authentication policy"
    )
  ]
}

/** Routes to a kind of backend that need no credential. */
const exposed = (
  config: Normalised,
  kind: "internal" | "dynamic",
  code: "admin-exposed" | "dynamic-exposed",
  message: string,
  missing: string
): ReadonlyArray<Complaint> => {
  // A page that the browser of a user shows reaches loopback, too, and must not read the admin interface there.
  const isOpen = openness(config, kind === "internal" ? undefined : localListeners(config))
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
export const dynamicExposed = ({ normalised }: Configuration): ReadonlyArray<Complaint> =>
  exposed(
    normalised,
    "dynamic",
    "dynamic-exposed",
    "whoever reaches the port can reach any destination through it",
    "an authentication or authorization policy"
  )

/** Provider keys that are used for whoever reaches the port. */
export const keysExposed = ({ normalised }: Configuration): ReadonlyArray<Complaint> => {
  const isOpen = openness(normalised, localListeners(normalised))
  return routesWithListeners(normalised).flatMap((place) => {
    const { route } = place
    return route.backends.flatMap((reference) => {
      const backend = backendOf(normalised, reference)
      if (backend === undefined) return []
      const { destination } = backend
      const inner =
        destination.kind === "llm"
          ? destination.config.models.filter((model) => !decides(model)).map(({ policies }) => policies)
          : destination.kind === "ai"
            ? destination.config.groups.flatMap(({ providers }) => providers.map(({ policies }) => policies))
            : []
      const all = [reference.policies, route.backendPolicies, backend.policies, ...inner]
      const auth = all
        .map((policies) => policies["backendAuth"])
        .find((policy) => policy !== undefined && carriesKey(policy))
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

/** Credentials of the proxy itself, other than those the caller brought along. */
const carriesKey = ({ branches }: AttachedPolicy): boolean =>
  branches.some(({ config }) => {
    const auth = config as Readonly<Record<string, unknown>>
    return !("passthrough" in auth || "oauthTokenExchange" in auth || "crossAppAccess" in auth)
  })

const withMode = ["apiKey", "jwtAuth", "basicAuth"]

/** Authentication whose mode was left out, so that it lets requests without a credential pass, with no rule to catch them. */
export const optionalAuthentication = ({ normalised, positions }: Configuration): ReadonlyArray<Complaint> => {
  const attachedTo = attachments(normalised)
  const told = new Map<string, Complaint>()
  for (const { route, listeners } of routesWithListeners(normalised))
    for (const listener of listeners.length === 0 ? [undefined] : listeners) {
      const attached = attachedTo(listener)
      const later = attached.route([route])
      // What is decided about the route or behind it catches what any phase let pass.
      const isCaught =
        later.some(decides) ||
        (route.backends.length > 0 &&
          route.backends.every((reference) => {
            const backend = backendOf(normalised, reference)
            return backend !== undefined && isDecidedAt(attached, route, backend, reference)
          }))
      if (isCaught) continue
      const earlier = attached.gateway.some(decides) ? [] : attached.gateway
      for (const { policies } of [...earlier, ...later])
        for (const name of withMode)
          for (const { path } of policies[name]?.branches ?? [])
            if (!positions.has([...path, "mode"]))
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

/** Servers whose certificates are not verified. */
export const insecureTls = ({ normalised }: Configuration): ReadonlyArray<Complaint> => {
  const told = new Map<string, Complaint>()
  const look = (tls: object, path: Path) => {
    for (const key of ["insecure", "insecureHost"])
      if ((tls as Readonly<Record<string, unknown>>)[key] === true) {
        const at = [...path, key]
        told.set(
          at.join("/"),
          warn("insecure-tls", at, "the certificate of the server is not fully verified; set root or hostname instead")
        )
      }
  }
  for (const policies of allPolicies(normalised))
    for (const { config, path } of policies["backendTLS"]?.branches ?? []) look(config as object, path)
  for (const { destination, path } of Object.values(normalised.backends))
    if (destination.kind === "mcp")
      for (const [index, { policies }] of destination.config.targets.entries())
        if (policies?.backendTLS !== undefined)
          look(policies.backendTLS, [
            ...(path.at(-1) === "mcp" ? path : [...path, "mcp"]),
            "targets",
            index,
            "policies",
            "backendTLS"
          ])
  return [...told.values()]
}

interface CorsLike {
  readonly allowCredentials: boolean
  readonly allowOrigins: ReadonlyArray<string>
}

/** Credentials for every web page. */
export const openCors = ({ normalised }: Configuration): ReadonlyArray<Complaint> => {
  const told = new Map<string, Complaint>()
  for (const policies of allPolicies(normalised))
    for (const { config, path } of policies["cors"]?.branches ?? []) {
      const { allowCredentials, allowOrigins } = config as CorsLike
      if (allowCredentials && allowOrigins.includes("*"))
        told.set(
          path.join("/"),
          warn(
            "cors-any-origin-with-credentials",
            [...path, "allowCredentials"],
            "every web page may send requests with the credentials of its visitors; name the origins"
          )
        )
    }
  return [...told.values()]
}
