/** Backends: the named ones, and those that stand on a route. */
import { Schema } from "effect"
import { defaulted, exactlyOneOf, object, optional, required } from "../field.ts"
import { CelExpression, Count, ShortString } from "../primitives.ts"
import { BackendName, HostPort, ServiceReference } from "../target.ts"
import { type PolicySpecs, policiesAt } from "./policies.ts"

const Internal = Schema.Union([
  Schema.Literal("forward"),
  Schema.String.check(Schema.isStartingWith("/", { expected: '"forward" or a path that begins with /' }))
]).annotate({
  identifier: "InternalBackend",
  description: "The admin interface of this process: `forward` keeps the path, another value is the path to call."
})

const Dynamic = object(
  "DynamicBackend",
  "Whatever the request names. It can reach any destination, so the route needs rules.",
  {
    target: optional(CelExpression, "The destination as `host:port`; the authority of the request when left out.")
  }
)

const weight = defaulted(Count, 1, "How often the backend is chosen, in relation to the others. 0 is never.")

/** All forms of a backend. */
export const backendSchemas = (specs: PolicySpecs) => {
  const BackendPolicies = policiesAt(
    specs,
    "backend",
    "BackendPolicies",
    "Policies of a backend. They run for every call of it, retries included."
  )
  const policies = optional(BackendPolicies, "Policies of the backend.")

  const RouteBackend = exactlyOneOf(
    "RouteBackend",
    "One of the backends of a route.",
    {
      host: required(HostPort, "An address."),
      backend: required(BackendName, "A named backend."),
      service: required(ServiceReference, "A service of the discovery sections."),
      dynamic: required(Dynamic, "Whatever the request names."),
      internal: required(Internal, "The admin interface of this process."),
      routeGroup: required(ShortString, "A group of routes in which matching goes on."),
      invalid: required(Schema.Null, "No backend; requests are answered with 500.")
    },
    { weight, policies }
  )

  const TcpRouteBackend = exactlyOneOf(
    "TcpRouteBackend",
    "One of the backends of a TCP route.",
    {
      host: required(HostPort, "An address."),
      backend: required(BackendName, "A named backend."),
      service: required(ServiceReference, "A service of the discovery sections."),
      dynamic: required(Dynamic, "Whatever the connection names.")
    },
    {
      weight,
      policies: optional(
        policiesAt(specs, "tcpBackend", "TcpBackendPolicies", "Policies of a backend of a TCP route."),
        "Policies of the backend."
      )
    }
  )

  const NamedBackend = exactlyOneOf(
    "NamedBackend",
    "A backend with a name.",
    {
      host: required(HostPort, "An address."),
      internal: required(Internal, "The admin interface of this process.")
    },
    {
      name: required(ShortString, "Name of the backend; it is referred to as `/<name>`."),
      policies
    }
  )

  return { RouteBackend, TcpRouteBackend, NamedBackend, BackendPolicies }
}

type Schemas = ReturnType<typeof backendSchemas>

/** A decoded backend of a route. */
export type RouteBackendConfig = Schemas["RouteBackend"]["Type"]
/** A decoded backend of a TCP route. */
export type TcpRouteBackendConfig = Schemas["TcpRouteBackend"]["Type"]
/** A decoded backend of the `backends` section. */
export type NamedBackendConfig = Schemas["NamedBackend"]["Type"]
