/** What must hold of every policy, whatever its configuration and whatever is asked of it. */
import { isDeepStrictEqual } from "node:util"
import { Effect, Exit, Fiber, Redacted, Schema } from "effect"
import type { TraceEvent } from "../../../spec/trace-events.ts"
import type { Exchange } from "../../pipeline/exchange.ts"
import type { Registry } from "../../pipeline/registry.ts"
import type { Step, Traveller } from "../../pipeline/run.ts"
import { siteNames } from "../../pipeline/site.ts"
import { plan } from "../../pipeline/slots.ts"
import type { AnyPolicy, AnySlot } from "../../pipeline/stage.ts"
import { type Trouble, troubled, troubles } from "./attempts.ts"
import { type Case, inWorld, playAll, type Subject } from "./case.ts"
import { imprint, type Law, law, schemaOf, seen, show } from "./law.ts"
import { traceProblems } from "./order.ts"
import { type Played, play } from "./play.ts"
import { drawn, impossible, observingSlots, undrawn } from "./transitions.ts"
import type { Branches } from "./way.ts"

/** The calls that are told of as those of a stage, and that none made. */
const untrue = (events: ReadonlyArray<TraceEvent>, called: ReadonlyArray<string>, { byName }: Registry) =>
  events.flatMap(({ scope, message }) => {
    if (scope === undefined || message.type !== "backendCallStart") return []
    const { by, target } = message
    const host = target.replace(/:(?:80|443)$/, "")
    return byName.has(by?.kind ?? "") && called.some((call) => call.includes(host))
      ? []
      : [`a call of ${target} by ${by?.kind} was told of`]
  })

/** Both loops serve; only the observed one is watched. */
export const loopsAgree = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law(
    "a request that is watched is answered like one that is not, and what is told of its calls is true",
    subject,
    runs,
    (one) =>
      Effect.gen(function* () {
        const watched = yield* playAll(subject, one, true)
        const plain = (yield* playAll(subject, one, false)).played.map(seen)
        const observed = watched.played.map(seen)
        const problems = plain.flatMap((answer, i) =>
          isDeepStrictEqual(answer, observed[i])
            ? []
            : [`request ${i}: unwatched ${show(answer)}, watched ${show(observed[i])}`]
        )
        problems.push(...watched.played.flatMap(({ events }) => untrue(events, watched.world.called, subject.registry)))
        return { problems, bit: true }
      })
  )

export const nothingThrows = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law("no request makes a node throw", subject, runs, (one) =>
    Effect.gen(function* () {
      const runsOf = [yield* playAll(subject, one, false), yield* playAll(subject, one, true)]
      const defects = runsOf.flatMap(({ played }) => played.flatMap((each) => each.defects))
      return { problems: defects.map((defect) => `thrown: ${defect}`), bit: true }
    })
  )

export const everyRunIsTimed = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law("every run of a node is timed, whatever came of it", subject, runs, (one) =>
    Effect.gen(function* () {
      const problems: Array<string> = []
      let bit = false
      for (const watched of [false, true]) {
        const made = new Map<Step["latency"], { readonly node: string; runs: number }>()
        const counted = <T extends Traveller>(step: Step<T>): Step<T> => ({
          ...step,
          run: (view, passage) => {
            const { latency, node } = step
            made.set(latency, { node, runs: (made.get(latency)?.runs ?? 0) + 1 })
            return step.run(view, passage)
          }
        })
        yield* playAll(subject, one, watched, { step: counted, connectionStep: counted })
        bit ||= made.size > 0
        for (const [latency, { node, runs }] of made)
          if (latency.count !== runs) problems.push(`${node} ran ${runs} times, and ${latency.count} were timed`)
      }
      return { problems, bit }
    })
  )

export const nodesAreNamed = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law("the nodes of a policy have names that tell them apart", subject, runs, (one) =>
    inWorld(subject, one, {}, (listener) =>
      Effect.sync(() => {
        const named = new Set<string>()
        const steps = [...drawn(listener).ids.keys()]
        const problems = steps.flatMap(({ site, path, policy, node }) => {
          const name = [site, ...path, node].join(" ")
          if (node === "") return [`a node of ${policy} has no name`]
          if (named.has(name)) return [`${policy} has several nodes named ${node}`]
          named.add(name)
          return []
        })
        return { problems, bit: steps.length > 0 }
      })
    )
  )

export const eventsInOrder = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law(
    "the events of a request decode, come in the documented order, and list policies as they run",
    subject,
    runs,
    (one) =>
      Effect.map(playAll(subject, one, true), ({ played }) => ({
        problems: played.flatMap((each) => [...traceProblems(each.events), ...listedOtherwise(each, subject.registry)]),
        bit: true
      }))
  )

