/** The configuration file of the standalone proxy, whole: a function of the policies that it may hold. */
import { Schema } from "effect"
import { JsonObject } from "./content.ts"
import { hinted, object, optional, required, sampled } from "./field.ts"
import { ShortString } from "./primitives.ts"
import { backendSchemas } from "./standalone/backend.ts"
import { listenerSchemas } from "./standalone/listener.ts"
import { llmSchema } from "./standalone/llm.ts"
import type { PolicySpecs } from "./standalone/policies.ts"
import { routeSchemas } from "./standalone/route.ts"
import { frontendSchema, mcpSchema, uiSchema } from "./standalone/sections.ts"
import { Service } from "./standalone/service.ts"
import { Settings } from "./standalone/settings.ts"
import { targetedSchema } from "./standalone/targeted.ts"

/** Builds the schema of the file. Unknown keys are errors when it is decoded through `load`. */
export const standalone = (specs: PolicySpecs) => {
  const backends = backendSchemas(specs)
  const routes = routeSchemas(specs, backends)
  const listeners = listenerSchemas(specs, routes)

  const RouteGroup = object("RouteGroup", "Routes that other routes delegate to.", {
    name: required(ShortString, "Name of the group, for `routeGroup` of a backend."),
    routes: required(Schema.Array(routes.Route), "The routes of the group; they match the whole path.")
  })

  const file = object("Standalone", "The configuration file of the standalone proxy.", {
    config: optional(Settings, "Settings of the process, read once at start."),
    gateways: optional(Schema.Record(ShortString, listeners.Gateway), "Entry points by name: the usual form."),
    routes: optional(Schema.Array(routes.AttachedRoute), "Routes of HTTP requests, attached to gateways."),
    tcpRoutes: optional(Schema.Array(routes.AttachedTcpRoute), "Routes of TCP connections, attached to gateways."),
    backends: optional(Schema.Array(backends.NamedBackend), "Backends that routes and policies refer to by name."),
    llm: optional(llmSchema(specs), "A gateway for models."),
    mcp: optional(mcpSchema(routes.RoutePolicies), "A gateway for MCP servers."),
    ui: optional(uiSchema(specs), "The user interface, on a gateway."),
    frontendPolicies: optional(frontendSchema(specs), "What holds for the connections of all listeners."),
    policies: optional(Schema.Array(targetedSchema(specs)), "Policies that name what they apply to."),
    routeGroups: optional(Schema.Array(RouteGroup), "Routes that other routes delegate to."),
    binds: optional(Schema.Array(listeners.Bind), "Ports with listeners, in raw form."),
    services: optional(Schema.Array(Service), "Services: endpoints between which calls are balanced."),
    workloads: optional(Schema.Array(JsonObject), "Workloads of a mesh, for tests.")
  })
  return hinted(sampled(file, "keys and values, as gateways: { default: { port: 3000 } }"), {
    ...foreign,
    ...elsewhere
  })
}

const manifest =
  "belongs to a manifest of Kubernetes, which the control plane reads; in this file write gateways and routes"
const envoy =
  "belongs to a file of Envoy; in this file listeners are gateways, clusters are backends, and routes lead from one to the other"
const litellm = "belongs to a file of LiteLLM"

/** What other products' files begin with. */
const foreign = {
  apiVersion: manifest,
  kind: manifest,
  metadata: manifest,
  spec: manifest,
  static_resources: envoy,
  dynamic_resources: envoy,
  admin: "belongs to a file of Envoy; in this file write config.adminAddr",
  model_list: `${litellm}; in this file write llm.models: [{ name: gpt-4o, provider: openai, params: { apiKey: $OPENAI_API_KEY } }]`,
  litellm_settings: `${litellm}; in this file settings of models stand under llm`,
  general_settings: `${litellm}; in this file settings of the process stand under config`,
  router_settings: `${litellm}; in this file choices between models stand under llm.virtualModels`,
  mcpServers:
    "belongs to a file of an MCP client; in this file write mcp.targets: [{ name: files, stdio: { cmd: npx, args: [server] } }]",
  entryPoints: "belongs to a file of Traefik; in this file write gateways",
  http: "belongs to a file of Traefik; in this file routers are routes, services are backends, and middlewares are policies of routes",
  _format_version: "belongs to a file of Kong; in this file services are backends, and plugins are policies of routes"
} as const

/** Sections that stand one level deeper. */
const elsewhere = {
  logging: "is written under config: config.logging",
  session: "is written under config: config.session",
  models: "is written under llm: llm.models",
  providers: "is written under llm: llm.providers",
  targets: "is written under mcp: mcp.targets",
  listeners: "is written under a gateway: gateways.default.port, or gateways.default.listeners for several"
} as const

/** A decoded configuration file. */
export type Standalone = ReturnType<typeof standalone>["Type"]
