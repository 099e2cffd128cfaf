/** Backends of a file under their keys, and the references of routes to them. */
import type { Path } from "../../../spec/config/path.ts"
import type {
  AiBackendConfig,
  NamedBackendConfig,
  RouteBackendConfig,
  TcpRouteBackendConfig
} from "../../../spec/standalone/backend.ts"
import type { PolicySpec, PolicySpecs } from "../../../spec/standalone/policies.ts"
import type { Backend, BackendReference, Destination, NamedProvider, ProviderGroup } from "../normalised.ts"
import type { Complaints } from "./complaints.ts"
import { attached, none } from "./policies.ts"

const groupsOf = (config: AiBackendConfig, path: Path, specs: PolicySpecs): ReadonlyArray<ProviderGroup> => {
  const provider = (each: Exclude<AiBackendConfig, { groups: unknown }>, at: Path): NamedProvider => ({
    name: each.name,
    provider: each.provider,
    hostOverride: each.hostOverride,
    pathOverride: each.pathOverride,
    pathPrefix: each.pathPrefix,
    tokenize: each.tokenize,
    policies: attached(each.policies, [...at, "policies"], specs),
    path: at
  })
  if (!("groups" in config)) return [{ providers: [provider(config, path)] }]
  return config.groups.map(({ providers }, group) => ({
    providers: providers.map((each, index) => provider(each, [...path, "groups", group, "providers", index]))
  }))
}

/** What stands under the one key that says what a backend is; nothing where it refers to something else. */
const destinationOf = (
  config: RouteBackendConfig | TcpRouteBackendConfig | NamedBackendConfig,
  path: Path,
  specs: PolicySpecs
): Destination | undefined => {
  if (config.host !== undefined) return { kind: "host", config: config.host }
  if ("dynamic" in config && config.dynamic !== undefined) return { kind: "dynamic", config: config.dynamic }
  if ("internal" in config && config.internal !== undefined) return { kind: "internal", config: config.internal }
  if ("mcp" in config && config.mcp !== undefined) return { kind: "mcp", config: config.mcp }
  if ("aws" in config && config.aws !== undefined) return { kind: "aws", config: config.aws }
  if ("ai" in config && config.ai !== undefined)
    return { kind: "ai", config: { groups: groupsOf(config.ai, [...path, "ai"], specs) } }
  return undefined
}

/** The backends of the `backends` section. */
export const namedBackends = (configs: ReadonlyArray<NamedBackendConfig>, specs: PolicySpecs): ReadonlyArray<Backend> =>
  configs.flatMap((config, index) => {
    const path: Path = ["backends", index]
    const destination = destinationOf(config, path, specs)
    if (destination === undefined) return []
    const policies = attached(config.policies, [...path, "policies"], specs)
    return [{ key: config.name, name: config.name, namespace: "", destination, policies, path }]
  })

/** A reference of a route, and the backend that it brings along when it does not name one. */
export const referenceOf = (
  config: RouteBackendConfig | TcpRouteBackendConfig,
  routeKey: string,
  path: Path,
  specs: PolicySpecs,
  problems: Complaints
): { readonly reference: BackendReference; readonly inline?: Backend } => {
  const policies = attached(config.policies, [...path, "policies"], specs)
  const to = (target: BackendReference["target"]): BackendReference => ({
    weight: config.weight,
    target,
    policies,
    path
  })
  if (config.service !== undefined) return { reference: to({ kind: "service", ...config.service }) }
  for (const { name, path } of Object.values(policies))
    if (isForServices(specs[name]!)) problems.add(path, `${name} can be used on service backends only`)
  if (config.backend !== undefined) return { reference: to({ kind: "backend", key: localKey(config.backend) }) }
  if ("routeGroup" in config && config.routeGroup !== undefined)
    return { reference: to({ kind: "routeGroup", name: config.routeGroup }) }
  const destination = destinationOf(config, path, specs)
  if (destination === undefined) return { reference: to({ kind: "invalid" }) }
  const key = `${routeKey}/backend${path.at(-1)}`
  return {
    reference: to({ kind: "backend", key }),
    inline: { key, name: key, namespace: "", destination, policies: none, path }
  }
}

/** Other kinds are looked at where the backend is compiled, since a reference may name one of elsewhere. */
const isForServices = ({ backends }: PolicySpec): boolean => backends?.every((kind) => kind === "service") === true

/** A reference `/<name>` leads to the key `<name>`; one with a namespace keeps it. */
export const localKey = (reference: string): string => (reference.startsWith("/") ? reference.slice(1) : reference)
