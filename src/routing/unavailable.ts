/** What a configuration uses that this build does not have: it is checked like everything else, and refused at start with its place. */
import { Effect } from "effect"
import type { Path } from "../../spec/config/path.ts"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { type ConfigProblem, unavailable } from "../pipeline/stage.ts"
import type { Normalised, Policies, Route, TcpRoute } from "./normalised.ts"

/** One use of a policy, of a kind of backend, or of another part of the language. */
export interface Use {
  readonly feature: "policy" | "backend" | "part"
  /** Configuration name of the policy, `kind` of the backend, or name of the part. */
  readonly name: string
  readonly path: Path
}

/** What there is. */
export interface Available {
  readonly policies: ReadonlySet<string>
  /** Kinds of backends, and `service`. */
  readonly backends: ReadonlySet<string>
  readonly parts: ReadonlySet<Part>
}

/** Parts of the language beside policies and backends. */
export type Part = "tcpRoutes" | "routeGroups" | "sectionTarget" | "workload" | "hbone" | "tls" | "headerCase"

/**
 * Everything that a configuration uses, in the order of the normalised form. What is on several listeners comes several
 * times. The policies of a model are not here: the terminal for models applies them itself and refuses what it lacks.
 */
export function* uses(config: Normalised, specs: PolicySpecs): Generator<Use> {
  const part = (name: Part, path: Path): Use => ({ feature: "part", name, path })
  function* policies(all: Policies): Generator<Use> {
    for (const { name, path, branches } of Object.values(all))
      if (!branches.every((branch) => specs[name]?.isIdle?.(branch.config) === true))
        yield { feature: "policy", name, path }
  }
  function* route(each: Route | TcpRoute): Generator<Use> {
    if ("policies" in each) yield* policies(each.policies)
    yield* policies(each.backendPolicies)
    for (const backend of each.backends) {
      yield* policies(backend.policies)
      if (backend.target.kind === "service") yield { feature: "backend", name: "service", path: backend.path }
    }
  }

  const { http, path } = config.frontend
  if (http?.http1HeaderCase === "preserve") yield part("headerCase", [...path, "http", "http1HeaderCase"])
  yield* policies(config.frontend.policies)
  for (const bind of config.binds) {
    for (const listener of bind.listeners) {
      if (listener.protocol === "HBONE") yield part("hbone", listener.path)
      if (listener.protocol === "TLS") yield part("tls", listener.path)
      yield* policies(listener.policies)
      for (const each of listener.tcpRoutes) yield part("tcpRoutes", each.path)
      for (const each of [...listener.routes, ...listener.tcpRoutes]) yield* route(each)
    }
  }
  for (const group of Object.values(config.routeGroups)) {
    yield part("routeGroups", group.path)
    for (const each of group.routes) yield* route(each)
  }
  for (const { destination, policies: own, path } of Object.values(config.backends)) {
    yield { feature: "backend", name: destination.kind, path }
    yield* policies(own)
    if (destination.kind === "ai")
      for (const { providers } of destination.config.groups)
        for (const each of providers) yield* policies(each.policies)
  }
  for (const { target, policy, path } of config.targeted) {
    const { name, namespace, section } = target.backend?.backend ?? {}
    const isOfTarget = Object.values(config.backends).some(
      (backend) => backend.name === name && backend.namespace === namespace && backend.destination.kind === "mcp"
    )
    if (section !== undefined && isOfTarget)
      yield part("sectionTarget", [...path, "target", "backend", "backend", "section"])
    yield* policies({ [policy.name]: policy })
  }
  for (const { path } of config.workloads) yield part("workload", path)
}

const told: Readonly<Record<Part, string>> = {
  tcpRoutes: "a TCP route",
  routeGroups: "a route group",
  sectionTarget: "a policy of one target of an MCP backend",
  workload: "a workload of a mesh",
  hbone: "HBONE, the tunnel between workloads of a mesh that this proxy is no part of,",
  tls: "a TLS listener",
  headerCase: "preserving the case of header names"
}

/** Where long work may give way to other work. */
const pause = Effect.sync(() => {})

/** What of it there is not, as problems; a route that is on several listeners is told once. */
export const missing = (
  config: Normalised,
  specs: PolicySpecs,
  available: Available
): Effect.Effect<ReadonlyArray<ConfigProblem>> =>
  Effect.gen(function* () {
    const has = { policy: available.policies, backend: available.backends, part: available.parts } as Readonly<
      Record<Use["feature"], ReadonlySet<string>>
    >
    const found = new Map<string, ConfigProblem>()
    let looked = 0
    for (const { feature, name, path } of uses(config, specs)) {
      if (++looked % 64 === 0) yield* pause
      if (has[feature].has(name)) continue
      const what = feature === "part" ? told[name as Part] : `${feature} ${name}`
      found.set(`${what} ${path.join(".")}`, unavailable(path, what))
    }
    return [...found.values()]
  })
