/** The `llm`, `mcp` and `ui` sections: each becomes one route, on a port of its own or on the gateways it attaches to. */
import type { Path } from "../../../spec/config/path.ts"
import type { Llm } from "../../../spec/standalone/llm.ts"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import type { RouteMatch } from "../../../spec/standalone/route.ts"
import type { Mcp, Ui } from "../../../spec/standalone/sections.ts"
import type { Backend, Policies, Route } from "../normalised.ts"
import { type Attachable, type BareBind, type BareListener, ownBind, routesOf } from "./listeners.ts"
import { modelGateway } from "./llm.ts"
import { attached, none, onRoute } from "./policies.ts"
import { attachTo, type Context, type WithBackends } from "./routes.ts"

/** A section where it was put: its port if it has one of its own, and its route for every listener. */
export interface Placed {
  readonly bind?: BareBind
  readonly listeners: ReadonlyArray<BareListener>
  readonly route: WithBackends<Route>
}

const prefix = (pathPrefix: string): RouteMatch => ({ path: { pathPrefix } })
const exact = (path: string): RouteMatch => ({ path: { exact: path } })

const sectionRoute = (
  identity: Pick<Route, "key" | "name">,
  matches: ReadonlyArray<RouteMatch>,
  policies: Pick<Route, "policies" | "backendPolicies">,
  backend: Pick<Backend, "key" | "destination">,
  path: Path
): WithBackends<Route> => ({
  route: {
    ...identity,
    namespace: "internal",
    ruleName: undefined,
    named: true,
    hostnames: [],
    path,
    matches,
    ...policies,
    backends: [{ weight: 1, target: { kind: "backend", key: backend.key }, policies: none, path }]
  },
  inline: [{ ...backend, name: backend.key, namespace: "", policies: none, path }]
})

const hasHttp = (gateways: ReadonlyArray<Attachable>) =>
  gateways.some(
    ({ name, listeners }) => name === "default" && listeners.some((listener) => routesOf(listener) === "HTTP")
  )

/** Whether a section attaches to gateways, or gets a port of its own. */
const attaches = (
  section: { readonly gateways?: unknown; readonly port?: number; readonly tls?: unknown },
  gateways: ReadonlyArray<Attachable>
) => section.gateways !== undefined || (section.port === undefined && section.tls === undefined && hasHttp(gateways))

const defaultPorts = { llm: 4000, mcp: 3000 }

/** The port of a section that attaches to nothing. */
const portOf = (section: "llm" | "mcp", config: { readonly port?: number }) => config.port ?? defaultPorts[section]

const isGateway = (specs: PolicySpecs) => (name: string) => specs[name]!.places.includes("gateway")

/** The `llm` section. On a port of its own its policies run before a route is chosen, the limits excepted. */
export const placeLlm = (
  llm: Llm,
  mcp: Mcp | undefined,
  gateways: ReadonlyArray<Attachable>,
  context: Context
): Placed => {
  const { specs, problems } = context
  const path: Path = ["llm"]
  const at: Path = [...path, "policies"]
  const route = (policies: Policies) =>
    sectionRoute(
      { key: "llm:request", name: "llm:request" },
      [prefix("/")],
      { policies, backendPolicies: none },
      { key: "llm", destination: { kind: "llm", config: modelGateway(llm, problems) } },
      path
    )
  if (attaches(llm, gateways)) {
    const listeners = attachTo("llm.gateways must be set", llm.gateways, "HTTP", gateways, path, problems)
    return { listeners, route: route(attached(llm.policies, at, specs)) }
  }
  const port = portOf("llm", llm)
  // Where the port is shared, policies of the models must not fall on the servers.
  const shared = mcp !== undefined && !attaches(mcp, gateways) && portOf("mcp", mcp) === port
  const gateway = shared ? none : attached(llm.policies, at, specs, isGateway(specs))
  const bind = ownBind("llm", port, llm.tls, gateway, path)
  const rest = attached(llm.policies, at, specs, (name) => !(name in gateway))
  return { bind, listeners: bind.listeners, route: route(rest) }
}

/** The `mcp` section. Beside other things on a port it takes the paths of the protocol alone. */
export const placeMcp = (
  mcp: Mcp,
  llmBind: BareBind | undefined,
  gateways: ReadonlyArray<Attachable>,
  { specs, problems }: Context
): Placed => {
  const path: Path = ["mcp"]
  const { gateways: _, port: __, policies, ...config } = mcp
  const route = (matches: ReadonlyArray<RouteMatch>) =>
    sectionRoute(
      { key: "mcp:default", name: "default" },
      matches,
      onRoute(policies, [...path, "policies"], specs),
      { key: "mcp", destination: { kind: "mcp", config } },
      path
    )
  const own = [prefix("/mcp"), prefix("/sse"), prefix("/.well-known")]
  if (attaches(mcp, gateways))
    return {
      listeners: attachTo("mcp.gateways must be set", mcp.gateways, "HTTP", gateways, path, problems),
      route: route(own)
    }
  const port = portOf("mcp", mcp)
  if (llmBind?.port === port) return { listeners: llmBind.listeners, route: route(own) }
  const bind = ownBind("mcp", port, undefined, none, path)
  return { bind, listeners: bind.listeners, route: route([prefix("/")]) }
}

const uiPrefixes = ["/ui", "/api/runtime", "/api/config", "/api/cel", "/api/logs", "/api/costs"]

/** The `ui` section. What else the admin interface can do stays on its own address. */
export const placeUi = (ui: Ui, gateways: ReadonlyArray<Attachable>, { specs, problems }: Context): Placed => {
  const path: Path = ["ui"]
  const policies = attached(ui.policies, [...path, "policies"], specs)
  const callbacks = Object.values(policies)
    .flatMap(({ branches }) => branches.map(({ config }) => config))
    // One that is no address after all is told by the policy.
    .flatMap((config) => (hasRedirect(config) ? (URL.parse(config.redirectURI) ?? []) : []))
    .map(({ pathname }) => exact(pathname))
  const matches = [exact("/"), ...uiPrefixes.map(prefix), ...callbacks]
  return {
    listeners: attachTo("ui.gateways must be set", ui.gateways, "HTTP", gateways, path, problems),
    route: sectionRoute(
      { key: "ui:default", name: "ui" },
      matches,
      { policies, backendPolicies: none },
      { key: "ui", destination: { kind: "internal", config: "forward" } },
      path
    )
  }
}

const hasRedirect = (config: unknown): config is { readonly redirectURI: string } =>
  typeof config === "object" && config !== null && "redirectURI" in config && typeof config.redirectURI === "string"
