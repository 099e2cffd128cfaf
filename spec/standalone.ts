/** The configuration file of the standalone proxy, whole: a function of the policies that it may hold. */
import { Schema } from "effect"
import { JsonObject } from "./content.ts"
import { object, optional, required } from "./field.ts"
import { ShortString } from "./primitives.ts"
import { backendSchemas } from "./standalone/backend.ts"
import { listenerSchemas } from "./standalone/listener.ts"
import { llmSchema } from "./standalone/llm.ts"
import type { PolicySpecs } from "./standalone/policies.ts"
import { routeSchemas } from "./standalone/route.ts"
import { frontendSchema, mcpSchema, uiSchema } from "./standalone/sections.ts"
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

  return object("Standalone", "The configuration file of the standalone proxy.", {
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
    services: optional(Schema.Array(JsonObject), "Services of a mesh, for tests."),
    workloads: optional(Schema.Array(JsonObject), "Workloads of a mesh, for tests.")
  })
}

/** A decoded configuration file. */
export type Standalone = ReturnType<typeof standalone>["Type"]