export const runsAreDrawn = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law(
    "what a request comes by is drawn, what is drawn can happen, and no node touches a slot unsaid",
    subject,
    runs,
    (one) => {
      const problems: Array<string> = []
      const observing = observingSlots((problem) => problems.push(problem))
      const observed = new Map<Step, Step>()
      const step = (each: Step): Step => {
        const known = observed.get(each) ?? observing(each)
        observed.set(each, known)
        return known
      }
      // One attempt, or several; but what runs beside a call may be told when the next attempt has begun.
      const several = one.patience % 2 === 1 && subject.registry.orders.call.length === 0
      const tried = several ? troubled(troublesOf(one)) : undefined
      return inWorld(subject, one, { step, troubled: tried }, (listener, world) =>
        Effect.map(
          Effect.forEach(one.requests, (request) => play(listener, request, world, true)),
          (played) => {
            const graph = drawn(listener)
            problems.push(...impossible(graph), ...played.flatMap((each) => undrawn(each, graph)))
            return { problems, bit: graph.ids.size > 0 }
          }
        )
      )
    }
  )

/** The policies that ran before one that `policySelection` lists before them. */
const listedOtherwise = ({ events, stages }: Played, { byName }: Registry): ReadonlyArray<string> =>
  events.flatMap(({ message }) => {
    if (message.type !== "policySelection") return []
    const listed = Object.keys(message.effectivePolicy)
    const ran = stages.flatMap(({ step: { policy, phase } }) =>
      phase === message.phase ? (byName.get(policy)?.traceKey ?? []) : []
    )
    const problems: Array<string> = []
    let attempt: Array<string> = []
    for (const key of ran) {
      const previous = attempt.at(-1)
      if (previous === key) continue
      // What has run already runs in another attempt now.
      if (attempt.includes(key)) attempt = []
      else if (previous !== undefined && listed.indexOf(key) < listed.indexOf(previous))
        problems.push(`${key} ran after ${previous}, and policySelection lists it before`)
      attempt.push(key)
    }
    return problems
  })

const textOf = (body: { readonly chunks: ReadonlyArray<string> } | undefined) => body?.chunks.join("") ?? ""

/** Whether the answer is the backend's: no node answered, refused, or failed the whole. */
const isBackends = ({ error, stages, received }: Played) =>
  received !== undefined && error === undefined && stages.every(({ outcome }) => outcome !== "responded")

/** @param changed whether the configuration of a policy puts others in their place. */
export const bodiesPass = <L extends ReadonlyArray<AnyPolicy>>(
  subject: Subject<L>,
  runs: number,
  changed: (policy: string, config: unknown) => boolean
): Law =>
  law("bodies arrive byte for byte, however they are cut", subject, runs, (one) =>
    Effect.map(playAll(subject, one, true), ({ played }) => {
      const problems: Array<string> = []
      const attached = siteNames.flatMap((site) => Object.entries(one.attached[site] ?? {}))
      if (attached.some(([policy, { decoded }]) => changed(policy, decoded))) return { problems, bit: false }
      let bit = false
      for (const [i, answer] of played.entries()) {
        const request = one.requests[i]!
        if (answer.received !== undefined && request.body !== undefined) {
          bit = true
          if (answer.received.body !== textOf(request.body))
            problems.push(`request ${i}: the backend received ${show(answer.received.body)}`)
        }
        if (isBackends(answer) && request.method !== "HEAD") {
          bit = true
          if (answer.body !== textOf(one.backend.body))
            problems.push(`request ${i}: the client received ${show(answer.body)}`)
        }
      }
      return { problems, bit }
    })
  )

/** Both ways in which a condition holds, and both in which it does not. */
export const conditionsDecide = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law(
    "a policy whose condition holds is the policy, and one whose condition does not hold is none",
    subject,
    runs,
    (one) =>
      Effect.gen(function* () {
        const problems: Array<string> = []
        const { connection = {} } = one.attached
        const none: Case = { ...one, attached: { connection } }
        const all = yield* playAll(subject, one, true)
        const without = yield* playAll(subject, none, true)
        const compare = (found: ReadonlyArray<Played>, expected: ReadonlyArray<Played>, branches: Branches) => {
          for (const [i, answer] of found.entries())
            if (!isDeepStrictEqual(seen(answer), seen(expected[i]!)))
              problems.push(
                `request ${i}, conditions ${show(branches)}: ${show(seen(answer))}, expected ${show(seen(expected[i]!))}`
              )
        }
        for (const watched of [false, true])
          for (const [branches, expected] of [
            [[true], all],
            [[false, undefined], all],
            [[false], without],
            [[false, false], without]
          ] as const)
            compare((yield* playAll(subject, one, watched, { branches })).played, expected.played, branches)
        return { problems, bit: siteNames.some((site) => site !== "connection" && one.attached[site] !== undefined) }
      })
  )

