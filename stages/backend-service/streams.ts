/** Connections that are passed on to a service: an endpoint is chosen for each, and judged by how long it takes to be connected to. */
import { Effect } from "effect"
import { choose, halfEvicted } from "../../src/balance/choice.ts"
import { statesOf } from "../../src/balance/endpoint-state.ts"
import { Monotonic } from "../../src/policy/policy.ts"
import {
  type CompiledStreams,
  type ConnectionOptions,
  Discovery,
  Random,
  type ServiceEndpoint,
  type StreamEndpoint,
  type Streams,
  Upstreams
} from "../../src/policy/terminal.ts"
import { type Member, type Members, openMembers } from "./endpoints.ts"
import type { ServicePort } from "./schema.ts"

/** How many endpoints are tried for one connection: each may take all the time that connecting has. */
const mostAttempts = 3

export const openServiceStreams = ({ service, port, endpoints }: ServicePort, connections: ConnectionOptions) =>
  Effect.gen(function* () {
    const { find } = yield* Discovery
    const upstreams = yield* Upstreams
    const clock = yield* Monotonic
    const random = yield* Random
    const target = `${service}:${port}`
    const list = find(service, port) ?? { current: endpoints }
    const open = ({ address }: ServiceEndpoint) => upstreams.openStreams(address, connections)
    return serviceStreams(target, yield* openMembers(target, list, open, clock), clock, random)
  })

const serviceStreams = (
  target: string,
  members: Members<Streams>,
  clock: () => number,
  random: () => number
): CompiledStreams => {
  const begun = ({ key, health, upstream }: Member<Streams>): StreamEndpoint => {
    const call = health.begin()
    call.sent(clock())
    return {
      target: key,
      streams: upstream,
      connected: () => health.succeeded(call.answered(clock())),
      failed: () => {
        call.answered(clock())
        health.failed(clock(), undefined, undefined)
      },
      over: () => call.over(clock())
    }
  }
  return {
    type: "service",
    target,
    endpoints: () => statesOf(members.current, clock()),
    attempts: () => {
      const tried = new Set<string>()
      return () => {
        const untried = members.current.filter(({ key }) => !tried.has(key))
        if (tried.size >= mostAttempts) return undefined
        const member = choose([untried], { now: clock(), random, mostEvicted: halfEvicted })
        if (member === undefined) return undefined
        tried.add(member.key)
        return begun(member)
      }
    },
    following: members.following
  }
}
