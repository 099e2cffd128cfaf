/** Policies by their names: what one part of a backend answers for, and what is left to the others. */
import type { Policies } from "../routing/normalised.ts"

/** Those of the given names, and the others. */
export const parted = (
  policies: Policies,
  isNamed: (name: string) => boolean
): readonly [named: Policies, others: Policies] => {
  const { named = [], others = [] } = Object.groupBy(Object.entries(policies), ([name]) =>
    isNamed(name) ? "named" : "others"
  )
  return [Object.fromEntries(named), Object.fromEntries(others)]
}
