/** Routes: what they match, the policies on them, and where they lead. */
import { Schema } from "effect"
import { defaulted, exactlyOneOf, hinted, object, optional, required, sampled } from "../field.ts"
import { HeaderMatch, QueryMatch, Regex } from "../header.ts"
import { ShortString } from "../primitives.ts"
import { Hostname } from "../target.ts"
import type { backendSchemas } from "./backend.ts"
import { besidePolicies, type PolicySpecs, policiesAt } from "./policies.ts"

const path = Schema.String.check(Schema.isStartingWith("/", { expected: "a path that begins with /" }))

const PathMatch = sampled(
  exactlyOneOf("PathMatch", "A condition on the path in its normal form; see `frontendPolicies.http.paths`.", {
    exact: required(path, "The path must be equal, in its normal form."),
    pathPrefix: required(
      path,
      "The path must begin with these segments: `/foo` matches `/foo` and `/foo/x`, not `/foobar`."
    ),
    regex: required(Regex, "The expression must match the whole path.")
  }),
  "{ pathPrefix: /a } or { exact: /a }"
)

const standardMethods = /^(get|head|post|put|patch|delete|options|connect|trace)$/i

const Method = Schema.String.check(
  Schema.isPattern(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/u, { expected: "an HTTP method" }),
  Schema.makeFilter(
    (name) =>
      standardMethods.test(name) && name !== name.toUpperCase()
        ? `the case of a method counts, and clients send ${name.toUpperCase()}`
        : undefined,
    { toJsonSchema: () => ({}) }
  )
).annotate({ identifier: "MethodMatch", description: "An HTTP method, in the case in which it is sent." })

const any = { pathPrefix: "/" } as const

/** Conditions that must all hold. */
export const RouteMatch = object("RouteMatch", "Conditions on a request that must all hold.", {
  path: defaulted(PathMatch, any, "Condition on the path."),
  method: optional(Method, "The method; any when left out."),
  headers: optional(Schema.Array(HeaderMatch), "Conditions on headers."),
  query: optional(Schema.Array(QueryMatch), "Conditions on query parameters.")
})

export type RouteMatch = typeof RouteMatch.Type

const names = {
  name: optional(
    ShortString,
    "Name of the route; `route<index>` when left out. Named routes keep their identity when the file is reordered."
  ),
  namespace: optional(ShortString, "Namespace of the route."),
  ruleName: optional(ShortString, "Name of the rule within the route."),
  hostnames: optional(Schema.Array(Hostname), "Host names that the route serves; any when left out.")
}

const GatewayRefs = Schema.Union([ShortString, Schema.Array(ShortString)]).annotate({
  identifier: "GatewayRefs",
  description: "`<gateway>` for all its listeners, `<gateway>/<listener>` for one, or a list of those."
})

/** The gateways that a section attaches to. */
export const gatewayRefs = optional(
  GatewayRefs,
  "The gateways to attach to: `<gateway>` or `<gateway>/<listener>`, one or a list. When left out, the gateway named `default`."
)

/** Both kinds of routes, in the form inside a listener and in the form that attaches to gateways. */
export const routeSchemas = (
  specs: PolicySpecs,
  { RouteBackend, TcpRouteBackend }: ReturnType<typeof backendSchemas>
) => {
  const RoutePolicies = policiesAt(
    specs,
    "route",
    "RoutePolicies",
    "Policies of a route. Those that belong to a backend apply to every backend of the route."
  )

  const route = {
    ...names,
    matches: defaulted(
      Schema.Array(RouteMatch),
      [{ path: any }],
      "What the route matches: one of the entries is enough. Everything when left out, nothing when empty."
    ),
    policies: optional(RoutePolicies, "Policies of the route."),
    backends: optional(
      Schema.Array(RouteBackend),
      "Where the route leads; of several one is chosen at random by weight."
    )
  }

  const tcpRoute = {
    ...names,
    policies: optional(
      policiesAt(specs, "tcpRoute", "TcpRoutePolicies", "Policies of a TCP route."),
      "Policies of the route."
    ),
    backends: optional(
      Schema.Array(TcpRouteBackend),
      "Where the route leads; of several one is chosen at random by weight."
    )
  }

  const hints = besidePolicies(specs)
  return {
    Route: hinted(object("Route", "A route of HTTP requests.", route), hints),
    TcpRoute: hinted(object("TcpRoute", "A route of TCP connections.", tcpRoute), hints),
    AttachedRoute: hinted(
      object("AttachedRoute", "A route of HTTP requests, attached to gateways.", {
        gateways: gatewayRefs,
        ...route
      }),
      hints
    ),
    AttachedTcpRoute: hinted(
      object("AttachedTcpRoute", "A route of TCP connections, attached to gateways.", {
        gateways: gatewayRefs,
        ...tcpRoute
      }),
      hints
    ),
    RoutePolicies
  }
}

type Schemas = ReturnType<typeof routeSchemas>

/** A decoded route of a listener or a group. */
export type Route = Schemas["Route"]["Type"]
/** A decoded TCP route of a listener. */
export type TcpRoute = Schemas["TcpRoute"]["Type"]
/** A decoded route of the `routes` section. */
export type AttachedRoute = Schemas["AttachedRoute"]["Type"]
/** A decoded route of the `tcpRoutes` section. */
export type AttachedTcpRoute = Schemas["AttachedTcpRoute"]["Type"]
