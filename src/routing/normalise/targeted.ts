/** The `policies` and `frontendPolicies` sections, and the demands of `config` on itself. */
import { Redacted } from "effect"
import type { Path } from "../../../spec/config/path.ts"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import type { Standalone } from "../../../spec/standalone.ts"
import type { Frontends, TargetedPolicy } from "../normalised.ts"
import type { Complaints } from "./complaints.ts"
import { attached } from "./policies.ts"
import type { Context } from "./routes.ts"

/** The policies that name what they apply to. */
export const targetedPolicies = (
  configs: Standalone["policies"],
  { specs, problems }: Context
): ReadonlyArray<TargetedPolicy> => {
  const keys = new Set<string>()
  return (configs ?? []).flatMap(({ name, target, phase, policy: holder }, index) => {
    const path: Path = ["policies", index]
    const key = `${name.namespace}/${name.name}`
    if (keys.has(key)) problems.add([...path, "name"], `policy ${key} is defined twice`)
    keys.add(key)
    const policy = Object.values(attached(holder, [...path, "policy"], specs))[0]
    if (policy === undefined) return []
    if (phase === "gateway" && !specs[policy.name]!.places.includes("gateway"))
      problems.add([...path, "phase"], `${policy.name} cannot run before a route is chosen`)
    if (phase === "gateway" && target.gateway === undefined && target.listenerSet === undefined)
      problems.add([...path, "phase"], "only a policy of a gateway can run before a route is chosen")
    return [{ key, target, phase, policy, path }]
  })
}

/** What holds for the connections of all listeners. */
export const frontends = (config: Standalone["frontendPolicies"], specs: PolicySpecs): Frontends => {
  const path: Path = ["frontendPolicies"]
  return { http: config?.http, tls: config?.tls, tcp: config?.tcp, policies: attached(config, path, specs), path }
}

/** What the settings demand of one another. */
export const checkSettings = (config: Standalone["config"], problems: Complaints) => {
  if (config?.storage?.mode !== "hybrid") return
  if (config.database === undefined)
    return problems.add(["config", "storage", "mode"], "hybrid requires config.database.url")
  const postgres = /^postgres(?:ql)?:\/\//.test(Redacted.value(config.database.url))
  if (postgres && config.database.maxConnections < 2)
    problems.add(
      ["config", "database", "maxConnections"],
      "hybrid storage in PostgreSQL requires at least 2 connections"
    )
}
