/** Backends: the named ones, and those that stand on a route. */
import { Schema } from "effect"
import { defaulted, exactlyOneOf, object, optional, required, ruled } from "../field.ts"
import { CelExpression, Count, LongString, ShortString } from "../primitives.ts"
import { BackendName, HostPort, ServiceReference } from "../target.ts"
import { McpBackend } from "./mcp.ts"
import { type Policies, type PolicySpecs, policiesAt } from "./policies.ts"
import { AiProvider, providerAddress } from "./provider.ts"

/** The admin interface of this process. */
export const InternalBackend = Schema.Union([
  Schema.Literal("forward"),
  Schema.String.check(Schema.isStartingWith("/", { expected: '"forward" or a path that begins with /' }))
]).annotate({
  identifier: "InternalBackend",
  description: "The admin interface of this process: `forward` keeps the path, another value is the path to call."
})

/** Whatever a request names. */
export const DynamicBackend = object(
  "DynamicBackend",
  "Whatever the request names. It can reach any destination, so the route needs rules.",
  {
    target: optional(
      CelExpression,
      "The destination as `host:port`, or as a host where the port is that of the scheme. Default: the authority of the request."
    )
  }
)

/** Services of AWS that are called as they are. */
export const AwsBackend = exactlyOneOf("AwsBackend", "A service of AWS.", {
  agentCore: required(
    object("AgentCoreBackend", "A runtime of Amazon Bedrock AgentCore.", {
      agentRuntimeArn: required(
        LongString.check(Schema.isStartingWith("arn:", { expected: "an ARN" })).annotate({
          identifier: "Arn",
          description: "A resource name of AWS."
        }),
        "The runtime."
      ),
      qualifier: optional(ShortString, "Version or endpoint of the runtime.")
    }),
    "A runtime of Amazon Bedrock AgentCore."
  )
})

const weight = defaulted(Count, 1, "How often the backend is chosen, in relation to the others. 0 is never.")

/** Models of one provider, or of several in groups. `BackendPolicies` are what a provider may carry. */
export const aiBackend = (BackendPolicies: Schema.Codec<Policies, Readonly<Record<string, unknown>>>) => {
  const named = {
    name: required(ShortString, "Name of the provider in this backend."),
    provider: required(AiProvider, "The provider."),
    hostOverride: optional(HostPort, "Address in place of the usual one; without TLS unless `backendTLS` is given."),
    ...providerAddress,
    policies: optional(BackendPolicies, "Policies of calls of this provider.")
  }
  const Provider = object("AiBackendProvider", "A provider with a name.", named)
  const Group = object("AiProviderGroup", "Providers of equal rank.", {
    providers: required(
      Schema.Array(Provider).check(Schema.isMinLength(1, { expected: "at least one provider" })),
      "The providers; healthy and fast ones are preferred."
    )
  })
  const Groups = object("AiProviderGroups", "Providers in groups.", {
    groups: required(
      ruled(Schema.Array(Group).check(Schema.isMinLength(1, { expected: "at least one group" })), {
        check: (groups) => {
          const seen = new Set<string>()
          for (const [at, { providers }] of groups.entries())
            for (const [index, { name }] of providers.entries()) {
              if (seen.has(name))
                return { path: [at, "providers", index, "name"], issue: "another provider has this name" }
              seen.add(name)
            }
          return undefined
        }
      }),
      "Groups of providers, best first; a later group is used when no provider of the earlier ones is healthy."
    )
  })
  return Schema.Union([Groups, Provider]).annotate({
    identifier: "AiBackend",
    description: "Models of one provider, or of several in `groups`."
  })
}

/** All forms of a backend. */
export const backendSchemas = (specs: PolicySpecs) => {
  const BackendPolicies = policiesAt(
    specs,
    "backend",
    "BackendPolicies",
    "Policies of a backend. They run for every call of it, retries included."
  )
  const policies = optional(BackendPolicies, "Policies of the backend.")

  const anywhere = {
    host: required(HostPort, "An address."),
    internal: required(InternalBackend, "The admin interface of this process."),
    mcp: required(McpBackend, "MCP servers that appear as one."),
    ai: required(aiBackend(BackendPolicies), "Models of one or several providers."),
    aws: required(AwsBackend, "A service of AWS.")
  }

  const RouteBackend = exactlyOneOf(
    "RouteBackend",
    "One of the backends of a route.",
    {
      ...anywhere,
      backend: required(BackendName, "A named backend."),
      service: required(ServiceReference, "A service of the discovery sections."),
      dynamic: required(DynamicBackend, "Whatever the request names."),
      routeGroup: required(ShortString, "A group of routes in which matching goes on."),
      invalid: required(Schema.Null, "No backend; requests are answered with 500.")
    },
    { weight, policies },
    {
      check: (form) =>
        "policies" in form && "routeGroup" in form
          ? { path: ["policies"], issue: "a route group has no backend policies; put them on its routes" }
          : undefined,
      jsonSchema: { not: { required: ["policies", "routeGroup"] } }
    }
  )

  const TcpRouteBackend = exactlyOneOf(
    "TcpRouteBackend",
    "One of the backends of a TCP route.",
    {
      host: required(HostPort, "An address."),
      backend: required(BackendName, "A named backend."),
      service: required(ServiceReference, "A service of the discovery sections."),
      dynamic: required(DynamicBackend, "Whatever the connection names.")
    },
    {
      weight,
      policies: optional(
        policiesAt(specs, "tcpBackend", "TcpBackendPolicies", "Policies of a backend of a TCP route."),
        "Policies of the backend."
      )
    }
  )

  const NamedBackend = exactlyOneOf("NamedBackend", "A backend with a name.", anywhere, {
    name: required(ShortString, "Name of the backend; it is referred to as `/<name>`."),
    policies
  })

  return { RouteBackend, TcpRouteBackend, NamedBackend, BackendPolicies }
}

type Schemas = ReturnType<typeof backendSchemas>

/** A decoded backend of a route. */
export type RouteBackendConfig = Schemas["RouteBackend"]["Type"]
/** A decoded backend of a TCP route. */
export type TcpRouteBackendConfig = Schemas["TcpRouteBackend"]["Type"]
/** A decoded backend of the `backends` section. */
export type NamedBackendConfig = Schemas["NamedBackend"]["Type"]
/** A decoded provider of an AI backend. */
export type AiBackendConfig = ReturnType<typeof aiBackend>["Type"]
