/** What the types of the package refuse. */
import { Effect } from "effect"
import { makeHeadgate } from "headgate"
import { after, policies, policy, registry, type StageError } from "headgate/policy"
import { directory, withTenants } from "./proxy.ts"
import { TenantConfig, tenant, tenantGreeting } from "./tenant.ts"

// @ts-expect-error the policies need a service that nobody provides
makeHeadgate({ registry: withTenants })
makeHeadgate({ registry: withTenants, layer: directory })

const order = after(policies.orders.route, "cors", "tenant")

// @ts-expect-error tenantGreeting is missing in the order of phase route
registry([...policies.policies, tenant, tenantGreeting], { ...policies.orders, route: order })

// @ts-expect-error tenantGreeting reads tenant, written by no earlier policy
registry([...policies.policies, tenant, tenantGreeting], {
  ...policies.orders,
  route: ["tenantGreeting", ...order],
  response: [...policies.orders.response, "route tenantGreeting"]
})

// @ts-expect-error there is no policy of that name to stand behind
after(policies.orders.route, "corse", "tenant")

policy({
  ...tenant,
  // @ts-expect-error an error without a status cannot be answered for
  compile: () => Effect.succeed([{ name: "tenant", phase: "request", run: () => Effect.fail(new Error("no")) }])
})

policy({
  name: "other",
  traceKey: "other",
  schema: TenantConfig,
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["next"],
  maturity: { status: "alpha", untrusted: "none" },
  // @ts-expect-error the configuration has no such member
  failOpen: (config) => config.mode === "failOpen",
  compile: () => Effect.succeed([])
})

export type Failure = StageError
