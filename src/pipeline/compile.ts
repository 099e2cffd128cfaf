/**
 * Configuration becomes flat arrays of steps: each policy in force is compiled once, its nodes are laid out in the order
 * of their phase, and every problem is collected, not only the first. Nothing of this happens per request.
 */
import { Cause, Effect, Exit, Option, type Scope } from "effect"
import { effectivePolicyKeys } from "../../spec/trace-events.ts"
import type { Admission, Contact } from "./contact.ts"
import { Unreadable } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import { readingSlots } from "./expressions.ts"
import { Latency, StageTimes } from "./latency.ts"
import { masked } from "./masked.ts"
import type { Passage } from "./passage.ts"
import type { Registry, Services } from "./registry.ts"
import type { EffectivePolicies } from "./route.ts"
import type { Step, StepRun, Traveller } from "./run.ts"
import type { RequestSite, Site } from "./site.ts"
import {
  type AnyPolicy,
  type AnySlot,
  type ConfigPath,
  type ConfigProblem,
  next,
  type OutcomeKind,
  type ResponsePhase,
  unavailable
} from "./stage.ts"
import { tooEarly } from "./too-early.ts"

/** When an entry of a conditional policy is chosen. */
export interface Condition {
  readonly text: string
  /** What it cannot read refuses the request: whether the entry applies is not to be told. */
  readonly holds: (exchange: Exchange) => boolean | Unreadable
  /** The slots that it reads. */
  readonly reads: ReadonlyArray<AnySlot>
}

/** One configuration of a policy. Several of them are the entries of a conditional policy. */
export interface PolicyEntry {
  readonly config: unknown
  readonly path: ConfigPath
  /** Where a part of the configuration was written, if not under `path`. */
  readonly writtenAt?: ((part: ConfigPath) => ConfigPath) | undefined
  /** Chosen when this holds; an entry without a condition always is. */
  readonly condition?: Condition | undefined
}

/** A policy in force at a site, after merging: the first entry whose condition holds applies. */
export interface AttachedPolicy {
  readonly name: string
  readonly entries: ReadonlyArray<PolicyEntry>
}

/** The compiled policies of one site: of a listener, a route or a backend. */
export interface SiteGraph {
  readonly site: RequestSite
  /** The request nodes, in the order of the phase. */
  readonly request: ReadonlyArray<Step>
  /** The nodes from the call on by phase and by `site policy`, as the orders name them. */
  readonly responses: { readonly [P in ResponsePhase]: ReadonlyMap<string, ReadonlyArray<Step>> }
  readonly effective: EffectivePolicies
}

const none: ReadonlyArray<Step> = Object.freeze([])

type PolicyNode = Effect.Success<ReturnType<AnyPolicy["compile"]>>[number]

/** The nodes of an entry, and the slots that they read. */
interface CompiledEntry {
  readonly nodes: ReadonlyArray<PolicyNode>
  readonly reads: ReadonlyArray<AnySlot>
}

/** What entries compiled to. Sites that share an entry share its nodes, and so what they hold. */
export type CompiledEntries = Map<PolicyEntry, Exit.Exit<CompiledEntry, ReadonlyArray<ConfigProblem>>>

/**
 * Compiles the policies of a site. Problems carry paths from the root of the configuration.
 * @param known of this site at other places, and of this one afterwards.
 */
export const compileSite = <R extends Registry>(
  registry: R,
  site: RequestSite,
  attached: ReadonlyArray<AttachedPolicy>,
  known: CompiledEntries = new Map()
): Effect.Effect<SiteGraph, ReadonlyArray<ConfigProblem>, Services<R["policies"]> | Scope.Scope> => {
  if (attached.length === 0) return Effect.succeed(emptySite(registry, site))
  return Effect.map(compileEntries(registry, site, attached, known, step), (compiled) =>
    siteGraph(registry, site, attached, compiled)
  ) as Effect.Effect<SiteGraph, ReadonlyArray<ConfigProblem>, Services<R["policies"]> | Scope.Scope>
}

/** Compiles what decides about connections; `undefined` where nothing does. */
export const compileAdmission = <R extends Registry>(
  registry: R,
  attached: ReadonlyArray<AttachedPolicy>
): Effect.Effect<Admission | undefined, ReadonlyArray<ConfigProblem>, Services<R["policies"]> | Scope.Scope> => {
  if (attached.length === 0) return Effect.succeed(undefined)
  return Effect.map(
    compileEntries<Contact>(registry, "connection", attached, new Map(), plainStep),
    (compiled): Admission => ({
      steps: registry.orders.connection.flatMap((name) => compiled.get(name) ?? []),
      effective: effectiveIn(registry, "connection", attached)
    })
  ) as Effect.Effect<Admission, ReadonlyArray<ConfigProblem>, Services<R["policies"]> | Scope.Scope>
}

/** Makes the step of a node. `place`: which entry of a conditional policy it belongs to. */
type MakeStep<T extends Traveller> = (
  policy: AnyPolicy,
  entry: PolicyEntry,
  site: Site,
  node: PolicyNode,
  reads: ReadonlyArray<AnySlot>,
  times: StageTimes,
  place: Place | undefined
) => Step<T>

