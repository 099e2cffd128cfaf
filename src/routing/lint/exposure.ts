/** What is open to whoever reaches a port: the admin interface, the keys of providers, any destination; and checks that check too little. */

import { formatPath } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import { attachments } from "../attach.ts"
import type { AttachedPolicy, Listener, Normalised, Policies, Route } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { allPolicies, routesWithListeners, warn } from "./finding.ts"

const authenticating = ["apiKey", "jwtAuth", "mcpAuthentication", "basicAuth", "oidc", "extAuthz", "authorization"]

const isAuthenticated = (policies: Policies): boolean => authenticating.some((name) => Object.hasOwn(policies, name))

/** Whether a request reaches a route on one of its listeners without having shown a credential. */
const openness = (config: Normalised) => {
  const attachedTo = attachments(config)
  return (route: Route, listeners: ReadonlyArray<Listener>): boolean =>
    listeners.some((listener) => {
      const attached = attachedTo(listener)
      return ![...attached.gateway, ...attached.route([route])].some(({ policies }) => isAuthenticated(policies))
    })
}

const loopback = /^(?:off$|unix:|localhost:|127\.|\[::1\]:)/

/** The admin interface where others than this machine reach it. */
export const adminExposed = ({ normalised }: Configuration): ReadonlyArray<Complaint> => {
  const { adminAddr } = normalised.settings
  const address = loopback.test(adminAddr)
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
      "the admin interface is open to whoever reaches the port; add an authentication policy"
    )
  ]
}

/** Routes to a kind of backend that need no credential. */
const exposed = (
  config: Normalised,
  kind: "internal" | "dynamic",
  code: "admin-exposed" | "dynamic-exposed",
  message: string
): ReadonlyArray<Complaint> => {
  const isOpen = openness(config)
  return routesWithListeners(config).flatMap(({ route, listeners }) => {
    const found = route.backends.filter(
      ({ target }) => target.kind === "backend" && config.backends[target.key]?.destination.kind === kind
    )
    return found.length > 0 && isOpen(route, listeners) ? found.map(({ path }) => warn(code, path, message)) : []
  })
}

/** Any destination, for whoever reaches the port. */
export const dynamicExposed = ({ normalised }: Configuration): ReadonlyArray<Complaint> =>
  exposed(
    normalised,
    "dynamic",
    "dynamic-exposed",
    "whoever reaches the port can reach any destination through it; add an authentication or authorization policy"
  )

/** Provider keys that are used for whoever reaches the port. */
export const keysExposed = ({ normalised }: Configuration): ReadonlyArray<Complaint> => {
  const isOpen = openness(normalised)
  return routesWithListeners(normalised).flatMap(({ route, listeners }) => {
    if (!isOpen(route, listeners)) return []
    return route.backends.flatMap((reference) => {
      const { target } = reference
      const backend = target.kind === "backend" ? normalised.backends[target.key] : undefined
      if (backend === undefined) return []
      const { destination } = backend
      const inner =
        destination.kind === "llm"
          ? destination.config.models.map(({ policies }) => policies)
          : destination.kind === "ai"
            ? destination.config.groups.flatMap(({ providers }) => providers.map(({ policies }) => policies))
            : []
      const all = [reference.policies, route.backendPolicies, backend.policies, ...inner]
      const auth = all
        .map((policies) => policies["backendAuth"])
        .find((policy) => policy !== undefined && carriesKey(policy))
      return auth === undefined
        ? []
        : [
            warn(
              "key-exposed",
              auth.path,
              `this credential is used for whoever reaches ${formatPath(route.path)}; add an authentication policy to it`
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
  const told = new Map<string, Complaint>()
  for (const policies of allPolicies(normalised)) {
    if (Object.hasOwn(policies, "authorization") || Object.hasOwn(policies, "extAuthz")) continue
    for (const name of withMode) {
      const policy = policies[name]
      if (policy === undefined || positions.has([...policy.path, "mode"])) continue
      told.set(
        policy.path.join("/"),
        warn(
          "optional-authentication",
          policy.path,
          "mode is left out and is optional: requests without a credential pass; set mode: strict, or mode: optional to keep it"
        )
      )
    }
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
  for (const policies of allPolicies(normalised))
    for (const { config, path } of policies["backendTLS"]?.branches ?? [])
      for (const key of ["insecure", "insecureHost"])
        if ((config as Readonly<Record<string, unknown>>)[key] === true) {
          const at = [...path, key]
          told.set(
            at.join("/"),
            warn(
              "insecure-tls",
              at,
              "the certificate of the server is not fully verified; set root or hostname instead"
            )
          )
        }
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
