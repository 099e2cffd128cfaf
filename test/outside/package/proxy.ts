/** The proxy with the policies of this package, placed among those that it has. */
import { Effect, Layer } from "effect"
import { makeHeadgate } from "headgate"
import { after, policies, registry } from "headgate/policy"
import { type Tenant, Tenants, tenant, tenantGreeting } from "./tenant.ts"

export const withTenants = registry([...policies.policies, tenant, tenantGreeting], {
  ...policies.orders,
  route: after(after(policies.orders.route, "cors", "tenant"), "tenant", "tenantGreeting"),
  response: [...policies.orders.response, "route tenantGreeting"]
})

const known: ReadonlyMap<string, Tenant> = new Map([
  ["acme", { name: "Acme", suspended: false }],
  ["1", { name: "One", suspended: false }],
  ["late", { name: "Late", suspended: true }],
  ["two words", { name: "Two", suspended: true }]
])

export const directory = Layer.succeed(Tenants, { find: (key) => Effect.succeed(known.get(key)) })

export const headgate = makeHeadgate({ registry: withTenants, layer: directory })
