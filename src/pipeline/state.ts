/**
 * What a policy keeps from one of its phases to the next: a slot for each of its sites, so that the same policy at two sites of one request
 * keeps two values. At a backend a value lives as long as the attempt, elsewhere as long as the request.
 */
import { type Slot, slot } from "./stage.ts"

/** The slots of one state, by the site of the policy. */
export interface State<Name extends string, A> {
  readonly gateway: Slot<`${Name}.gateway`, A>
  readonly route: Slot<`${Name}.route`, A>
  readonly backend: Slot<`${Name}.backend`, A>
}

/** A node finds its own by the site at which its policy was compiled: `x.get(kept[at.site])`. */
export const state =
  <A>() =>
  <const Name extends string>(name: Name): State<Name, A> => ({
    gateway: slot<A>()(`${name}.gateway`),
    route: slot<A>()(`${name}.route`),
    backend: slot<A>()(`${name}.backend`, "attempt")
  })

/** The slots of a state, as a policy declares that it reads and writes them. */
export const slotsOf = <Name extends string, A>({ gateway, route, backend }: State<Name, A>) =>
  [gateway, route, backend] as const
