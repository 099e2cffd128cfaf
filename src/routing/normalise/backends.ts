/** Backends of a file under their keys, and the references of routes to them. */
import type { Path } from "../../../spec/config/path.ts"
import type { NamedBackendConfig, RouteBackendConfig, TcpRouteBackendConfig } from "../../../spec/standalone/backend.ts"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import type { Backend, BackendReference, Destination } from "../normalised.ts"
import { attached, none } from "./policies.ts"

const inlineKinds = ["host", "dynamic", "internal"] as const satisfies ReadonlyArray<Destination["kind"]>

/** What stands under the one key that says what a backend is. */
const destinationOf = (config: object): Destination | undefined => {
  const kind = inlineKinds.find((kind) => kind in config)
  return kind === undefined ? undefined : ({ kind, config: (config as Record<string, unknown>)[kind] } as Destination)
}

/** The backends of the `backends` section. */
export const namedBackends = (configs: ReadonlyArray<NamedBackendConfig>, specs: PolicySpecs): ReadonlyArray<Backend> =>
  configs.flatMap((config, index) => {
    const destination = destinationOf(config)
    if (destination === undefined) return []
    const path: Path = ["backends", index]
    const policies = attached(config.policies, [...path, "policies"], specs)
    return [{ key: config.name, name: config.name, namespace: "", destination, policies, path }]
  })

/** A reference of a route, and the backend that it brings along when it does not name one. */
export const referenceOf = (
  config: RouteBackendConfig | TcpRouteBackendConfig,
  routeKey: string,
  path: Path,
  specs: PolicySpecs
): { readonly reference: BackendReference; readonly inline?: Backend } => {
  const index = path.at(-1)
  const policies = attached(config.policies, [...path, "policies"], specs)
  const to = (target: BackendReference["target"]): BackendReference => ({
    weight: config.weight,
    target,
    policies,
    path
  })
  if (config.backend !== undefined) return { reference: to({ kind: "backend", key: localKey(config.backend) }) }
  if (config.service !== undefined) return { reference: to({ kind: "service", ...config.service }) }
  if ("routeGroup" in config && config.routeGroup !== undefined)
    return { reference: to({ kind: "routeGroup", name: config.routeGroup }) }
  const destination = destinationOf(config)
  if (destination === undefined) return { reference: to({ kind: "invalid" }) }
  const key = `${routeKey}/backend${index}`
  return {
    reference: to({ kind: "backend", key }),
    inline: { key, name: key, namespace: "", destination, policies: none, path }
  }
}

/** A reference `/<name>` leads to the key `<name>`; one with a namespace keeps it. */
export const localKey = (reference: string): string => (reference.startsWith("/") ? reference.slice(1) : reference)
