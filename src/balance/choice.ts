/** Which of several endpoints is called: the better of two that are drawn, out of the first group that has one. */
import { best } from "./affinity.ts"
import type { EndpointHealth } from "./endpoint-health.ts"

export interface Candidate {
  readonly health: EndpointHealth
  /** What tells it from the others, the same in every process. */
  readonly key: string
  /** How much it takes beside the others, more than 0. Default 1. */
  readonly capacity?: number | undefined
}

export interface Choice {
  readonly now: number
  readonly random: () => number
  /** Requests with the same one go to the same endpoint, as long as it may be called. */
  readonly affinity?: string | undefined
  /** How many of so many endpoints, those of all groups together, may be left alone at once. Default: all of them. */
  readonly mostEvicted?: ((endpoints: number) => number) | undefined
}

/** Half of them: the others have to carry what they would have. */
export const halfEvicted = (endpoints: number): number => Math.floor(endpoints / 2)

/**
 * Draws from the first group in which somebody may be called; from the first of all when nobody may, because traffic must
 * go somewhere.
 */
export const choose = <C extends Candidate>(groups: ReadonlyArray<ReadonlyArray<C>>, choice: Choice): C | undefined => {
  if (groups.length === 1 && groups[0]!.length < 2) return groups[0]![0]
  const { now } = choice
  const restored = restoredOf(groups, choice)
  for (const group of groups) {
    let active = 0
    for (const candidate of group) if (candidate.health.active(now) || restored?.has(candidate) === true) active++
    if (active === 0) continue
    const some =
      active === group.length ? group : group.filter((each) => each.health.active(now) || restored?.has(each) === true)
    return chosen(some, choice)
  }
  return chosen(groups.find((group) => group.length > 0) ?? [], choice)
}

/** Those that are called although they were to be left alone, because too many are: the ones that would come back first. */
const restoredOf = <C extends Candidate>(
  groups: ReadonlyArray<ReadonlyArray<C>>,
  { now, mostEvicted }: Choice
): ReadonlySet<C> | undefined => {
  if (mostEvicted === undefined) return undefined
  let endpoints = 0
  let evicted = 0
  for (const group of groups)
    for (const { health } of group) {
      endpoints++
      if (!health.active(now)) evicted++
    }
  const tooMany = evicted - mostEvicted(endpoints)
  if (tooMany <= 0) return undefined
  const away = groups.flat().filter(({ health }) => !health.active(now))
  return new Set(away.toSorted((a, b) => a.health.evictedUntil! - b.health.evictedUntil!).slice(0, tooMany))
}

/** What an endpoint gets while nothing is known against it. */
const weightOf = ({ health, capacity = 1 }: Candidate, now: number): number => capacity * health.grown(now)

const chosen = <C extends Candidate>(candidates: ReadonlyArray<C>, choice: Choice): C | undefined => {
  if (candidates.length < 2) return candidates[0]
  const { now, affinity } = choice
  return affinity === undefined
    ? better(candidates, choice)
    : best(candidates, affinity, (candidate) => weightOf(candidate, now))
}

/** The least part of what it draws alone that goes to an endpoint, whatever is known against it: by that it can recover. */
const leastPart = 0.1

const better = <C extends Candidate>(candidates: ReadonlyArray<C>, { now, random }: Choice): C => {
  let total = 0
  for (const candidate of candidates) total += weightOf(candidate, now)
  const draw = (): C => {
    let left = random() * total
    for (const candidate of candidates) {
      left -= weightOf(candidate, now)
      if (left < 0) return candidate
    }
    return candidates.at(-1)!
  }
  const first = draw()
  const second = draw()
  let usual: number | undefined
  const score = ({ health }: C): number => {
    if (health.sampled === undefined) usual ??= usualLatency(candidates)
    return health.score(now, usual ?? 0)
  }
  if (first !== second) return score(second) > score(first) ? second : first
  // It was drawn against nobody. Were it taken, the worst of three would have a ninth of everything.
  let top = first
  let highest = score(first)
  const own = highest
  for (const candidate of candidates) {
    const value = score(candidate)
    if (value <= highest) continue
    top = candidate
    highest = value
  }
  return top === first || random() < Math.max(leastPart, own / highest) ? first : top
}

/** The median of what the answers of each take, in seconds; 0 where there were none. */
export const usualLatency = (candidates: ReadonlyArray<Candidate>): number => {
  const known = candidates.flatMap(({ health: { sampled } }) => sampled ?? []).toSorted((a, b) => a - b)
  return known[known.length >> 1] ?? 0
}
