/** A way through the engine without a configuration file: policies at their sites, and a backend behind them. */
import { Effect, Schema, type Scope } from "effect"
import type { Plan } from "../../pipeline/attempts.ts"
import { compileAdmission, compileSite, type PolicyEntry, responseSteps } from "../../pipeline/compile.ts"
import type { Orders, Registry, Services } from "../../pipeline/registry.ts"
import type { Backend, Listener, Route } from "../../pipeline/route.ts"
import { requestSites, type Site } from "../../pipeline/site.ts"
import type { AnyPolicy, ConfigProblem, ResponsePhase } from "../../pipeline/stage.ts"

/** Decoded configurations by policy name, at each site. */
export type Attached = { readonly [S in Site]?: Readonly<Record<string, unknown>> }

/** A registry that knows one policy. */
export const registryOf = <const P extends AnyPolicy>(policy: P): Registry<readonly [P]> => {
  const at = (site: Site) => (policy.sites.includes(site) ? [policy.name] : [])
  const responds = (phase: ResponsePhase) =>
    policy.responds.includes(phase) ? policy.sites.map((site) => `${site} ${policy.name}`) : []
  const orders: Orders = {
    connection: at("connection"),
    gateway: at("gateway"),
    route: at("route"),
    backend: at("backend"),
    call: responds("call"),
    backendResponse: responds("backendResponse"),
    response: responds("response")
  }
  const schema = Schema.Struct({ [policy.name]: Schema.optionalKey(policy.schema) })
  // The one field has a computed name, which the compiler cannot see.
  return { policies: [policy], byName: new Map([[policy.name, policy]]), orders, schema: schema as never }
}

/** The entries of each policy of requests, by when they apply; one without a word always does. All have the same configuration. */
export type Branches = ReadonlyArray<boolean | undefined>

const entriesOf = (config: unknown, path: PolicyEntry["path"], branches: Branches): ReadonlyArray<PolicyEntry> =>
  branches.map((holds, index) => ({
    config,
    path: [...path, "conditional", index],
    condition: holds === undefined ? undefined : { text: String(holds), holds: () => holds, reads: [] }
  }))

/** Compiles policies at their sites. The prefix by which the route is matched is that of the request that is played. */
export const compileWay = <const L extends ReadonlyArray<AnyPolicy>>(
  registry: Registry<L>,
  attached: Attached,
  call: Backend["call"],
  plan?: Plan,
  branches?: Branches
): Effect.Effect<Listener, ReadonlyArray<ConfigProblem>, Services<L> | Scope.Scope> =>
  Effect.gen(function* () {
    const attachedAt = (site: Site) =>
      Object.entries(attached[site] ?? {}).map(([name, config]) => ({
        name,
        entries:
          branches === undefined || site === "connection"
            ? [{ config, path: [site, name] }]
            : entriesOf(config, [site, name], branches)
      }))
    const admission = yield* compileAdmission(registry, attachedAt("connection"))
    const [gateway, route, backend] = yield* Effect.forEach(requestSites, (site) =>
      compileSite(registry, site, attachedAt(site))
    )
    const all = [gateway!, route!, backend!]
    const beside = responseSteps(registry, "call", all)
    const end: Backend = {
      name: "backend",
      type: "static",
      protocol: "http",
      target: "backend.example:80",
      steps: backend!.request,
      beside: beside.length === 0 ? undefined : beside,
      backendResponse: responseSteps(registry, "backendResponse", all),
      response: responseSteps(registry, "response", all),
      effective: backend!.effective,
      call
    }
    const way: Route = {
      key: "gateway/test/default/route",
      name: "route",
      namespace: "default",
      rule: undefined,
      steps: route!.request,
      response: responseSteps(registry, "response", all.slice(0, 2)),
      effective: route!.effective,
      plan,
      choose: () => end
    }
    return {
      key: "gateway/test",
      name: "test",
      bind: "bind/8080",
      gateway: "default/default",
      admission,
      steps: gateway!.request,
      response: responseSteps(registry, "response", all.slice(0, 1)),
      effective: gateway!.effective,
      select: (x) => ({ route: way, prefix: x.matchedPrefix, evaluated: () => [way.key] })
    }
  })
