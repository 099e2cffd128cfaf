import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { isSource } from "../http/body.ts"
import { HeaderList } from "../http/header-list.ts"
import { HeldBytes } from "../http/held-bytes.ts"
import { type Answer, RequestHead } from "../http/message.ts"
import { stepOf } from "../main/testing/step.ts"
import { type Reached, UpstreamFailed } from "../services/upstreams.ts"
import { type EndedAttempt, elsewhere, elsewhereAnew, type Plan } from "./attempts.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import type { Backend, Listener, Route } from "./route.ts"
import { plainLoop, type Step } from "./run.ts"
import { makeServe, noHooks } from "./serve.ts"
import * as slots from "./slots.ts"
import { next, type Phase, respond, type StageError } from "./stage.ts"

const failure = (reached: Reached) => new UpstreamFailed({ kind: "reset", detail: "test", reached })
const answer = (status: number): Answer => ({ status, headers: new HeaderList(), body: undefined })

const step = (phase: Phase, run: Step["run"]) => stepOf(run, { site: "backend", phase })

interface Way {
  readonly steps?: ReadonlyArray<Step>
  readonly beside?: ReadonlyArray<Step>
  readonly backendResponse?: ReadonlyArray<Step>
  readonly call: Backend["call"]
  readonly plan: Plan
  /** No policy has made the plan: it is the route's, and this one its backend's. */
  readonly own?: Plan | undefined
}

const clock = () => 0

/** Serves a request; what became of its attempts, and how it ended. */
const served = (way: Way, prepare: (x: Exchange) => void = () => {}) =>
  Effect.gen(function* () {
    const { steps = [], beside, backendResponse = [], call, plan, own } = way
    const ended: Array<Pick<EndedAttempt, "number" | "reached">> = []
    const effective = () => ({})
    const backend: Backend = {
      name: "b",
      type: "static",
      protocol: "http",
      target: "b",
      steps,
      beside,
      backendResponse,
      response: [],
      effective,
      elsewhere: own,
      call
    }
    const numbered: Plan = {
      ...plan,
      again: (one) => {
        ended.push({ number: one.number, reached: one.reached })
        return plan.again(one)
      }
    }
    const route: Route = {
      key: "r",
      name: "r",
      namespace: "default",
      rule: undefined,
      steps: [],
      response: [],
      effective,
      ...("own" in way ? { elsewhere: plan } : { plan: numbered }),
      choose: () => backend
    }
    const listener: Listener = {
      key: "l",
      name: "l",
      bind: "b",
      gateway: "default/default",
      steps: [],
      response: [],
      effective,
      select: () => ({ route, prefix: undefined, evaluated: () => [] })
    }
    const x = new Exchange(
      new RequestHead("GET", "http", "example.com", "/", new HeaderList()),
      undefined,
      { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 },
      0,
      0
    )
    prepare(x)
    const serve = makeServe(plainLoop(clock), noHooks, clock, () => {})
    const { status } = yield* serve(new Passage(x), listener)
    return { status, ended, x }
  })

const always = (attempts: number): Plan => ({ attempts, again: () => 0 })

describe("how far an attempt got", () => {
  it.effect.each(["nothing sent", "sent", "head received", "body begun"] as const)("is what its call says: %s", (at) =>
    Effect.gen(function* () {
      const { status, ended } = yield* served({ call: () => Exit.fail(failure(at)), plan: always(3) })
      assert.strictEqual(status, 503)
      assert.deepStrictEqual(ended, [
        { number: 1, reached: at },
        { number: 2, reached: at }
      ])
    })
  )

  it.effect("is nothing before its call, and everything behind it, whatever a policy's own call came to", () =>
    Effect.gen(function* () {
      const call = () => Exit.succeed(answer(200))
      const failing = (phase: Phase, at: Reached) => [step(phase, () => Exit.fail(failure(at)))]
      const before = yield* served({ steps: failing("backend", "sent"), call, plan: always(2) })
      assert.strictEqual(before.ended[0]?.reached, "nothing sent")
      const behind = yield* served({
        backendResponse: failing("backendResponse", "nothing sent"),
        call,
        plan: always(2)
      })
      assert.strictEqual(behind.ended[0]?.reached, "body begun")
    })
  )
})

describe("a node beside the call", () => {
  /** Fails beside the first call with what a call of its own came to, and lets the others pass. */
  const failingOnce = () => {
    const seen: Array<Exchange> = []
    const run: Step["run"] = (x) => {
      seen.push(x as Exchange)
      const known = (x as Exchange).get(slots.authorityRewritten)
      ;(x as Exchange).set(slots.authorityRewritten, true)
      if (known === true) return Exit.die("what belongs to another attempt is there")
      return seen.length === 1 ? Effect.andThen(Effect.yieldNow, Exit.fail(failure("nothing sent"))) : next
    }
    return { seen, beside: [step("call", run)] }
  }

  it.effect(
    "that fails ends its attempt, of which something may have been sent, and runs anew beside the next one",
    () =>
      Effect.gen(function* () {
        let calls = 0
        let calledOff = 0
        const pending = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void calledOff++))
        const call = () => (++calls === 1 ? pending : Exit.succeed(answer(200)))
        const plan: Plan = { attempts: 3, again: ({ error }) => (error === undefined ? undefined : 0) }
        const { seen, beside } = failingOnce()
        const { status, ended } = yield* served({ beside, call, plan })
        assert.deepStrictEqual([status, calls, calledOff, seen.length], [200, 2, 1, 2])
        assert.deepStrictEqual(ended[0], { number: 1, reached: "sent" })
      })
  )

  it.effect(
    "that fails after the answer drops it, and nothing of what came is repeated as if it had not been sent",
    () =>
      Effect.gen(function* () {
        const { beside } = failingOnce()
        const { ended } = yield* served({ beside, call: () => Exit.succeed(answer(200)), plan: always(2) })
        assert.deepStrictEqual(ended, [{ number: 1, reached: "body begun" }])
      })
  )

  it.effect("that answers has the last word", () =>
    Effect.gen(function* () {
      const beside = [step("call", () => respond(answer(418)))]
      let calls = 0
      const call = () => {
        calls++
        return Effect.never
      }
      const { status, ended } = yield* served({ beside, call, plan: always(3) })
      assert.deepStrictEqual([status, ended, calls], [418, [], 1])
    })
  )

  it.effect("that throws is a bug like any other", () =>
    Effect.gen(function* () {
      const beside = [
        step("call", () => {
          throw new Error("bug")
        })
      ]
      const { status } = yield* served({ beside, call: () => Effect.never, plan: always(3) })
      assert.strictEqual(status, 500)
    })
  )
})

