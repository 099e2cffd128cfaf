/**
 * Which policies are in force at a place, when they can be attached at several levels at once. Per policy the most
 * specific attachment wins as a whole; a few policies add up instead. What is in force says where it was written.
 */
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { type Join, joinOf } from "./join.ts"
import type { AttachedPolicy, Policies, PolicyBranch } from "./normalised.ts"

/** The levels of each phase, the least specific first. */
const gatewayLevels = ["gateway", "gatewayPort", "listenerSet", "listenerSetSection", "listener"] as const
const routeLevels = [...gatewayLevels, "service", "route", "rule", "inline"] as const
const backendLevels = [
  // What the kind of backend brings along by itself, as the TLS of a provider's public address.
  "connector",
  "gateway",
  "gatewayPort",
  "listener",
  "backend",
  // One port of a service, one provider of an AI backend, one target of an MCP backend.
  "section",
  "route",
  "rule",
  "backendInline",
  // The backend policies among the inline policies of the route.
  "routeInline",
  "backendRef",
  // The own policies of an AI provider, and those targeted at it; of a model behind the model router.
  "provider"
] as const
const frontendLevels = [...gatewayLevels, "service"] as const

export type GatewayLevel = (typeof gatewayLevels)[number]
export type RouteLevel = (typeof routeLevels)[number]
export type BackendLevel = (typeof backendLevels)[number]
export type FrontendLevel = (typeof frontendLevels)[number]

/** The policies that one place of the configuration attaches at one level. */
export interface PolicyAttachment<out Level extends string> {
  readonly level: Level
  /** Of the levels of routes: the place of the route in a chain of delegation, 0 (default) for the parent. */
  readonly hop?: number | undefined
  /** The key of the policy resource: of two on one target the lexicographically smaller wins. Inline: the empty string. */
  readonly key: string
  readonly policies: Policies
  /** Nothing more specific replaces these policies, nor adds to them. Counts in the route phase alone. */
  readonly override?: boolean | undefined
}

interface Phase<Level extends string> {
  readonly levels: ReadonlyArray<Level>
  /** The levels that a chain of delegation has once for each of its routes. */
  readonly perHop: ReadonlySet<string>
  readonly overrides: boolean
}

const targetedRoutes = new Set<string>(["route", "rule"])

/** What attachments of one phase come to. */
export type Merge<Level extends string> = (attachments: ReadonlyArray<PolicyAttachment<Level>>) => Policies

const mergingIn = <Level extends string>(specs: PolicySpecs, phase: Phase<Level>): Merge<Level> => {
  const levelOf = new Map<Level, number>(phase.levels.map((level, index) => [level, index]))
  const compare = compareSpecificity(levelOf, phase.perHop)
  return (attachments) => {
    // The most specific first, and the smaller key first among equals.
    const sorted = attachments.toSorted((a, b) => compare(b, a) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    const names = new Set(sorted.flatMap(({ policies }) => Object.keys(policies)))
    const inForce = [...names].sort().map((name): readonly [string, AttachedPolicy] => {
      const set = sorted.filter(({ policies }) => Object.hasOwn(policies, name))
      const lock = phase.overrides ? set.findLast(({ override }) => override === true) : undefined
      const counted = lock === undefined ? set : set.filter((attachment) => compare(attachment, lock) <= 0)
      const all = counted.map(({ policies }) => policies[name]!)
      const join = joinOf(specs[name]?.joins)
      return [name, join === undefined || all.length === 1 ? all[0]! : joined(join, all.toReversed())]
    })
    return Object.fromEntries(inForce)
  }
}

/**
 * All of them as one policy. Where one is conditional, what it adds depends on the request: there is a branch for each
 * way in which the branches of all can come together, and the first that holds has the first that holds of each.
 */
const joined = (join: Join, all: ReadonlyArray<AttachedPolicy>): AttachedPolicy => {
  const choices = all.reduce<ReadonlyArray<ReadonlyArray<PolicyBranch>>>(
    (before, { branches }) => {
      const mayBeNone = branches.at(-1)?.condition !== undefined
      return before.flatMap((chosen) => [
        ...branches.map((branch) => [...chosen, branch]),
        ...(mayBeNone ? [chosen] : [])
      ])
    },
    [[]]
  )
  const { name, path } = all.at(-1)!
  return {
    name,
    path,
    branches: choices
      .filter((chosen) => chosen.length > 0)
      .map((chosen) => ({ ...join(chosen), condition: both(chosen), path: chosen.at(-1)!.path }))
  }
}

/** A condition that cannot be evaluated is false, and so is all that it is part of. */
const both = (chosen: ReadonlyArray<PolicyBranch>): PolicyBranch["condition"] => {
  const conditions = chosen.flatMap(({ condition }) => condition ?? [])
  const last = conditions.at(-1)
  if (last === undefined || conditions.length === 1) return last
  return { expression: conditions.map(({ expression }) => `(${expression})`).join(" && "), path: last.path }
}

/**
 * Orders by specificity, the least specific first. Levels that a chain of delegation repeats form one run: what is
 * attached to the child comes after everything that is attached in this run to its parent. On any other level, the child
 * comes after its parent.
 */
const compareSpecificity =
  <Level extends string>(levelOf: ReadonlyMap<Level, number>, perHop: ReadonlySet<string>) =>
  (a: PolicyAttachment<Level>, b: PolicyAttachment<Level>): number =>
    (perHop.has(a.level) && perHop.has(b.level) ? (a.hop ?? 0) - (b.hop ?? 0) : 0) ||
    levelOf.get(a.level)! - levelOf.get(b.level)! ||
    (a.hop ?? 0) - (b.hop ?? 0)

/**
 * Merging in each phase, as the policies say that they join. `buffer` joins nothing: a deliberate difference, since elsewhere
 * it is the one policy that the gateway wins.
 */
export const merging = (specs: PolicySpecs) => ({
  gateway: mergingIn(specs, { levels: gatewayLevels, perHop: new Set(), overrides: false }),
  /** The most specific attachment wins, unless a less specific one overrides. */
  route: mergingIn(specs, { levels: routeLevels, perHop: new Set([...targetedRoutes, "inline"]), overrides: true }),
  backend: mergingIn(specs, { levels: backendLevels, perHop: targetedRoutes, overrides: false }),
  frontend: mergingIn(specs, { levels: frontendLevels, perHop: new Set(), overrides: false })
})
export type Merging = ReturnType<typeof merging>
