/** How a listener chooses the route of a request: by its table, and on through the groups to which that route delegates. */
import type { RequestHead } from "../http/message.ts"
import { NoBackend, Unreadable, unreadable } from "../pipeline/errors.ts"
import type { Exchange } from "../pipeline/exchange.ts"
import { inBothReadings } from "../pipeline/readings.ts"
import type { Listener, Route, Selection } from "../pipeline/route.ts"
import { type Choice, delegate } from "./delegation.ts"
import type * as Normalised from "./normalised.ts"
import type { RouteTable } from "./table.ts"
import { type Random, weightedChoice } from "./weights.ts"

/** A route in its table: compiled, unless it delegates, in which case the way through the groups decides. */
export interface Tabled {
  readonly source: Normalised.Route
  readonly compiled: Route | undefined
}

/** The routes of one listener, and of the groups to which they lead. */
export interface RouteTables {
  /** `undefined` where there is none, since it did not compile. */
  readonly routes: RouteTable<Tabled> | undefined
  readonly groups: ReadonlyMap<string, RouteTable<Tabled>>
  /** What a request that passed these routes runs through, by their `chainKey`. */
  readonly chains: ReadonlyMap<string, Route>
}

/** Identifies a chain of delegation, the parent first. */
export const chainKey = (chain: ReadonlyArray<Normalised.Route>): string => chain.map((route) => route.key).join(" > ")

export const delegates = ({ backends }: Pick<Normalised.Route, "backends">): boolean =>
  backends.some(({ target }) => target.kind === "routeGroup")

export const selection = ({ routes, groups, chains }: RouteTables, random: Random): Listener["select"] => {
  const evaluated = (x: Exchange) => routes?.candidates(x.request) ?? []
  const unmatched: Selection = { route: undefined, prefix: undefined, evaluated }
  if (routes === undefined) return () => unmatched
  const cycle: Selection = { ...unmatched, failure: new NoBackend({ detail: "route delegation cycle detected" }) }
  const choices = new Map<Normalised.Route, (random: Random) => Choice<true> | undefined>()
  const choiceOf = (route: Normalised.Route) => {
    let choice = choices.get(route)
    if (choice === undefined) {
      choice = weightedChoice<Choice<true>>(
        route.backends.map(({ weight, target }) => ({
          weight,
          value:
            target.kind === "routeGroup" ? { _tag: "Group", name: target.name } : { _tag: "Backend", backend: true }
        }))
      )
      choices.set(route, choice)
    }
    return choice
  }
  const chosen = ({ source }: Tabled) => choiceOf(source)(random)
  const select = (request: RequestHead, choose: (route: Tabled) => Choice<true> | undefined): Selection => {
    const found = routes.find(request)
    if (found === undefined) return unmatched
    if (found.value.compiled !== undefined) return { route: found.value.compiled, prefix: found.prefix, evaluated }
    const way = delegate(request, routes, groups, choose)
    switch (way._tag) {
      case "Reached":
        return { route: chains.get(chainKey(way.chain.map(({ source }) => source))), prefix: way.prefix, evaluated }
      case "Unmatched":
        return unmatched
      case "Cycle":
        return cycle
    }
  }
  const ambiguous: Selection = { ...unmatched, failure: unreadable.path }
  return ({ request }) => {
    if (request.otherPath === undefined) return select(request, chosen)
    // Both readings meet with the same luck.
    const choices = new Map<Tabled, Choice<true> | undefined>()
    const choose = (route: Tabled) => {
      if (!choices.has(route)) choices.set(route, chosen(route))
      return choices.get(route)
    }
    const selection = select(request, choose)
    const outcome = inBothReadings(request, () => {
      const { route, failure } = select(request, choose)
      return route ?? failure
    })
    return outcome instanceof Unreadable ? ambiguous : selection
  }
}