describe("no attempt follows", () => {
  const failing = () => Exit.fail(failure("sent"))

  it.effect("a bug", () =>
    Effect.gen(function* () {
      const { status, ended } = yield* served({ call: () => Exit.die("bug"), plan: always(3) })
      assert.deepStrictEqual([status, ended], [500, []])
    })
  )

  it.effect("an answer that a policy gave in the place of the backend", () =>
    Effect.gen(function* () {
      const answering = step("backend", () => respond(answer(403)))
      const { status, ended } = yield* served({ steps: [answering], call: failing, plan: always(3) })
      assert.deepStrictEqual([status, ended], [403, []])
    })
  )

  it.effect("for which the time of the request does not last", () =>
    Effect.gen(function* () {
      const { ended } = yield* served({ call: failing, plan: { attempts: 3, again: () => 50 } }, (x) =>
        x.set(slots.timeouts, { request: 50, backend: undefined })
      )
      assert.strictEqual(ended.length, 1)
    })
  )

  it.effect("a wish to change the protocol of which something was sent", () =>
    Effect.gen(function* () {
      const wish = (x: Exchange) => {
        x.upgrade = "websocket"
      }
      assert.deepStrictEqual((yield* served({ call: failing, plan: always(3) }, wish)).ended, [])
      const unsent = yield* served({ call: () => Exit.fail(failure("nothing sent")), plan: always(3) }, wish)
      assert.strictEqual(unsent.ended.length, 2)
    })
  )

  it.effect("a plan that throws", () =>
    Effect.gen(function* () {
      const plan: Plan = {
        attempts: 3,
        again: () => {
          throw new Error("bug")
        }
      }
      assert.strictEqual((yield* served({ call: failing, plan })).status, 500)
    })
  )
})

describe("of a route whose backends may be called elsewhere, each in its own way,", () => {
  const size = 100_000
  /** What is kept of a body of that size while the backend reads it, and which attempts were made. */
  const kept = (own: Plan | undefined) =>
    Effect.gen(function* () {
      const heldBytes = new HeldBytes()
      const held: Array<number> = []
      const told: Array<number> = []
      const call = (x: Exchange): Exit.Exit<Answer, StageError> => {
        const body = x.requestBody
        if (!isSource(body)) return Exit.die("there is no body")
        body.start({ data: () => true, end: () => {}, fail: () => {} })
        held.push(heldBytes.held)
        x.informer?.inform(103, new HeaderList())
        return Exit.succeed(answer(200))
      }
      yield* served({ call, plan: elsewhereAnew, own }, (x) => {
        x.settings = { ...x.settings, heldBytes }
        x.requestBody = { start: (sink) => sink.data(new Uint8Array(size)), resume: () => {}, cancel: () => {} }
        x.informer = { inform: (status) => void told.push(status) }
      })
      return { held, told }
    })

  it.effect("a body is kept as the chosen backend's own plan says", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* kept(elsewhereAnew)).held, [size])
      assert.deepStrictEqual((yield* kept({ ...elsewhereAnew, keeps: undefined })).held, [0])
      assert.deepStrictEqual((yield* kept(elsewhere)).held, [0])
      assert.deepStrictEqual((yield* kept(undefined)).held, [0])
    })
  )

  it.effect("what a backend says on the way is held back only by a plan that may repeat what was sent", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* kept(elsewhereAnew)).told, [])
      assert.deepStrictEqual((yield* kept(elsewhere)).told, [103])
      assert.deepStrictEqual((yield* kept(undefined)).told, [103])
    })
  )
})

describe("the end of an attempt", () => {
  it.effect("is told once to who asked for it: when it is let go of, or with the request", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      let number = 0
      const asking = step("backend", (x) => {
        const own = ++number
        x.onFinish(({ failure }) => told.push(`${own} ${failure}`))
        return next
      })
      const call = (): Exit.Exit<Answer, StageError> =>
        number < 3 ? Exit.fail(failure("sent")) : Exit.succeed(answer(200))
      const { x, status } = yield* served({ steps: [asking], call, plan: always(3) })
      assert.strictEqual(status, 200)
      const dropped = "upstream call failed: reset: test"
      assert.deepStrictEqual(told, [`1 ${dropped}`, `2 ${dropped}`])
      x.finish({ status, failure: undefined, bytes: 0 }, (cause) => assert.fail(String(cause)))
      x.finish({ status, failure: undefined, bytes: 0 }, (cause) => assert.fail(String(cause)))
      assert.deepStrictEqual(told, [`1 ${dropped}`, `2 ${dropped}`, "3 undefined"])
      assert.strictEqual(x.response?.status, 200, "whoever asked before there were attempts sees the answer")
    })
  )
})
