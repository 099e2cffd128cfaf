/** The `policies` section: policies that name what they apply to, instead of being written on it. */
import { Schema } from "effect"
import { defaulted, exactlyOneOf, object, optional, required, ruled } from "../field.ts"
import { PortNumber, ShortString } from "../primitives.ts"
import { type PolicySpecs, policyFields } from "./policies.ts"

const name = required(ShortString, "Its name.")
const namespace = required(ShortString, "Its namespace.")

/** What a policy applies to. */
export const PolicyTarget = exactlyOneOf("PolicyTarget", "What the policy applies to.", {
  gateway: required(
    object(
      "GatewayTarget",
      "A gateway, or a part of it.",
      {
        gatewayName: required(ShortString, "Its name; `default` for every gateway of this file."),
        gatewayNamespace: required(ShortString, "Its namespace; `default` for every gateway of this file."),
        listenerName: optional(
          ShortString,
          "One of its listeners: `tenants` for every listener of that name, `edge/tenants` for that of one entry of `gateways`. An entry without listeners is one listener with the name of the entry."
        ),
        port: optional(PortNumber, "One of its ports.")
      },
      {
        check: (form) =>
          "listenerName" in form && "port" in form ? "listenerName and port exclude each other" : undefined,
        jsonSchema: { not: { required: ["listenerName", "port"] } }
      }
    ),
    "A gateway, or a part of it."
  ),
  route: required(
    object("RouteTarget", "A route.", {
      name,
      namespace: required(ShortString, "Its namespace; `default` where the route has none."),
      ruleName: optional(ShortString, "One of its rules."),
      kind: optional(ShortString, "Its kind; `HTTPRoute` for every route of requests.")
    }),
    "A route."
  ),
  backend: required(
    exactlyOneOf("BackendTarget", "A backend or a service.", {
      backend: required(
        object("NamedBackendTarget", "A backend.", {
          name,
          namespace: required(Schema.String, "Its namespace; empty for a backend of this file."),
          section: optional(ShortString, "One of its targets or providers.")
        }),
        "A backend."
      ),
      service: required(
        object("ServiceTarget", "A service.", {
          hostname: required(ShortString, "Its host name."),
          namespace,
          port: optional(PortNumber, "One of its ports.")
        }),
        "A service."
      )
    }),
    "A backend or a service."
  ),
  listenerSet: required(
    object("ListenerSetTarget", "A set of listeners.", {
      name,
      namespace,
      section: optional(ShortString, "One of its listeners.")
    }),
    "A set of listeners."
  )
})

/** Those that decide about connections: of what is said of the connections of clients, they alone differ from port to port. */
const ofConnections = (specs: PolicySpecs): PolicySpecs =>
  Object.fromEntries(Object.entries(specs).filter(([, { decides }]) => decides === "connection"))

/** The section. */
export const targetedSchema = (specs: PolicySpecs) => {
  const fields = {
    ...policyFields(specs, "backend"),
    ...policyFields(specs, "route"),
    ...policyFields(ofConnections(specs), "frontend")
  }
  const Policy = ruled(Schema.Struct(fields), {
    check: (form) => (Object.keys(form).length === 1 ? undefined : "'policies' must contain exactly 1 policy"),
    jsonSchema: { minProperties: 1, maxProperties: 1 }
  })
  return object("TargetedPolicy", "A policy and what it applies to.", {
    name: required(object("ResourceName", "A name in a namespace.", { name, namespace }), "Name of the policy."),
    target: required(PolicyTarget, "What the policy applies to."),
    phase: defaulted(
      Schema.Literals(["route", "gateway"]),
      "route",
      "Whether the policy runs after or before a route is chosen."
    ),
    policy: required(Policy, "Exactly one policy.")
  })
}
