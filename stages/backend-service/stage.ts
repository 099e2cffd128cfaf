/** service: calls one of the endpoints of a service, the one that does best. Which ones there are is read at each attempt. */
import { Effect } from "effect"
import { statesOf } from "../../src/balance/endpoint-state.ts"
import { Monotonic, slots } from "../../src/policy/policy.ts"
import {
  type CompiledBackend,
  Discovery,
  elsewhere,
  Random,
  TerminalGraph,
  terminal,
  type Upstream,
  Upstreams
} from "../../src/policy/terminal.ts"
import { attempted, type ServiceSlots, serviceCalls } from "./attempt.ts"
import { type Members, openMembers } from "./endpoints.ts"
import { ServicePortSchema } from "./schema.ts"
import { openServiceStreams } from "./streams.ts"

const { affinity, hedging, judgement, timeouts } = slots

export const backendService = terminal({
  name: "service",
  schema: ServicePortSchema,
  reads: [affinity, hedging, judgement, timeouts],
  writes: [attempted],
  outcomes: ["next", "fail"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: ({ service, port, endpoints }, _at, _name, connections) =>
    Effect.gen(function* () {
      const { find } = yield* Discovery
      const upstreams = yield* Upstreams
      const clock = yield* Monotonic
      const random = yield* Random
      const target = `${service}:${port}`
      const list = find(service, port) ?? { current: endpoints }
      const members = yield* openMembers(target, list, ({ address }) => upstreams.open(address, connections), clock)
      return compiledBackend(target, members, clock, random)
    }),
  streams: (config, _at, connections) => openServiceStreams(config, connections)
})

const compiledBackend = (
  target: string,
  members: Members<Upstream>,
  clock: () => number,
  random: () => number
): CompiledBackend<ServiceSlots> => {
  const { choose, send, judge } = serviceCalls(members, clock, random)
  const graph = TerminalGraph.over<ServiceSlots>(attempted)
    .node({ name: "choose", outcomes: ["next", "fail"], reads: [affinity], run: choose })
    .calling([hedging, judgement, timeouts], send)
    .node({ name: "judge", outcomes: ["next"], reads: [judgement], run: judge })
  const endpoints = () => statesOf(members.current, clock())
  return { type: "service", protocol: "http", target, keepsTime: true, endpoints, elsewhere, ...graph.laid }
}
