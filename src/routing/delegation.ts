/**
 * Follows a request through route groups: where the weighted choice of a route hits a group, the whole path is matched
 * again among the routes of that group, until a route with a backend of its own is reached.
 */
import type { RequestHead } from "../http/message.ts"
import type { Found, RouteTable } from "./table.ts"

/** What the weighted choice of a route came to. */
export type Choice<B> =
  | { readonly _tag: "Group"; readonly name: string }
  | { readonly _tag: "Backend"; readonly backend: B }

export type Delegation<T, B> =
  | {
      readonly _tag: "Reached"
      /** The routes passed, the parent first; the last one has the backend. */
      readonly chain: ReadonlyArray<T>
      /** Of the last route: the path prefix that matched it. */
      readonly prefix: string | undefined
      /** What was chosen. `undefined` when the route has no backend with a weight. */
      readonly backend: B | undefined
    }
  /** No route matches, or a group is missing: 404 `route not found`. */
  | { readonly _tag: "Unmatched" }
  /** A route was reached for the second time: 500 `route delegation cycle detected`. */
  | { readonly _tag: "Cycle"; readonly route: T }

const unmatched = { _tag: "Unmatched" } as const

/**
 * Resolves a request to a chain of routes and the backend chosen for it.
 * @param groups the tables of the route groups by name.
 * @param choose makes the weighted choice of a route; asked once for each route of the chain.
 */
export const delegate = <T, B>(
  request: RequestHead,
  table: RouteTable<T>,
  groups: ReadonlyMap<string, RouteTable<T>>,
  choose: (route: T) => Choice<B> | undefined
): Delegation<T, B> => {
  const chain: Array<T> = []
  let found: Found<T> | undefined = table.find(request)
  while (found !== undefined) {
    const { value: route, prefix } = found
    if (chain.includes(route)) return { _tag: "Cycle", route }
    chain.push(route)
    const choice = choose(route)
    if (choice?._tag !== "Group") return { _tag: "Reached", chain, prefix, backend: choice?.backend }
    found = groups.get(choice.name)?.find(request)
  }
  return unmatched
}