/** Of a node of a conditional policy; of the one that does nothing but choose, `index` is absent. */
interface Place {
  readonly choice: Choice
  readonly index?: number | undefined
}

const compileEntries = Effect.fnUntraced(function* <T extends Traveller>(
  registry: Registry,
  site: Site,
  attached: ReadonlyArray<AttachedPolicy>,
  known: CompiledEntries,
  stepOf: MakeStep<T>
) {
  const times = yield* StageTimes
  const problems: Array<ConfigProblem> = []
  const compiled = new Map<string, ReadonlyArray<Step<T>>>()
  for (const { name, entries } of attached) {
    const policy = registry.byName.get(name)
    if (policy === undefined || !policy.sites.includes(site)) {
      for (const entry of entries)
        problems.push(
          policy === undefined
            ? unavailable(entry.path, `policy ${name}`)
            : { path: entry.path, message: `policy ${name} cannot be attached to a ${site}` }
        )
      continue
    }
    const steps: Array<Step<T>> = []
    const choice = entries.length > 1 || entries[0]?.condition !== undefined ? new Choice(entries) : undefined
    for (const [index, entry] of entries.entries()) {
      const exit = known.get(entry) ?? (yield* Effect.exit(compileEntry(registry, policy, entry, site)))
      known.set(entry, exit)
      if (Exit.isFailure(exit)) {
        const found = Cause.findErrorOption(exit.cause)
        if (Option.isNone(found)) return yield* Effect.failCause(exit.cause)
        for (const problem of found.value) problems.push(placed(entry, problem))
        continue
      }
      const { nodes, reads } = exit.value
      for (const node of nodes) steps.push(stepOf(policy, entry, site, node, reads, times, choice && { choice, index }))
    }
    // What changes answers alone is chosen by the request that came all the same, before anybody else has changed it.
    if (choice !== undefined && steps.length > 0 && !steps.some(({ phase }) => phase === site))
      steps.unshift(stepOf(policy, entries[0]!, site, choosing(name), choice.reads, times, { choice }))
    compiled.set(name, steps)
  }
  return problems.length > 0 ? yield* Effect.fail(problems) : compiled
})

/** The node of a conditional policy that only chooses its entry. */
const choosing = (name: string): PolicyNode => ({
  name: `${name}.condition`,
  phase: "request",
  run: () => next,
  outcomes: ["next"],
  writes: []
})

const compileEntry = (
  registry: Registry,
  { name, reads, writes, compile }: AnyPolicy,
  { config, path, condition }: PolicyEntry,
  site: Site
) =>
  Effect.map(
    readingSlots(name, reads, writes, compile(config, { site, path }), tooEarly(registry, site, name, true)),
    ([nodes, read]): CompiledEntry => ({
      nodes,
      reads: condition === undefined ? read : [...new Set([...read, ...condition.reads])]
    })
  )

const placed = (entry: PolicyEntry, { fromRoot, ...problem }: ConfigProblem): ConfigProblem => {
  if (fromRoot === true) return problem
  const part = problem.path
  return { ...problem, path: entry.writtenAt === undefined ? [...entry.path, ...part] : entry.writtenAt(part) }
}

const siteGraph = (
  registry: Registry,
  site: RequestSite,
  attached: ReadonlyArray<AttachedPolicy>,
  compiled: ReadonlyMap<string, ReadonlyArray<Step>>
): SiteGraph => {
  const request = registry.orders[site].flatMap((name) => compiled.get(name)?.filter((s) => s.phase === site) ?? none)
  const responsesIn = (phase: ResponsePhase): ReadonlyMap<string, ReadonlyArray<Step>> => {
    const nodes = [...compiled].flatMap(([name, steps]) => {
      const own = steps.filter((s) => s.phase === phase)
      return own.length === 0 ? [] : [[`${site} ${name}`, own] as const]
    })
    return nodes.length === 0 ? noResponses : new Map(nodes)
  }
  return {
    site,
    request: request.length === 0 ? none : request,
    responses: {
      call: responsesIn("call"),
      backendResponse: responsesIn("backendResponse"),
      response: responsesIn("response")
    },
    effective: effectiveIn(registry, site, attached)
  }
}

const noResponses: ReadonlyMap<string, ReadonlyArray<Step>> = new Map()

/** A site at which nothing is attached. */
export const emptySite = (registry: Registry, site: RequestSite): SiteGraph => ({
  site,
  request: none,
  responses: { call: noResponses, backendResponse: noResponses, response: noResponses },
  effective: effectiveIn(registry, site, [])
})

