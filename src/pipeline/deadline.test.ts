import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { HeaderList } from "../http/header-list.ts"
import { type Answer, RequestHead } from "../http/message.ts"
import { stepOf } from "../main/testing/step.ts"
import { Timer } from "../services/timer.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import type { Backend, Listener, Route } from "./route.ts"
import { observedLoop, plainLoop, type StageFinished, type Step } from "./run.ts"
import { makeReach, makeServe, noHooks } from "./serve.ts"
import { timeouts } from "./slots.ts"
import { next, type Phase, type StageError } from "./stage.ts"
import { callerOf } from "./sub-call.ts"

/** Time that stands still until it is moved. */
class Time {
  now = 0
  readonly #pending = new Set<{ readonly at: number; readonly action: () => void }>()
  readonly clock = () => this.now
  readonly after = (milliseconds: number, action: () => void) => {
    const entry = { at: this.now + milliseconds, action }
    this.#pending.add(entry)
    return () => {
      this.#pending.delete(entry)
    }
  }
  pass(milliseconds: number): void {
    this.now += milliseconds
    for (const entry of [...this.#pending])
      if (entry.at <= this.now) {
        this.#pending.delete(entry)
        entry.action()
      }
  }
  get idle(): boolean {
    return this.#pending.size === 0
  }
}

const request = () =>
  new Exchange(
    new RequestHead("GET", "http", "example.com", "/", new HeaderList()),
    undefined,
    { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 },
    0,
    0
  )

const named = (name: string, phase: Phase, run: Step["run"], failOpen = false) =>
  stepOf(run, { policy: name, node: name, phase, failOpen })

const limit = named("timeout", "route", (x) => {
  x.set(timeouts, { request: 1000, backend: undefined })
  return next
})
const marking = (name: string) =>
  named(name, "response", (x) => {
    x.response?.headers.add("x-ran", name)
    return next
  })

const places = ["route", "backend", "call", "backendResponse", "response"] as const
type Place = (typeof places)[number]

/** A way on which one place waits for `work`. */
const wayOf = (place: Place, work: Effect.Effect<never>, failOpen = false, keepsTime = false): Listener => {
  const at = (phase: Phase) => (phase === place ? [named("waiting", phase, () => work, failOpen)] : [])
  const response = [marking("one"), ...at("response"), marking("two")]
  const call = (): Effect.Effect<Answer, StageError> =>
    place === "call" ? work : Exit.succeed({ status: 200, headers: new HeaderList(), body: undefined })
  const backend: Backend = {
    name: "b",
    type: "static",
    protocol: "http",
    target: "b:1",
    steps: at("backend"),
    backendResponse: at("backendResponse"),
    response,
    effective: () => ({}),
    keepsTime,
    call
  }
  const key = { key: "", name: "", effective: () => ({}), response }
  const route: Route = { ...key, namespace: "", rule: undefined, steps: [limit, ...at("route")], choose: () => backend }
  return { ...key, bind: "", gateway: "", steps: [], select: () => ({ route, prefix: undefined, evaluated: () => [] }) }
}

/** A request that waits on its way, and what is known of it. */
const waiting = (
  place: Place,
  options: { readonly failOpen?: boolean; readonly observed?: boolean; readonly keepsTime?: boolean } = {}
) =>
  Effect.gen(function* () {
    const time = new Time()
    const told: Array<StageFinished> = []
    let released = 0
    const work = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void released++))
    const loop =
      options.observed === true ? observedLoop(time.clock, (_, event) => told.push(event)) : plainLoop(time.clock)
    const serve = makeServe(loop, noHooks, time.clock, () => {})
    const x = request()
    const fiber = yield* Effect.forkChild(
      Effect.provideService(
        serve(new Passage(x), wayOf(place, work, options.failOpen, options.keepsTime)),
        Timer,
        time.after
      ),
      { startImmediately: true }
    )
    return { time, x, fiber, told, released: () => released }
  })

