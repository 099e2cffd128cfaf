/** Virtual models: one name for several models, picked by weight, by order of failure, or by condition. */

export interface WeightedTarget {
  readonly model: string
  /** Default 1. */
  readonly weight: number
}

/** A target with its place in the order of failure. */
export interface FailoverTarget {
  readonly model: string
  /** Lower first. */
  readonly priority: number
}

/** A target in proportion to its weight, by a random number from 0 to less than 1; `undefined` when all weights are 0. */
export const pickWeighted = <T extends WeightedTarget>(targets: ReadonlyArray<T>, random: number): T | undefined => {
  let total = 0
  for (const { weight } of targets) total += weight
  let left = random * total
  for (const target of targets) {
    if (left < target.weight) return target
    left -= target.weight
  }
  // Rounding can carry the number past the last target.
  return total > 0 ? targets.findLast(({ weight }) => weight > 0) : undefined
}

/** The targets as priority groups, lowest number first; the order of the file within a group. */
export const failoverGroups = <T extends FailoverTarget>(
  targets: ReadonlyArray<T>
): ReadonlyArray<ReadonlyArray<T>> => {
  const groups = new Map<number, Array<T>>()
  for (const target of targets) {
    const group = groups.get(target.priority)
    if (group === undefined) groups.set(target.priority, [target])
    else group.push(target)
  }
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group)
}