/** A function of its own, so that what compiling needed is not kept as long as its result. */
const effectiveIn =
  (registry: Registry, site: Site, attached: ReadonlyArray<AttachedPolicy>): EffectivePolicies =>
  () => {
    // In the order in which they run; what this build does not have comes last.
    const ran = registry.orders[site].map((name) => registry.byName.get(name)!.traceKey)
    const effective: Record<string, unknown> = Object.fromEntries(
      [...ran, ...effectivePolicyKeys].map((key) => [key, null])
    )
    for (const { name, entries } of attached) {
      const policy = registry.byName.get(name)
      if (policy?.sites.includes(site) === true) effective[policy.traceKey] = shown(entries)
    }
    return effective
  }

/** The steps from the call on of the sites that a request has entered, in the order of the phase. */
export const responseSteps = (
  registry: Registry,
  phase: ResponsePhase,
  graphs: ReadonlyArray<SiteGraph>
): ReadonlyArray<Step> => {
  const some = graphs.filter((graph) => graph.responses[phase].size > 0)
  if (some.length === 0) return none
  const steps = registry.orders[phase].flatMap((name) =>
    some.flatMap((graph) => graph.responses[phase].get(name) ?? none)
  )
  return steps
}

/** Which entry of a conditional policy applies: decided once, on the way in, and remembered for the response. */
class Choice {
  readonly #entries: ReadonlyArray<PolicyEntry>
  constructor(entries: ReadonlyArray<PolicyEntry>) {
    this.#entries = entries
  }
  /** The slots that its conditions read. */
  get reads(): ReadonlyArray<AnySlot> {
    return [...new Set(this.#entries.flatMap(({ condition }) => condition?.reads ?? []))]
  }
  /** The index of the entry; -1 where none is chosen. */
  of(passage: Passage): number | Unreadable {
    passage.choices ??= new Map()
    let chosen = passage.choices.get(this)
    if (chosen === undefined) {
      chosen = this.#choose(passage.exchange)
      passage.choices.set(this, chosen)
    }
    return chosen
  }

  #choose(x: Exchange): number | Unreadable {
    for (const [index, { condition }] of this.#entries.entries()) {
      const holds = condition === undefined || condition.holds(x)
      if (holds instanceof Unreadable) return holds
      if (holds) return index
    }
    return -1
  }
}

/** The step of a node, wherever it is; what is conditional is so for requests alone. */
const plainStep = <T extends Traveller>(
  policy: AnyPolicy,
  entry: PolicyEntry,
  site: Site,
  node: PolicyNode,
  reads: ReadonlyArray<AnySlot>,
  times: StageTimes
): Step<T> => {
  const phase = node.phase === "request" ? site : node.phase
  const { run, when } = node
  return {
    policy: policy.name,
    node: node.name,
    site,
    phase,
    path: entry.path,
    failOpen: policy.failOpen?.(entry.config, node.name) ?? false,
    run,
    outcomes: outcomesAt(node.outcomes ?? policy.outcomes, when !== undefined || entry.condition !== undefined, false),
    reads: node.reads ?? reads,
    writes: node.writes ?? policy.writes,
    condition: [entry.condition?.text, when?.text].filter((text) => text !== undefined).join(" && ") || undefined,
    holds: when?.holds,
    answerWaits: node.answerWaits,
    latency: new Latency(times(phase, policy.name, node.name))
  }
}

const step: MakeStep<Passage> = (policy, entry, site, node, reads, times, place) => {
  const plain = plainStep<Passage>(policy, entry, site, node, reads, times)
  if (place === undefined) return plain
  const { choice, index } = place
  const own = node.when
  // The first node on the way in refuses what no condition could read; an answer on its way out is past that.
  const refuses = plain.phase === site
  const run: StepRun = (x, passage) => {
    const chosen = choice.of(passage)
    return chosen instanceof Unreadable ? Exit.fail(chosen) : node.run(x)
  }
  if (index === undefined)
    return { ...plain, run, outcomes: outcomesAt(plain.outcomes, false, true), condition: undefined }
  return {
    ...plain,
    reads: [...new Set([...plain.reads, ...choice.reads])],
    run: refuses ? run : plain.run,
    outcomes: outcomesAt(plain.outcomes, false, refuses),
    holds: (x, passage) => {
      const chosen = choice.of(passage)
      return chosen instanceof Unreadable ? refuses : chosen === index && (own?.holds(x) ?? true)
    }
  }
}

/**
 * What a node can make of a request at its place. One with a condition may be passed over, and so may one in an entry that comes
 * after others which let a request go on; of a conditional policy, what no condition could read refuses.
 */
export const outcomesAt = (
  declared: ReadonlyArray<OutcomeKind>,
  conditional: boolean,
  refuses: boolean
): ReadonlyArray<OutcomeKind> => {
  const added: Array<OutcomeKind> = []
  if (conditional) added.push("next")
  if (refuses) added.push("fail")
  return added.every((kind) => declared.includes(kind)) ? declared : [...new Set([...declared, ...added])]
}

const shown = (entries: ReadonlyArray<PolicyEntry>): unknown => {
  const conditional = entries.map((entry) =>
    entry.condition === undefined
      ? masked(entry.config)
      : { pol: masked(entry.config), condition: entry.condition.text }
  )
  return conditional.length === 1 ? conditional[0] : conditional
}