/** Some troubles, others for each case. */
const troublesOf = ({ patience, requests }: Case): ReadonlyArray<Trouble> =>
  Array.from(
    { length: 1 + (patience % 3) },
    (_, i) => troubles[(patience + i * (1 + requests.length)) % troubles.length]!
  )

export const attemptsLeaveNothing = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law => {
  const slots = subject.registry.policies.flatMap(({ reads, writes }): ReadonlyArray<AnySlot> => [...reads, ...writes])
  return law("of attempts that came to nothing, nothing is left", subject, runs, (one) =>
    Effect.gen(function* () {
      const problems: Array<string> = []
      let bit = false
      for (const watched of [false, true]) {
        const ends = (into: Array<string>) => (x: Exchange) => into.push(imprint(x.latest, slots))
        const once: Array<string> = []
        // A policy that makes a plan of its own would not be alone.
        const alone = yield* playAll(subject, one, watched, {
          answered: ends(once),
          troubled: slots.includes(plan) ? troubled([]) : undefined
        })
        const trouble = troubled(troublesOf(one))
        const after: Array<string> = []
        const { played, world } = yield* playAll(subject, one, watched, { answered: ends(after), troubled: trouble })
        bit ||= trouble.made() > 0
        for (const [i, answer] of played.entries()) {
          // Without time for another attempt the first failure is the last.
          if (alone.played[i]!.error?.tag === "TimedOut") continue
          if (!isDeepStrictEqual(seen(answer), seen(alone.played[i]!)))
            problems.push(`request ${i}: alone ${show(seen(alone.played[i]!))}, after others ${show(seen(answer))}`)
          if (after[i] !== once[i]) problems.push(`request ${i} ends as\n  ${after[i]}\nand alone as\n  ${once[i]}`)
        }
        if (trouble.untold() > 0) problems.push(`${trouble.untold()} attempts were not told once how they ended`)
        problems.push(...world.leaks())
      }
      return { problems, bit }
    })
  )
}

export const interruptionReleases = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law("whenever the client goes away, everything is released and the trace ends", subject, runs, (one) =>
    inWorld(
      subject,
      { ...one, waits: true },
      { troubled: one.backend.status === 404 ? troubled(troublesOf(one)) : undefined },
      (listener, world) =>
        Effect.gen(function* () {
          const serving = yield* Effect.forkChild(play(listener, one.requests[0]!, world, one.patience % 2 === 0))
          for (let i = 0; i < one.patience; i++) yield* Effect.yieldNow
          yield* Fiber.interrupt(serving)
          return { world, bit: Exit.hasInterrupts(yield* Fiber.await(serving)) }
        })
      // What goes on in the background of a configuration, for all requests, ends with it.
    ).pipe(
      Effect.map(({ world, bit }) => ({ problems: [...world.leaks(), ...world.traces.flatMap(traceProblems)], bit }))
    )
  )

export const configurationsSurvive = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law("a configuration that is written again means the same", subject, runs, ({ attached }) =>
    Effect.sync(() => {
      const problems = siteNames.flatMap((site) =>
        Object.entries(attached[site] ?? {}).flatMap(([name, { decoded }]) => {
          const schema = schemaOf(subject.registry, name)
          const once = Schema.encodeUnknownSync(schema)(decoded)
          const twice = Schema.encodeUnknownSync(schema)(Schema.decodeUnknownSync(schema)(once))
          return isDeepStrictEqual(once, twice) ? [] : [`${name}: ${show(once)} became ${show(twice)}`]
        })
      )
      return { problems, bit: true }
    })
  )

const secretsOf = (value: unknown): ReadonlyArray<string> => {
  if (Redacted.isRedacted(value)) return [String(Redacted.value(value))]
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array)
    ? Object.values(value).flatMap(secretsOf)
    : []
}

export const secretsStaySecret = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law("no client and no trace is told a secret of the configuration", subject, runs, (one) =>
    Effect.gen(function* () {
      const configs = siteNames.flatMap((site) => Object.values(one.attached[site] ?? {}))
      const secrets = configs.flatMap(({ decoded }) => secretsOf(decoded))
      // What a client sends, it knows.
      const unsaid = one.requests.filter((request) => !secrets.some((secret) => show(request)?.includes(secret)))
      if (secrets.length === 0 || unsaid.length === 0) return { problems: [], bit: false }
      const { played } = yield* playAll(subject, { ...one, requests: unsaid }, true)
      const told = show(played.map(({ events, received: _, stages: __, ...rest }) => ({ events, ...rest }))) ?? ""
      return { problems: secrets.filter((secret) => told.includes(secret)).map((s) => `told: ${s}`), bit: true }
    })
  )
