import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import type { TraceEvent } from "../../spec/trace-events.ts"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead } from "../http/message.ts"
import { stepOf } from "../main/testing/step.ts"
import type { FinishedSpan } from "../services/span-sink.ts"
import { FilterFailed } from "./errors.ts"
import { Exchange } from "./exchange.ts"
import { toldCall, WatchCalls } from "./outbound.ts"
import { Passage } from "./passage.ts"
import { observedLoop, plainLoop, type Step } from "./run.ts"
import { Spans } from "./spans.ts"
import { next, type StageError } from "./stage.ts"
import { Trace } from "./trace.ts"
import { watchStages } from "./watch.ts"

const seconds: Array<number> = []
let now = 0
const clock = () => now
const telling = {
  purpose: "guardrail",
  time: { record: (value: number) => seconds.push(value) },
  clock,
  why: ({ message }: StageError) => message
} as const
const asked = (target: string) => ({ target, method: "POST", authority: target, path: "/" })

/** A call that takes a millisecond, and which needs another one where there is one. */
const calling = (target: string, needs: Effect.Effect<unknown, StageError> = Effect.void) =>
  toldCall(telling, asked(target), () =>
    Effect.flatMap(needs, () =>
      Effect.map(Effect.yieldNow, () => {
        now++
        return { status: 200 }
      })
    )
  )

const asking = (run: Step["run"]) =>
  stepOf(run, { policy: "asking", node: "asks", path: ["a", 0], failOpen: true, outcomes: ["next", "fail"] })

const newPassage = () =>
  new Passage(
    new Exchange(
      new RequestHead("GET", "http", "example.com", "/", new HeaderList()),
      undefined,
      { address: "192.0.2.1", port: 1, rawAddress: "192.0.2.1", rawPort: 1 },
      0,
      now
    )
  )

/** What is told of a request in which a node waits for this. */
const observed = (work: Effect.Effect<unknown, StageError>) =>
  Effect.gen(function* () {
    const events: Array<TraceEvent> = []
    const spans: Array<FinishedSpan> = []
    const env = { podName: null, namespace: null, gateway: null }
    const passage = newPassage()
    const trace = new Trace({ env, clock, locate: (path) => path.join(".") }, (event) => events.push(event))
    const sampled = new Spans(undefined, clock, (finished) => spans.push(...finished))
    passage.watchedBy(trace)
    passage.watchedBy(sampled)
    passage.watch?.started(passage)
    const step = asking(() => Effect.as(work, undefined))
    const verdict = yield* Effect.exit(observedLoop(clock, watchStages)([step], passage, 0))
    passage.received.finish({ status: 200, failure: undefined, bytes: 0 }, (cause) => assert.fail(String(cause)))
    assert.deepStrictEqual(verdict, next)
    return { spans, events, calls: events.filter(({ scope }) => scope !== undefined) }
  })

const by = { kind: "asking", phase: "route", node: "asks", source: "a.0" }

describe("a call of a stage", () => {
  it.effect("and what it needs by itself are told as one within the other", () =>
    Effect.gen(function* () {
      const { calls, spans } = yield* observed(calling("outer:1", calling("inner:2")))
      assert.deepStrictEqual(
        calls.map(({ scope, message }) => [scope, message]),
        [
          [["guardrail"], { type: "backendCallStart", target: "outer:1", by }],
          [["guardrail", "guardrail"], { type: "backendCallStart", target: "inner:2" }],
          [["guardrail", "guardrail"], { type: "backendCallResult", status: 200, error: null }],
          [["guardrail"], { type: "backendCallResult", status: 200, error: null, by }]
        ]
      )
      const [inner, outer, stage, request] = spans
      assert.deepStrictEqual(
        [inner, outer, stage].map((span) => [span?.name, span?.parentSpanId]),
        [
          ["guardrail", outer?.spanId],
          ["guardrail", stage?.spanId],
          ["stage.route.asks", request?.spanId]
        ]
      )
    })
  )

  it.effect("is one of what its node started, even when that outlives the request", () =>
    Effect.gen(function* () {
      const late: Array<Effect.Effect<unknown>> = []
      const { calls, events, spans } = yield* observed(
        Effect.gen(function* () {
          const watch = yield* WatchCalls
          late.push(Effect.orDie(Effect.provideService(calling("late:1"), WatchCalls, watch)))
          const waits = Effect.provideService(
            toldCall(telling, asked("never:1"), () => Effect.never),
            WatchCalls,
            watch
          )
          yield* Effect.forkDetach(waits, { startImmediately: true })
        })
      )
      assert.deepStrictEqual(
        calls.map(({ message }) => message),
        [
          { type: "backendCallStart", target: "never:1", by },
          { type: "backendCallResult", status: null, error: "the request was over before it", by }
        ]
      )
      assert.strictEqual(events.at(-1)?.message.type, "requestFinished")
      const length = events.length
      yield* late[0]!
      // The trace of the request has ended; a span may come at any time.
      assert.strictEqual(events.length, length)
      assert.deepStrictEqual([spans.at(-1)?.name, spans.at(-1)?.attributes["http.host"]], ["guardrail", "late:1"])
    })
  )

  it.effect("that fails says why, and that of a bug nothing of it", () =>
    Effect.gen(function* () {
      const error = (made: Effect.Effect<{ readonly status: number }, StageError>) =>
        Effect.gen(function* () {
          const told: Array<unknown> = []
          yield* Effect.exit(
            Effect.provideService(
              toldCall(telling, asked("a:1"), () => made),
              WatchCalls,
              () => ({
                context: undefined,
                ended: (result) => told.push(result),
                outbound: () => assert.fail("there is no call in it")
              })
            )
          )
          return told
        })
      const failed = new FilterFailed({ detail: "odd" })
      assert.deepStrictEqual(yield* error(Effect.fail(failed)), [{ status: undefined, error: failed.message }])
      const bug = Effect.die(new Error("a secret"))
      assert.deepStrictEqual(yield* error(bug), [{ status: undefined, error: "internal error" }])
      assert.deepStrictEqual(yield* error(Effect.interrupt), [{ status: undefined, error: "the call was given up" }])
    })
  )

  it.effect("is timed for every request, and is part of the time of its node", () =>
    Effect.gen(function* () {
      for (const loop of [plainLoop(clock), observedLoop(clock, watchStages)]) {
        seconds.length = 0
        const step = asking(() => Effect.as(calling("a:1", calling("b:1")), undefined))
        assert.deepStrictEqual(yield* Effect.exit(loop([step], newPassage(), 0)), Exit.succeed(undefined))
        assert.deepStrictEqual(seconds, [0.001, 0.002])
        assert.strictEqual(step.latency.sum, 2)
      }
    })
  )
})
