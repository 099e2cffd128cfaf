/** The `policies` and `frontendPolicies` sections, and the demands of `config` on itself. */
import { Redacted } from "effect"
import type { Path } from "../../../spec/config/path.ts"
import { isConditional, type PolicyPlace, type PolicySpecs } from "../../../spec/standalone/policies.ts"
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
  return (configs ?? []).flatMap(({ name, target, phase, policy: holder }, index): ReadonlyArray<TargetedPolicy> => {
    const path: Path = ["policies", index]
    const key = `${name.namespace}/${name.name}`
    if (keys.has(key)) problems.add([...path, "name"], `policy ${key} is defined twice`)
    keys.add(key)
    const policy = Object.values(attached(holder, [...path, "policy"], specs))[0]
    if (policy === undefined) return []
    const { places, onRoute } = specs[policy.name]!
    if (phase === "gateway" && !places.includes("gateway"))
      problems.add([...path, "phase"], `${policy.name} cannot run before a route is chosen`)
    if (phase === "gateway" && target.gateway === undefined && target.listenerSet === undefined)
      problems.add([...path, "phase"], "only a policy of a gateway can run before a route is chosen")
    if (target.backend !== undefined && !places.includes("backend"))
      problems.add(policy.path, `${policy.name} cannot be attached to a backend`)
    if (target.backend !== undefined && isConditional(holder[policy.name]))
      problems.add(policy.path, "a policy of a backend cannot be conditional")
    if (isOfConnections(places)) {
      if (target.gateway === undefined)
        problems.add(
          policy.path,
          `${policy.name} is for connections: it is targeted at a gateway, or at one of its ports`
        )
      if (target.gateway?.listenerName !== undefined)
        problems.add(
          [...path, "target", "gateway", "listenerName"],
          `${policy.name} decides before it is known which listener a connection is for; name a port`
        )
      return [{ key, target, phase: "frontend", policy, path }]
    }
    const atBackend = target.backend !== undefined || onRoute === "backend" || !places.includes("route")
    return [{ key, target, phase: phase === "route" && atBackend ? "backend" : phase, policy, path }]
  })
}

/** Whether it stands nowhere but on the connections of clients. */
const isOfConnections = (places: ReadonlyArray<PolicyPlace>): boolean => places.every((place) => place === "frontend")

/** What holds for the connections of all listeners. */
export const frontends = (config: Standalone["frontendPolicies"], specs: PolicySpecs): Frontends => {
  const path: Path = ["frontendPolicies"]
  // `http` and `tcp` are also policies of backends, with other fields.
  const policies = attached(config, path, specs, (name) => specs[name]!.places.includes("frontend"))
  return { http: config?.http, tls: config?.tls, tcp: config?.tcp, connect: config?.connect, policies, path }
}

/** What the settings demand of one another. */
export const checkSettings = (config: Standalone["config"], problems: Complaints) => {
  if (config?.storage?.mode !== "hybrid") return
  if (config.database === undefined)
    return problems.add(["config", "storage", "mode"], "hybrid requires config.database.url", {
      among: ["config", "database"],
      isName: () => false
    })
  const postgres = /^postgres(?:ql)?:\/\//.test(Redacted.value(config.database.url))
  if (postgres && config.database.maxConnections < 2)
    problems.add(
      ["config", "database", "maxConnections"],
      "hybrid storage in PostgreSQL requires at least 2 connections"
    )
}
