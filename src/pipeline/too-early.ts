/**
 * Which variables a policy comes too early to read at a site: those that others set, all of whom run later. What nobody can have set
 * would be missing in every request, and no request would tell.
 */
import type { Registry } from "./registry.ts"
import { type Site, siteNames } from "./site.ts"
import { expressionSlots } from "./slots.ts"
import type { AnyPolicy, AnySlot } from "./stage.ts"

/** @param own whether what the policy itself sets can be there: not where it is decided whether it runs. */
export const tooEarly = (
  { policies, orders }: Pick<Registry, "policies" | "orders">,
  site: Site,
  policy: string,
  own: boolean
): ReadonlySet<AnySlot> => {
  const here = siteNames.indexOf(site)
  const place = orders[site].indexOf(policy)
  const comesBefore = ({ name, sites }: AnyPolicy): boolean =>
    sites.some((each) => {
      const at = siteNames.indexOf(each)
      if (at !== here) return at < here
      return name === policy ? own : orders[site].indexOf(name) < place
    })
  const early = expressionSlots.filter((slot) => {
    const writers = policies.filter(({ writes }) => writes.some((each) => each === slot))
    return writers.length > 0 && !writers.some(comesBefore)
  })
  return new Set<AnySlot>(early)
}
