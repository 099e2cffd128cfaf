/**
 * The guards of several endpoints in the places of one graph: those that share what an endpoint says, share its place. So each guard of a
 * call is a node with a fail mode of its own, and there are as many places as the longest list has guards, and not as many as there are models.
 */
import { type ConfigPath, formatPath } from "../../src/policy/policy.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Guard } from "./guards.ts"

type Guarded = Pick<Endpoint, "guards">

export interface GuardPlace {
  /** Where its guards are written: one place, or what the places have in common. */
  readonly path: ConfigPath
  /** Whether their failures are forgiven. */
  readonly failOpen: boolean
  /** The guard of each endpoint that has one here. */
  readonly guards: ReadonlyMap<Guarded, Guard>
}

/** In the order in which every endpoint has its own. */
export const guardPlaces = (
  endpoints: ReadonlyArray<Guarded>,
  side: "request" | "response"
): ReadonlyArray<GuardPlace> => {
  const places: Array<{ path: ConfigPath; readonly failOpen: boolean; readonly guards: Map<Guarded, Guard> }> = []
  for (const endpoint of endpoints) {
    let from = 0
    for (const guard of endpoint.guards[side]) {
      const failOpen = guard.enforcement.failureMode === "failOpen"
      const after = places.slice(from).filter((place) => place.failOpen === failOpen)
      const place = after.find(({ path }) => formatPath(path) === formatPath(guard.path)) ?? after[0]
      if (place === undefined) places.push({ path: guard.path, failOpen, guards: new Map([[endpoint, guard]]) })
      else {
        place.path = common(place.path, guard.path)
        place.guards.set(endpoint, guard)
      }
      from = place === undefined ? places.length : places.indexOf(place) + 1
    }
  }
  return places
}

const common = (one: ConfigPath, other: ConfigPath): ConfigPath => {
  const differs = one.findIndex((key, index) => key !== other[index])
  return differs < 0 ? one : one.slice(0, differs)
}
