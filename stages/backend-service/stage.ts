/** service: calls one of the endpoints of a service, the one that does best. Which ones there are is read at each attempt. */
import { Effect, Exit } from "effect"
import { choose, halfEvicted } from "../../src/balance/choice.ts"
import type { OpenCall } from "../../src/balance/endpoint-health.ts"
import { isFailure } from "../../src/balance/judgement.ts"
import { retryHint } from "../../src/balance/retry-hint.ts"
import {
  type Answer,
  isSource,
  Monotonic,
  next,
  observe,
  type StageError,
  slot,
  slots,
  type Verdict
} from "../../src/policy/policy.ts"
import {
  type Call,
  type CompiledBackend,
  callUpstream,
  Discovery,
  type Passage,
  Random,
  terminal,
  Upstreams
} from "../../src/policy/terminal.ts"
import { type Member, type Members, openMembers } from "./endpoints.ts"
import { ServicePortSchema } from "./schema.ts"

/** The endpoint that an attempt goes to. */
export interface Attempted {
  readonly member: Member
  readonly call: OpenCall
}
const attempted = slot<Attempted>()("serviceEndpoint", "attempt")

const reads = [slots.affinity, slots.judgement, slots.timeouts] as const
type ServiceSlots = (typeof reads)[number] | typeof attempted

export const backendService = terminal({
  name: "service",
  schema: ServicePortSchema,
  reads,
  writes: [attempted],
  outcomes: ["next", "fail"],
  nodes: { prepare: ["next", "fail"], answered: ["next"] },
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
    })
})

const noneHealthy: StageError = {
  _tag: "NoHealthyBackend",
  status: 503,
  message: "no healthy backends",
  source: "backend",
  reached: "nothing sent"
}

/** The longest that an endpoint is left alone: the others must not have all to carry for ever. */
const longestEviction = 300_000

const compiledBackend = (
  target: string,
  members: Members,
  clock: () => number,
  random: () => number
): CompiledBackend<ServiceSlots> => {
  const chosen = (x: Call<ServiceSlots>, passage: Passage): Exit.Exit<Verdict, StageError> => {
    const affinity = x.get(slots.affinity)
    const member = choose([members.current], { now: clock(), random, affinity, mostEvicted: halfEvicted })
    if (member === undefined) return Exit.fail(noneHealthy)
    passage.endpoint = member.key
    const call = member.health.begin()
    x.onFinish(() => call.over(clock()))
    x.set(attempted, { member, call })
    return next
  }
  return {
    type: "service",
    protocol: "http",
    target,
    keepsTime: true,
    prepare: (x, passage) => {
      const following = members.following()
      return following === undefined ? chosen(x, passage) : Effect.flatMap(following, () => chosen(x, passage))
    },
    call: (x, passage): Effect.Effect<Answer, StageError> => {
      const { member, call } = x.get(attempted)!
      if (isSource(x.requestBody)) {
        // As long as the client sends, it is the client that we wait for.
        const sent = () => call.sent(clock())
        x.requestBody = observe(x.requestBody, { data: () => {}, end: sent })
      } else call.sent(clock())
      return Effect.tapError(callUpstream(x, passage, member.upstream), ({ source }) =>
        Effect.sync(() => {
          call.answered(clock())
          if (source === "backend")
            member.health.failed(clock(), x.get(slots.judgement)?.eviction, undefined, longestEviction)
        })
      )
    },
    answered: (x, passage) => {
      const { member, call } = x.get(attempted)!
      const waited = call.answered(passage.answered ?? clock())
      const response = x.response!
      const judgement = x.get(slots.judgement)
      const isUnhealthy = judgement?.isUnhealthy?.(x.variables) ?? isFailure(response)
      if (isUnhealthy) {
        const asked = response.status === 429 ? retryHint((name) => response.headers.get(name), x.now) : undefined
        member.health.failed(clock(), judgement?.eviction, asked, longestEviction)
      } else member.health.succeeded(waited)
      return next
    }
  }
}
