/**
 * Which policies are in force at a place, when they can be attached at several levels at once. Per policy the most
 * specific attachment wins as a whole; a few policies add up instead. Every result says where it comes from.
 */
import type { ConfigPath } from "../pipeline/stage.ts"
import { type Join, joinAi, joinRules, type RuleSet, withInheritedExporter } from "./join.ts"

/** The levels of each phase, the least specific first. */
const gatewayLevels = ["gateway", "listenerSet", "listenerSetSection", "listener"] as const
const routeLevels = [...gatewayLevels, "service", "route", "rule", "inline"] as const
const backendLevels = [
  // What the kind of backend brings along by itself, as the TLS of a provider's public address.
  "connector",
  "gateway",
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
const frontendLevels = ["gateway", "gatewayPort", "listenerSet", "listenerSetSection", "listener", "service"] as const

export type GatewayLevel = (typeof gatewayLevels)[number]
export type RouteLevel = (typeof routeLevels)[number]
export type BackendLevel = (typeof backendLevels)[number]
export type FrontendLevel = (typeof frontendLevels)[number]

/** By configuration key; `undefined` counts as absent. What adds up must have the shape that it is joined by. */
export interface Policies {
  readonly [name: string]: unknown
  readonly authorization?: RuleSet | undefined
  readonly mcpAuthorization?: RuleSet | undefined
  readonly networkAuthorization?: RuleSet | undefined
}

/** The policies that one place of the configuration attaches at one level. */
export interface PolicyAttachment<Level extends string> {
  readonly level: Level
  /** Of the levels of routes: the place of the route in a chain of delegation, 0 (default) for the parent. */
  readonly hop?: number | undefined
  /** The key of the policy resource: of two on one target the lexicographically smaller wins. Inline: the empty string. */
  readonly key: string
  /** Where `policies` stands in the configuration. */
  readonly path: ConfigPath
  readonly policies: Policies
  /** Nothing more specific replaces these policies, nor adds to them. Counts in the route phase alone. */
  readonly override?: boolean | undefined
}

export interface PolicySource {
  readonly config: unknown
  readonly path: ConfigPath
}

/** What is in force of one policy. */
export interface PolicyInForce {
  readonly name: string
  /** That of the winner, or all that count joined into one. */
  readonly config: unknown
  /** Where the configuration stands; the most specific place, if there are several. */
  readonly path: ConfigPath
  /** All that counts, the least specific first: one, or for a policy that adds up every one of them. */
  readonly sources: ReadonlyArray<PolicySource>
}

interface Phase<Level extends string> {
  readonly levels: ReadonlyArray<Level>
  /** The levels that a chain of delegation has once for each of its routes. */
  readonly perHop: ReadonlySet<string>
  readonly overrides: boolean
  readonly joins: ReadonlyMap<string, Join>
}

const targetedRoutes = new Set<string>(["route", "rule"])

const merging = <Level extends string>(phase: Phase<Level>) => {
  const levelOf = new Map<Level, number>(phase.levels.map((level, index) => [level, index]))
  const compare = compareSpecificity(levelOf, phase.perHop)
  return (attachments: ReadonlyArray<PolicyAttachment<Level>>): ReadonlyArray<PolicyInForce> => {
    // The most specific first, and the smaller key first among equals.
    const sorted = [...attachments].sort((a, b) => compare(b, a) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    const names = new Set(sorted.flatMap(({ policies }) => Object.keys(policies)))
    return [...names].sort().flatMap((name) => {
      const set = sorted.filter((attachment) => attachment.policies[name] !== undefined)
      const lock = phase.overrides ? set.findLast((attachment) => attachment.override === true) : undefined
      const counted = lock === undefined ? set : set.filter((attachment) => compare(attachment, lock) <= 0)
      const winner = counted[0]
      if (winner === undefined) return []
      const join = phase.joins.get(name)
      const sources = (join === undefined ? [winner] : counted.toReversed()).map((attachment) => ({
        config: attachment.policies[name],
        path: [...attachment.path, name]
      }))
      const own = sources.at(-1)!
      const config = sources.length === 1 ? own.config : join!(sources.map((source) => source.config))
      return [{ name, config, path: own.path, sources }]
    })
  }
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

/** Gateway phase: the most specific attachment wins; authorization rules add up. */
export const mergeGatewayPolicies = merging({
  levels: gatewayLevels,
  perHop: new Set(),
  overrides: false,
  joins: new Map([["authorization", joinRules]])
})

/**
 * Route phase: the most specific attachment wins, unless a less specific one overrides; authorization rules add up.
 * `buffer` is no exception: a deliberate difference, since elsewhere it is the one policy that the gateway wins.
 */
export const mergeRoutePolicies = merging({
  levels: routeLevels,
  perHop: new Set([...targetedRoutes, "inline"]),
  overrides: true,
  joins: new Map([["authorization", joinRules]])
})

/** Backend phase: the most specific attachment wins; the rules of both authorizations add up, `ai` merges by field. */
export const mergeBackendPolicies = merging({
  levels: backendLevels,
  perHop: targetedRoutes,
  overrides: false,
  joins: new Map([
    ["authorization", joinRules],
    ["mcpAuthorization", joinRules],
    ["ai", joinAi]
  ])
})

/** Frontend: the most specific attachment wins; network rules add up, and the exporter of access logs is inherited. */
export const mergeFrontendPolicies = merging({
  levels: frontendLevels,
  perHop: new Set(),
  overrides: false,
  joins: new Map([
    ["networkAuthorization", joinRules],
    ["accessLog", withInheritedExporter]
  ])
})
