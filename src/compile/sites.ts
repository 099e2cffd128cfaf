/** Compiles what is in force at the sites of a configuration. A policy that is targeted at many places is compiled once. */
import { Effect, Result } from "effect"
import {
  type AttachedPolicy,
  type CompiledEntries,
  type Condition,
  compileAdmission,
  compileSite,
  emptySite,
  type PolicyEntry,
  type SiteGraph
} from "../pipeline/compile.ts"
import type { Admission } from "../pipeline/contact.ts"
import type { SlotReading } from "../pipeline/expressions.ts"
import type { ListenerOptions, ListenerPolicy } from "../pipeline/listener-policy.ts"
import type { Registry } from "../pipeline/registry.ts"
import type { RequestSite, Site } from "../pipeline/site.ts"
import type { AnySlot, ConfigProblem } from "../pipeline/stage.ts"
import { tooEarly } from "../pipeline/too-early.ts"
import { type Policies, type PolicyBranch, writtenAt } from "../routing/normalised.ts"
import type { Compiling, Problems } from "./problems.ts"

/** Compiles the condition of a conditional policy. */
export type CompileCondition = (
  expression: string,
  site: Site,
  reading: SlotReading
) => Result.Result<Condition, ReadonlyArray<Omit<ConfigProblem, "path">>>

export class Sites {
  readonly #registry: Registry
  readonly #compileCondition: CompileCondition
  readonly #problems: Problems
  readonly #entries = new Map<PolicyBranch, PolicyEntry>()
  readonly #compiled: CompiledEntries = new Map()

  constructor(registry: Registry, compileCondition: CompileCondition, problems: Problems) {
    this.#registry = registry
    this.#compileCondition = compileCondition
    this.#problems = problems
  }

  /** A site at which something does not compile is empty: its problems say so. */
  compile(site: RequestSite, policies: Policies): Compiling<SiteGraph> {
    const attached = this.#attached(site, Object.values(policies))
    return Effect.map(
      this.#problems.collect(compileSite(this.#registry, site, attached, this.#compiled)),
      (graph) => graph ?? emptySite(this.#registry, site)
    )
  }

  /** What decides about connections, among policies of which others are for what else they say of them. */
  admission(policies: Policies): Compiling<Admission | undefined> {
    const own = Object.values(policies).filter(
      ({ name }) => this.#registry.byName.get(name)?.sites.includes("connection") === true
    )
    return this.#problems.collect(compileAdmission(this.#registry, this.#attached("connection", own)))
  }

  #attached(site: Site, policies: ReadonlyArray<Policies[string]>): ReadonlyArray<AttachedPolicy> {
    return policies.map(({ name, branches }) => ({
      name,
      entries: branches.map((branch) => this.#entry(branch, site, name))
    }))
  }

  #entry(branch: PolicyBranch, site: Site, policy: string): PolicyEntry {
    // Whatever a policy is attached to, its phase is the same.
    const entry = this.#entries.get(branch) ?? this.#newEntry(branch, site, policy)
    this.#entries.set(branch, entry)
    return entry
  }

  #newEntry(branch: PolicyBranch, site: Site, policy: string): PolicyEntry {
    const { condition, config, path, origins } = branch
    const entry: PolicyEntry = {
      config,
      path,
      writtenAt: origins === undefined ? undefined : (part) => writtenAt(branch, part)
    }
    if (condition === undefined) return entry
    const { reads = [], writes = [] } = this.#registry.byName.get(policy) ?? {}
    const reading = {
      by: policy,
      declared: [...reads, ...writes],
      early: tooEarly(this.#registry, site, policy, false),
      found: new Set<AnySlot>()
    }
    const compiled = this.#compileCondition(condition.expression, site, reading)
    if (Result.isSuccess(compiled)) return { ...entry, condition: compiled.success }
    for (const problem of compiled.failure) this.#problems.add({ ...problem, path: condition.path })
    return entry
  }
}

/** What is said of how connections of clients are taken. */
export const listenerOptions = (listeners: ReadonlyArray<ListenerPolicy>, policies: Policies): ListenerOptions =>
  Object.assign(
    {},
    ...listeners.flatMap(({ name, compile }) => {
      // There is no request yet that a condition could be about.
      const branch = policies[name]?.branches[0]
      return branch === undefined ? [] : [compile(branch.config)]
    })
  )
