/** What policies find doubtful about themselves, told once for each place where it is written. */
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint, Positions } from "../../../spec/config/positions.ts"
import type { PolicySpec } from "../../../spec/standalone/policies.ts"
import type { Surroundings } from "../../../spec/traits.ts"
import { type Backend, type Normalised, type Policies, type PolicyBranch, type Route, wholeAt } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { allPolicies, routesWithListeners, warn } from "./finding.ts"

/** Whether a model is behind a target of elsewhere is not looked into. */
const elsewhere: Surroundings = { models: () => true, endpoints: () => true }

export const doubts = ({ normalised, positions, specs }: Configuration): ReadonlyArray<Complaint> => {
  const told = new Map<string, Complaint>()
  const look = (name: string, branch: PolicyBranch, around: Surroundings) => {
    for (const { code, path, message, about } of specs[name]?.doubts?.(branch.config, around) ?? []) {
      const at = placeOf(branch, path, positions)
      told.set(`${code} ${at.join("/")}`, warn(code, at, message, about))
    }
  }
  const ofRoutes = new Map(routesWithListeners(normalised).map(({ route }) => [route.policies, route]))
  const alone = singleEndpoints(normalised)
  for (const policies of allPolicies(normalised)) {
    const route = ofRoutes.get(policies)
    const around: Surroundings = {
      models: route === undefined ? elsewhere.models : () => servesModels(normalised, route, specs),
      endpoints: () => alone.get(policies) !== true
    }
    for (const { name, branches } of Object.values(policies)) for (const branch of branches) look(name, branch, around)
  }
  for (const { destination, path } of Object.values(normalised.backends)) {
    if (destination.kind !== "mcp") continue
    const targets: Path = [...(path.at(-1) === "mcp" ? path : [...path, "mcp"]), "targets"]
    for (const [index, { policies = {} }] of destination.config.targets.entries())
      for (const [name, config] of Object.entries(policies))
        look(name, { config, condition: undefined, path: [...targets, index, "policies", name] }, elsewhere)
  }
  return [...told.values()]
}

/** Backends that never choose between endpoints: the targets of an MCP backend are one server to its clients. */
const single: ReadonlySet<string> = new Set(["host", "dynamic", "mcp"])

/** The policies that are written at such a backend, or beside a reference to one. */
const singleEndpoints = ({ binds, routeGroups, backends }: Normalised): ReadonlyMap<Policies, boolean> => {
  const isSingle = (backend: Backend | undefined) => backend !== undefined && single.has(backend.destination.kind)
  const routes = [...binds.flatMap(({ listeners }) => listeners), ...Object.values(routeGroups)].flatMap(
    ({ routes }) => routes
  )
  const references = routes.flatMap(({ backends }) => backends)
  return new Map([
    ...Object.values(backends).map((backend) => [backend.policies, isSingle(backend)] as const),
    ...references.map(
      ({ target, policies }) => [policies, target.kind === "backend" && isSingle(backends[target.key])] as const
    )
  ])
}

/** A conditional entry of a list policy is one item, written without the list. */
const placeOf = (branch: PolicyBranch, [first, ...rest]: Path, positions: Positions): Path =>
  typeof first === "number" && !positions.has([...branch.path, first])
    ? [...branch.path, ...rest]
    : wholeAt(branch, first === undefined ? [] : [first, ...rest])

/** A service, a group or a named backend of elsewhere may be a model; only what is known not to be one counts. */
const servesModels = (config: Normalised, route: Route, specs: Readonly<Record<string, PolicySpec>>): boolean => {
  const makesOne = (policies: Route["policies"]) => Object.keys(policies).some((name) => specs[name]?.speaks === "llm")
  return (
    makesOne(route.backendPolicies) ||
    route.backends.some(({ target }) => {
      if (target.kind !== "backend") return target.kind !== "invalid"
      const backend = config.backends[target.key]
      if (backend === undefined) return false
      const { kind } = backend.destination
      return kind === "llm" || kind === "ai" || makesOne(backend.policies)
    })
  )
}
