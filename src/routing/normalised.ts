/**
 * The configuration in one form, whatever section it was written in: binds with listeners with routes, named backends, and every policy with
 * the path of its configuration. Plain data; the engine compiles it.
 */
import type { Path } from "../../spec/config/path.ts"
import type { ProviderOverrides } from "../../spec/models.ts"
import type { AwsBackend, DynamicBackend, InternalBackend } from "../../spec/standalone/backend.ts"
import type { Bind as BindConfig, ServerTls } from "../../spec/standalone/listener.ts"
import type { McpBackend } from "../../spec/standalone/mcp.ts"
import type { AiProvider } from "../../spec/standalone/provider.ts"
import type { RouteMatch } from "../../spec/standalone/route.ts"
import type { Frontend } from "../../spec/standalone/sections.ts"
import type { ServiceConfig } from "../../spec/standalone/service.ts"
import type { Settings } from "../../spec/standalone/settings.ts"
import type { PolicyTarget } from "../../spec/standalone/targeted.ts"
import type { Address } from "../../spec/target.ts"
import type { ModelGateway } from "./models.ts"

/** A whole configuration. */
export interface Normalised {
  /** The `config` section with its defaults. */
  readonly settings: Settings
  /** Binds, gateways, and the ports of `llm` and `mcp`, in this order. */
  readonly binds: ReadonlyArray<Bind>
  /** What holds for the connections of all listeners. */
  readonly frontend: Frontends
  /** Groups of routes by name, for delegation. */
  readonly routeGroups: Readonly<Record<string, RouteGroup>>
  /** Named backends and those written on a route, by key; a reference is `/<name>` or `/<route key>/backend<index>`. */
  readonly backends: Readonly<Record<string, Backend>>
  /** Policies that name what they apply to. */
  readonly targeted: ReadonlyArray<TargetedPolicy>
  /** Routes that another one with the same key replaced. */
  readonly replaced: ReadonlyArray<{ readonly path: Path; readonly by: Path }>
  /** Services by `<namespace>/<hostname>`. */
  readonly services: Readonly<Record<string, Service>>
  /** Workloads of a mesh, as they are written. */
  readonly workloads: ReadonlyArray<{ readonly config: unknown; readonly path: Path }>
}

/** The `frontendPolicies` section. */
export interface Frontends {
  readonly http: Frontend["http"]
  readonly tls: Frontend["tls"]
  readonly tcp: Frontend["tcp"]
  readonly connect?: Frontend["connect"]
  readonly policies: Policies
  readonly path: Path
}

/** A policy of the `policies` section. */
export interface TargetedPolicy {
  /** `<namespace>/<name>`. */
  readonly key: string
  readonly target: typeof PolicyTarget.Type
  /** Before or after a route is chosen, or for each call of a backend. */
  readonly phase: "frontend" | "gateway" | "route" | "backend"
  readonly policy: AttachedPolicy
  readonly path: Path
}

/** A port. */
export interface Bind {
  /** `bind/<port>`, or `bind/wildcard` for the internal bind that takes every port. */
  readonly key: string
  /** 0 for the wildcard bind. */
  readonly port: number
  /** An IP address, `localhost`, or `unix:` with a path; `undefined` for every address of the machine. */
  readonly address: string | undefined
  /** Whether connections are TLS, plain TCP or plain HTTP; a port never mixes them. */
  readonly protocol: "http" | "tls" | "tcp"
  /** An internal bind opens no socket. */
  readonly mode: BindConfig["mode"]
  readonly tunnelProtocol: BindConfig["tunnelProtocol"]
  readonly listeners: ReadonlyArray<Listener>
  readonly path: Path
}

/** A listener: what of a port a host name selects. */
export interface Listener {
  /** `gateway/<name>`, `gateway/<name>/<listener>`, or `default/default/bind/<port>/<listener>`. */
  readonly key: string
  readonly name: string
  readonly gatewayName: string
  readonly gatewayNamespace: string
  /** Exact, `*.suffix`, `*` for any; empty for any, after all others. */
  readonly hostname: string
  readonly protocol: "HTTP" | "HTTPS" | "TLS" | "TCP" | "HBONE"
  readonly tls: ServerTls | undefined
  /** Policies that run before a route is chosen. */
  readonly policies: Policies
  /** For HTTP and HTTPS. */
  readonly routes: ReadonlyArray<Route>
  /** For TCP and TLS. */
  readonly tcpRoutes: ReadonlyArray<TcpRoute>
  readonly path: Path
}

interface RouteIdentity {
  /** `<listener key>/<namespace>/<name>`; unique on its listener. */
  readonly key: string
  readonly name: string
  readonly namespace: string
  readonly ruleName: string | undefined
  /** Whether the name was written; `route<index>` moves with the order of the file, so state must not hang on it. */
  readonly named: boolean
  /** Empty for any. */
  readonly hostnames: ReadonlyArray<string>
  readonly path: Path
}

