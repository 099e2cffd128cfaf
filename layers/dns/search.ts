/** One lookup of a name: in the hosts file, then among the names that it may stand for, each of which is asked for all families at once. */
import type { Families } from "../../src/services/names.ts"
import type { Outcome, Query } from "./query.ts"
import type { ResolverSettings } from "./system-file.ts"

export type Family = "v4" | "v6"

/** The failure of a name that does not exist, and of no other one. */
export const absent = "ENOTFOUND"

export const familiesOf = (families: Families): ReadonlyArray<Family> =>
  families === "both" ? ["v6", "v4"] : [families]

/** The names that a name may stand for, in the order in which they are asked (resolv.conf(5)). */
export const candidates = (
  name: string,
  { search, ndots }: Pick<ResolverSettings, "search" | "ndots">
): Array<string> => {
  if (name.endsWith(".")) return [name.slice(0, -1)]
  const searched = search.map((domain) => `${name}.${domain}`)
  return name.split(".").length > ndots ? [name, ...searched] : [...searched, name]
}

/** What a lookup tells. */
export interface Found {
  /** One family, as soon as it has answered for a name that exists. */
  readonly family: (family: Family, outcome: Outcome) => void
  /** After all of them. @param failure why there is nothing: that somebody could not say it, or that there is none. */
  readonly over: (failure: string | undefined) => void
}

/**
 * Asks for one name after the other, until one has an address.
 * @param steadfast there are older answers: where nobody can say whether a name exists, it is not taken for another one.
 */
export const searchFor = (
  names: ReadonlyArray<string>,
  families: Families,
  query: Query,
  steadfast: boolean,
  found: Found
): void => {
  let failure: string | undefined
  const ask = (at: number): void => {
    const name = names[at]
    if (name === undefined) {
      found.over(failure ?? absent)
      return
    }
    const outcomes = new Map<Family, Outcome>()
    const wanted = familiesOf(families)
    let exists = false
    let failed = false
    for (const family of wanted)
      query(name, family, (outcome) => {
        outcomes.set(family, outcome)
        if (typeof outcome === "object" && "failed" in outcome) {
          failed = true
          failure ??= outcome.failed
        }
        if (exists) found.family(family, outcome)
        else if (typeof outcome === "object" && "addresses" in outcome) {
          exists = true
          for (const [earlier, told] of outcomes) found.family(earlier, told)
        }
        if (outcomes.size < wanted.length) return
        if (exists) found.over(undefined)
        else if (failed && steadfast) found.over(failure)
        else ask(at + 1)
      })
  }
  ask(0)
}
