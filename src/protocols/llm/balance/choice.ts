/** Which of several endpoints is called: the better of two that are drawn, out of the first group that has one. */
import type { EndpointHealth } from "./health.ts"

export interface Candidate {
  readonly health: EndpointHealth
}

/**
 * Draws from the first group in which somebody may be called; from the first of all when nobody may, because traffic must
 * go somewhere. Two draws, with replacement: the worst still gets a share, by which it can recover.
 */
export const choose = <C extends Candidate>(
  groups: ReadonlyArray<ReadonlyArray<C>>,
  now: number,
  random: () => number
): C | undefined => {
  for (const group of groups) {
    const active = group.filter(({ health }) => health.active(now))
    if (active.length > 0) return better(active, random)
  }
  return better(groups[0] ?? [], random)
}

const better = <C extends Candidate>(candidates: ReadonlyArray<C>, random: () => number): C | undefined => {
  if (candidates.length < 2) return candidates[0]
  const draw = () => candidates[Math.floor(random() * candidates.length)]!
  const first = draw()
  const second = draw()
  return second.health.score > first.health.score ? second : first
}