/** A route of HTTP requests on one listener. */
export interface Route extends RouteIdentity {
  /** One is enough; none at all never matches. */
  readonly matches: ReadonlyArray<RouteMatch>
  /** Policies of the route phase. */
  readonly policies: Policies
  /** Policies written on the route that run for each call of a backend. */
  readonly backendPolicies: Policies
  readonly backends: ReadonlyArray<BackendReference>
}

/** A route of TCP connections on one listener. */
export interface TcpRoute extends RouteIdentity {
  readonly backendPolicies: Policies
  readonly backends: ReadonlyArray<BackendReference>
}

/** Routes that another route delegates to. They are on no listener; their keys begin with `group/<name>`. */
export interface RouteGroup {
  readonly name: string
  readonly routes: ReadonlyArray<Route>
  readonly path: Path
}

/** One of the backends of a route. */
export interface BackendReference {
  readonly weight: number
  readonly target: BackendTarget
  /** Policies written beside the reference; they win over those of the route and those of the backend. */
  readonly policies: Policies
  readonly path: Path
}

/** Where a reference leads. A backend or group that does not exist is an answer at run time, and a lint finding. */
export type BackendTarget =
  | { readonly kind: "backend"; readonly key: string }
  | { readonly kind: "service"; readonly name: string; readonly port: number }
  | { readonly kind: "routeGroup"; readonly name: string }
  | { readonly kind: "invalid" }

/** A backend by its key. */
export interface Backend {
  /** Without the leading `/` of a reference. */
  readonly key: string
  readonly name: string
  readonly namespace: string
  readonly destination: Destination
  /** Policies written on the backend itself; empty for one that is written on a route. */
  readonly policies: Policies
  readonly path: Path
}

/** What a backend is. `kind` is the configuration key. */
export type Destination =
  | { readonly kind: "host"; readonly config: Address }
  | { readonly kind: "dynamic"; readonly config: typeof DynamicBackend.Type }
  | { readonly kind: "internal"; readonly config: typeof InternalBackend.Type }
  | { readonly kind: "mcp"; readonly config: McpBackend }
  | { readonly kind: "ai"; readonly config: { readonly groups: ReadonlyArray<ProviderGroup> } }
  | { readonly kind: "aws"; readonly config: typeof AwsBackend.Type }
  | { readonly kind: "llm"; readonly config: ModelGateway }
  | { readonly kind: "service"; readonly config: ServicePort }

/** Endpoints that do the same. */
export interface Service {
  /** `<namespace>/<hostname>`. */
  readonly key: string
  readonly config: ServiceConfig
  readonly path: Path
}

/** One port of a service. */
export interface ServicePort {
  /** `<namespace>/<hostname>`. */
  readonly service: string
  readonly port: number
  readonly endpoints: ReadonlyArray<{ readonly address: Address; readonly capacity: number }>
}

/** Providers of equal rank. */
export interface ProviderGroup {
  readonly providers: ReadonlyArray<NamedProvider>
}

/** A provider of an AI backend. */
export interface NamedProvider extends ProviderOverrides {
  readonly name: string
  readonly provider: AiProvider
  readonly policies: Policies
  readonly path: Path
}

/** Policies by configuration name, in the order of the file. */
export type Policies = Readonly<Record<string, AttachedPolicy>>

/** A policy in one place. */
export interface AttachedPolicy {
  readonly name: string
  readonly path: Path
  /** One without a condition where the policy is plain; otherwise in order, of which the first true one applies. */
  readonly branches: ReadonlyArray<PolicyBranch>
}

/** One version of a policy. */
export interface PolicyBranch {
  /** The condition and its path; without one the branch always applies. */
  readonly condition: { readonly expression: string; readonly path: Path } | undefined
  /** Decoded by the schema of the policy. */
  readonly config: unknown
  readonly path: Path
  /** Parts of `config` that were written elsewhere, by their path in it; see `writtenAt`. */
  readonly origins?: ReadonlyArray<{ readonly part: Path; readonly path: Path }>
}

/** Where a part of a policy was written. */
export const writtenAt = ({ path, origins = [] }: PolicyBranch, part: Path): Path => {
  const found = origins
    .filter((origin) => origin.part.every((key, index) => key === part[index]))
    .toSorted((a, b) => b.part.length - a.part.length)[0]
  return found === undefined ? [...path, ...part] : [...found.path, ...part.slice(found.part.length)]
}

/** Where a part was written that may hold parts with places of their own: there, by the first of them. */
export const wholeAt = (branch: PolicyBranch, part: Path): Path => {
  const below = branch.origins?.find(
    (origin) => origin.part.length > part.length && part.every((key, index) => key === origin.part[index])
  )
  return below === undefined ? writtenAt(branch, part) : below.path.slice(0, part.length - below.part.length)
}
