/** One attempt at a service: an endpoint is chosen, called, and judged by what came of it. */
import { Effect, Exit } from "effect"
import { choose, halfEvicted } from "../../src/balance/choice.ts"
import type { OpenCall } from "../../src/balance/endpoint-health.ts"
import { isFailure } from "../../src/balance/judgement.ts"
import { retryHint } from "../../src/balance/retry-hint.ts"
import { type Answer, isSource, observe, type StageError, slot, slots } from "../../src/policy/policy.ts"
import {
  type Call,
  callUpstream,
  type Left,
  noneHealthy,
  type Passage,
  type Upstream
} from "../../src/policy/terminal.ts"
import type { Member, Members } from "./endpoints.ts"
import { Hedging, type Sent } from "./hedge.ts"

/** The endpoint that an attempt goes to, and the call as the balancing sees it. */
interface Attempted {
  member: Member<Upstream>
  call: OpenCall
}
export const attempted = slot<object>()("serviceEndpoint", "attempt")

export type ServiceSlots =
  | typeof attempted
  | typeof slots.affinity
  | typeof slots.hedging
  | typeof slots.judgement
  | typeof slots.timeouts
type Exchange = Call<ServiceSlots>

/** The longest that an endpoint is left alone: the others must not carry its share for ever. */
const longestEviction = 300_000

const ignore = () => {}

/** A copy of a request says nothing of how its endpoint does. */
const unwatched: OpenCall = { sent: ignore, answered: () => 0, over: ignore }

export const serviceCalls = (members: Members<Upstream>, clock: () => number, random: () => number) => {
  const chosen = (x: Exchange, passage: Passage): Exit.Exit<Attempted, StageError> => {
    const affinity = x.get(slots.affinity)
    const { tried } = passage.attempts ?? {}
    const untried = tried === undefined ? members.current : members.current.filter(({ key }) => !tried.has(key))
    const member = choose([untried.length > 0 ? untried : members.current], {
      now: clock(),
      random,
      affinity,
      mostEvicted: halfEvicted
    })
    if (member === undefined) return Exit.fail(noneHealthy)
    passage.endpoint = passage.choice = member.key
    passage.others = untried.length > 1
    const call = x.aside ? unwatched : member.health.begin()
    x.onFinish(() => call.over(clock()))
    return Exit.succeed({ member, call })
  }
  const failed = (x: Exchange, { health }: Member<Upstream>, { attempts }: Passage, asked: number | undefined) =>
    health.failed(clock(), x.get(slots.judgement)?.eviction, asked ?? attempts?.pause, longestEviction)
  const called = (x: Exchange, { member, call }: Attempted, passage: Passage) =>
    Effect.tapError(callUpstream(x, passage, member.upstream), ({ source }) =>
      Effect.sync(() => {
        call.answered(clock())
        if (source === "backend" && !x.aside) failed(x, member, passage, undefined)
      })
    )
  const hedges = new Hedging()
  /** What was taken is what has answered, in the end. */
  const hedged = (x: Exchange, taken: Attempted, passage: Passage, first: Sent, after: number): Sent => {
    const before = { ...taken }
    let other: Attempted | undefined
    const elsewhere = (): Sent | undefined => {
      const untried = members.current.filter(({ key }) => key !== before.member.key)
      const member = choose([untried], { now: clock(), random, affinity: undefined, mostEvicted: halfEvicted })
      if (member === undefined) return undefined
      const call = member.health.begin()
      x.onFinish(() => call.over(clock()))
      call.sent(clock())
      other = { member, call }
      x.fact("retry.hedged", true)
      if (x.watched) x.note("hedge", { endpoint: member.key, afterMs: after })
      return called(x, other, passage)
    }
    return hedges.call(first, after, elsewhere, (which) => {
      if (other === undefined) return
      const [counts, loses] = which === "first" ? [before, other] : [other, before]
      // It is no sample of anything.
      loses.call.answered(clock())
      loses.call.over(clock())
      taken.member = counts.member
      taken.call = counts.call
      passage.endpoint = passage.choice = counts.member.key
    })
  }
  return {
    choose: (x: Exchange, _: undefined, passage: Passage): Left<Attempted> => {
      const following = members.following()
      return following === undefined ? chosen(x, passage) : Effect.flatMap(following, () => chosen(x, passage))
    },
    send: (x: Exchange, taken: Attempted, passage: Passage): Effect.Effect<Answer, StageError> => {
      const { call } = taken
      // While the client still sends, it is the client that we wait for.
      if (isSource(x.requestBody))
        x.requestBody = observe(x.requestBody, { data: ignore, end: () => call.sent(clock()) })
      else call.sent(clock())
      const hedging = x.get(slots.hedging)
      if (hedging === undefined || isSource(x.requestBody)) return called(x, taken, passage)
      // Whose answer counts is not known yet, and what the other one says on the way to its own is not for the client.
      x.informer = undefined
      return hedged(x, taken, passage, called(x, taken, passage), hedging)
    },
    judge: (x: Exchange, taken: Attempted, passage: Passage): Left<Attempted> => {
      const { member, call } = taken
      if (x.aside) return Exit.succeed(taken)
      const waited = call.answered(clock())
      const { status, headers } = x.response!
      const isUnhealthy = x.get(slots.judgement)?.isUnhealthy
      if (isUnhealthy === undefined ? isFailure(x.response!) : isUnhealthy(x.variables))
        failed(x, member, passage, status === 429 ? retryHint((name) => headers.get(name), x.now) : undefined)
      else member.health.succeeded(waited)
      return Exit.succeed(taken)
    }
  }
}