describe("the time of a request", () => {
  for (const place of places)
    for (const failOpen of [false, true])
      it.effect(`is up while it waits in ${place}${failOpen ? ", where failures are forgiven" : ""}`, () =>
        Effect.gen(function* () {
          const { time, x, fiber, released } = yield* waiting(place, { failOpen })
          time.pass(999)
          assert.isUndefined(fiber.pollUnsafe())
          assert.strictEqual(released(), 0)
          time.pass(1)
          const answer = yield* Fiber.join(fiber)
          assert.deepStrictEqual([answer.status, answer.body], [504, "request timeout"])
          assert.strictEqual(x.error?.message, "request timeout")
          assert.strictEqual(released(), 1)
          // Headers of the answer are settled as for any other failure.
          assert.deepStrictEqual(answer.headers.getAll("x-ran"), place === "response" ? ["two"] : ["one", "two"])
          assert.isTrue(time.idle)
        })
      )

  for (const observed of [false, true])
    it.effect(`is left to a backend that keeps it${observed ? ", watched or not" : ""}`, () =>
      Effect.gen(function* () {
        const { time, fiber, released } = yield* waiting("call", { keepsTime: true, observed })
        assert.isTrue(time.idle)
        time.pass(10_000)
        assert.isUndefined(fiber.pollUnsafe())
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(released(), 1)
      })
    )

  it.effect("names the node that it waited for", () =>
    Effect.gen(function* () {
      const { time, fiber, told } = yield* waiting("backend", { observed: true })
      time.pass(1000)
      yield* Fiber.join(fiber)
      const { step, outcome, error, end } = told.find(({ step }) => step.policy === "waiting")!
      assert.deepStrictEqual([step.phase, outcome, error?.message, end], ["backend", "failed", "request timeout", 1000])
    })
  )

  it.effect("counts from its arrival: what is left bounds each wait", () =>
    Effect.gen(function* () {
      const time = new Time()
      const serve = makeServe(plainLoop(time.clock), noHooks, time.clock, () => {})
      let began = 0
      const slow = Effect.callback<never>(() => {
        began++
      })
      const x = request()
      time.now = 600
      const first = yield* Effect.forkChild(
        Effect.provideService(serve(new Passage(x), wayOf("call", slow)), Timer, time.after),
        {
          startImmediately: true
        }
      )
      time.pass(399)
      assert.isUndefined(first.pollUnsafe())
      time.pass(1)
      assert.strictEqual((yield* Fiber.join(first)).status, 504)
      // Nothing is begun when nothing is left.
      assert.strictEqual((yield* serve(new Passage(request()), wayOf("call", slow))).status, 504)
      assert.strictEqual(began, 1)
    })
  )

  it.effect("a client that goes away releases what the request waits for, and the timer", () =>
    Effect.gen(function* () {
      const { time, fiber, released } = yield* waiting("call")
      yield* Fiber.interrupt(fiber)
      const exit = fiber.pollUnsafe()
      assert.isTrue(exit !== undefined && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.strictEqual(released(), 1)
      assert.isTrue(time.idle)
    })
  )

  it.effect("what is answered in time leaves no timer behind", () =>
    Effect.gen(function* () {
      const time = new Time()
      const serve = makeServe(plainLoop(time.clock), noHooks, time.clock, () => {})
      const answer = Effect.as(Effect.yieldNow, { status: 200, headers: new HeaderList(), body: undefined })
      const way = wayOf("call", answer as Effect.Effect<never>)
      const served = yield* Effect.provideService(serve(new Passage(request()), way), Timer, time.after)
      assert.strictEqual(served.status, 200)
      assert.isTrue(time.idle)
    })
  )
})

describe("a call beside that of the backend", () => {
  /** A request of at most a second, in which a node of its route asks a server that answers with this effect. */
  const asking = (work: Effect.Effect<Answer>, own: number | undefined, failOpen = false) =>
    Effect.gen(function* () {
      const time = new Time()
      const contained = (): void => {}
      const ways = { reach: makeReach(plainLoop(time.clock), noHooks, time.clock, contained), clock: time.clock }
      let released = 0
      const server: Backend = {
        name: "server",
        type: "static",
        protocol: "http",
        target: "server:1",
        steps: [],
        backendResponse: [],
        response: [],
        effective: () => ({}),
        requestTimeout: own,
        call: () => Effect.onInterrupt(work, () => Effect.sync(() => void released++))
      }
      const untimed = () => ({ record: contained })
      const caller = callerOf({ ...ways, times: untimed, tell: contained }, server, undefined, "http")
      const asked = { method: "GET", pathAndQuery: "/", authority: undefined, body: "" }
      const step = named(
        "asking",
        "route",
        (x) =>
          // What a node sees is the exchange itself.
          Effect.as(caller.ask(x as Exchange, { ...asked, headers: new HeaderList() }, 5000), undefined),
        failOpen
      )
      const way = wayOf("call", Effect.never)
      const backend: Backend = {
        ...server,
        call: () => Exit.succeed({ status: 200, headers: new HeaderList(), body: undefined })
      }
      const select: Listener["select"] = (x) => {
        const selection = way.select(x)
        return { ...selection, route: { ...selection.route!, steps: [limit, step], choose: () => backend } }
      }
      const serve = makeServe(plainLoop(time.clock), noHooks, time.clock, contained)
      const fiber = yield* Effect.forkChild(
        Effect.provideService(serve(new Passage(request()), { ...way, select }), Timer, time.after),
        { startImmediately: true }
      )
      return { time, fiber, released: () => released }
    })

  it.effect("has no more time than the request that it is made for, and ends with it", () =>
    Effect.gen(function* () {
      for (const failOpen of [false, true]) {
        const { time, fiber, released } = yield* asking(Effect.never, undefined, failOpen)
        time.pass(999)
        assert.isUndefined(fiber.pollUnsafe())
        time.pass(1)
        const answer = yield* Fiber.join(fiber)
        assert.deepStrictEqual([answer.status, answer.body], [504, "request timeout"])
        assert.strictEqual(released(), 1)
        assert.isTrue(time.idle)
      }
    })
  )

  it.effect("has a limit of its own, which covers its body as well", () =>
    Effect.gen(function* () {
      let cancelled = 0
      const silent = { start: () => {}, resume: () => {}, cancel: () => void cancelled++ }
      const trickling = Exit.succeed({ status: 200, headers: new HeaderList(), body: silent })
      for (const work of [Effect.never, trickling]) {
        const { time, fiber } = yield* asking(work, 300, true)
        time.pass(299)
        assert.isUndefined(fiber.pollUnsafe())
        time.pass(1)
        // Whoever asked fails open.
        assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
        assert.isTrue(time.idle)
      }
      assert.isAtLeast(cancelled, 1)
    })
  )

  it.effect("that meets a bug is no failure which anybody forgives", () =>
    Effect.gen(function* () {
      const { time, fiber } = yield* asking(Effect.die(new Error("bug")), undefined, true)
      assert.strictEqual((yield* Fiber.join(fiber)).status, 500)
      assert.isTrue(time.idle)
    })
  )

  it.effect("is released when the client goes away", () =>
    Effect.gen(function* () {
      const { time, fiber, released } = yield* asking(Effect.never, undefined)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(released(), 1)
      assert.isTrue(time.idle)
    })
  )
})
