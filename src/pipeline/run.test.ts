import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Cause, Effect, Exit, Schema } from "effect"
import { HeaderList } from "../http/header-list.ts"
import { type Answer, RequestHead } from "../http/message.ts"
import { stepOf } from "../main/testing/step.ts"
import { FilterFailed, NotFound } from "./errors.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import type { Backend, Listener, Route } from "./route.ts"
import { errorOf, observedLoop, plainLoop, type StageFinished, type Step } from "./run.ts"
import { makeServe, noHooks } from "./serve.ts"
import { next, type Phase, respond, type StageError, type Verdict } from "./stage.ts"

const Behaviour = Schema.Struct({
  does: Schema.Literals(["next", "next", "next", "respond", "fail", "throw", "die"]),
  waits: Schema.Boolean,
  failOpen: Schema.Boolean,
  skipped: Schema.Boolean
})
type Behaviour = typeof Behaviour.Type

const newPassage = () =>
  new Passage(
    new Exchange(
      new RequestHead("GET", "http", "example.com", "/", new HeaderList()),
      undefined,
      { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 },
      0,
      0
    )
  )

const answer = (status: number): Answer => ({ status, headers: new HeaderList(), body: undefined })

const behaving = (behaviour: Behaviour, index: number, ran: Array<number>, phase: Phase = "route") => {
  const run = () => {
    ran.push(index)
    if (behaviour.does === "throw") throw new Error("bug")
    const ready: Exit.Exit<Verdict, StageError> =
      behaviour.does === "respond"
        ? respond(answer(200 + index))
        : behaviour.does === "fail"
          ? Exit.fail(new FilterFailed({ detail: String(index) }))
          : behaviour.does === "die"
            ? Exit.die("bug")
            : next
    return behaviour.waits ? Effect.flatMap(Effect.yieldNow, () => ready) : ready
  }
  const { failOpen, skipped } = behaviour
  const name = `p${index}`
  return stepOf(run, { policy: name, node: name, phase, failOpen, holds: skipped ? () => false : undefined })
}

const shown = (exit: Exit.Exit<Verdict, StageError>): string => {
  if (Exit.isSuccess(exit)) return exit.value === undefined ? "next" : `respond ${exit.value.status}`
  return Cause.hasDies(exit.cause) ? "defect" : `fail ${errorOf(exit.cause)?.message}`
}

/** What the loop must do, said without a loop of effects. */
const oracle = (behaviours: ReadonlyArray<Behaviour>) => {
  const ran: Array<number> = []
  for (const [index, { does, failOpen, skipped }] of behaviours.entries()) {
    if (skipped) continue
    ran.push(index)
    if (does === "respond") return { ran, outcome: `respond ${200 + index}`, at: index }
    if (does === "throw" || does === "die") return { ran, outcome: "defect", at: index }
    if (does === "fail" && !failOpen) return { ran, outcome: `fail failed to apply filters: ${index}`, at: index }
  }
  return { ran, outcome: "next", at: undefined }
}

describe("loops", () => {
  it.effect.prop(
    "the plain and the observed loop do what the oracle says, whether nodes wait or not",
    [Arbitrary.array(Arbitrary.schema(Behaviour), { maxLength: 8 })],
    ([behaviours]) =>
      Effect.gen(function* () {
        const expected = oracle(behaviours)
        const events: Array<StageFinished> = []
        for (const loop of [
          plainLoop(() => 0),
          observedLoop(
            () => 0,
            (_, event) => events.push(event)
          )
        ]) {
          const ran: Array<number> = []
          const passage = newPassage()
          const exit = yield* Effect.exit(
            loop(
              behaviours.map((b, i) => behaving(b, i, ran)),
              passage,
              0
            )
          )
          assert.strictEqual(shown(exit), expected.outcome)
          assert.deepStrictEqual(ran, expected.ran)
          if (expected.at !== undefined) assert.strictEqual(passage.stoppedAt, expected.at)
        }
        // The observed loop tells of every node that ran, in order, and of those it passed over.
        assert.deepStrictEqual(
          events.filter((e) => e.outcome !== "skipped").map((e) => e.step.policy),
          expected.ran.map((index) => `p${index}`)
        )
      }),
    { arbitrary: { runs: 400 } }
  )

  it("a phase whose nodes all answer at once needs no fiber", () => {
    const steps = Array.from({ length: 12 }, (_, i) =>
      behaving({ does: "next", waits: false, failOpen: false, skipped: false }, i, [])
    )
    assert.strictEqual(plainLoop(() => 0)(steps, newPassage(), 0), next)
  })

  it("every node is timed, skipped ones are not", () => {
    let now = 0
    const steps = [false, true, false].map((skipped, i) =>
      behaving({ does: "next", waits: false, failOpen: false, skipped }, i, [])
    )
    plainLoop(() => now++)(steps, newPassage(), 0)
    assert.deepStrictEqual(
      steps.map((step) => step.latency.count),
      [1, 0, 1]
    )
    assert.deepStrictEqual(
      steps.map((step) => step.latency.sum),
      [1, 0, 1]
    )
  })
})

const place = { key: "", name: "", bind: "", gateway: "", effective: () => ({}) }

const wayOf = (
  steps: ReadonlyArray<Step>,
  response: ReadonlyArray<Step>,
  call: () => Effect.Effect<Answer, StageError>
): Listener => {
  const backend: Backend = {
    name: "b",
    type: "static",
    protocol: "http",
    target: "b:1",
    steps: [],
    backendResponse: [],
    response,
    effective: () => ({}),
    call
  }
  const route: Route = { ...place, namespace: "default", rule: undefined, steps, response, choose: () => backend }
  return { ...place, steps: [], response, select: () => ({ route, prefix: undefined, evaluated: () => [] }) }
}

describe("serve", () => {
  const serve = makeServe(
    plainLoop(() => 0),
    noHooks,
    () => 0,
    () => {}
  )
  const marking = (name: string): Step => ({
    ...behaving({ does: "next", waits: false, failOpen: false, skipped: false }, 0, []),
    phase: "response",
    run: (x) => {
      x.response?.headers.add("x-ran", name)
      return next
    }
  })
  const ran = (served: Answer) => served.headers.getAll("x-ran")

  it.effect("a refusal still runs the response nodes and carries the queued headers", () =>
    Effect.gen(function* () {
      const refusing = { ...behaving({ does: "fail", waits: false, failOpen: false, skipped: false }, 0, []) }
      const passage = newPassage()
      passage.exchange.answerHeaders.set("access-control-allow-origin", "https://a.example")
      const served = yield* serve(
        passage,
        wayOf([refusing], [marking("one")], () => Effect.die("not called"))
      )
      assert.strictEqual(served.status, 500)
      assert.deepStrictEqual(ran(served), ["one"])
      assert.strictEqual(served.headers.get("access-control-allow-origin"), "https://a.example")
    })
  )

  it.effect("a response node that fails replaces the answer, frees its body, and those after it still run", () =>
    Effect.gen(function* () {
      let cancelled = false
      const body = {
        start: () => {},
        resume: () => {},
        cancel: () => {
          cancelled = true
        }
      }
      const failing: Step = { ...marking(""), run: () => Exit.fail(new NotFound({ what: "bind" })) }
      const passage = newPassage()
      const served = yield* serve(
        passage,
        wayOf([], [marking("one"), failing, marking("two")], () => Exit.succeed({ ...answer(200), body }))
      )
      assert.strictEqual(served.status, 404)
      assert.deepStrictEqual(ran(served), ["two"])
      assert.isTrue(cancelled)
    })
  )

  it.effect("whoever answers in place of the backend frees the body of its response, unless the answer keeps it", () =>
    Effect.gen(function* () {
      const cancelled: Array<string> = []
      const bodyOf = (name: string) => ({
        start: () => {},
        resume: () => {},
        cancel: () => {
          cancelled.push(name)
        }
      })
      const replacing: Step = { ...marking(""), run: () => respond({ ...answer(203), body: bodyOf("own") }) }
      const keeping: Step = {
        ...marking(""),
        run: (x) => respond({ ...answer(204), body: x.response?.body })
      }
      const call = () => Exit.succeed({ ...answer(200), body: bodyOf("backend's") })
      assert.strictEqual((yield* serve(newPassage(), wayOf([], [keeping], call))).status, 204)
      assert.deepStrictEqual(cancelled, [])
      assert.strictEqual((yield* serve(newPassage(), wayOf([], [replacing, marking("two")], call))).status, 203)
      assert.deepStrictEqual(cancelled.splice(0), ["backend's"])
      const listener = wayOf([], [], call)
      const { route } = listener.select(newPassage().exchange)
      const backend = { ...(route!.choose(newPassage().exchange) as Backend), backendResponse: [replacing] }
      const select = () => ({ route: { ...route!, choose: () => backend }, prefix: undefined, evaluated: () => [] })
      assert.strictEqual((yield* serve(newPassage(), { ...listener, select })).status, 203)
      assert.deepStrictEqual(cancelled, ["backend's"])
    })
  )

  it.effect("a throw anywhere is a 500 that tells nothing, and the defect is reported", () =>
    Effect.gen(function* () {
      const defects: Array<unknown> = []
      const careful = makeServe(
        plainLoop(() => 0),
        noHooks,
        () => 0,
        (defect) => defects.push(defect.cause)
      )
      const thrower = () => {
        throw new Error("secret detail")
      }
      const served = yield* careful(newPassage(), wayOf([], [marking("one")], thrower))
      assert.deepStrictEqual([served.status, served.body, ran(served)], [500, "internal error", ["one"]])
      assert.strictEqual(defects.length, 1)
    })
  )

  it.effect("an interruption is not answered: it goes on to whoever interrupted", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(
        serve(
          newPassage(),
          wayOf([], [], () => Effect.interrupt)
        )
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    })
  )

  it.effect("no listener is 404", () =>
    Effect.gen(function* () {
      const served = yield* serve(newPassage(), new NotFound({ what: "listener" }))
      assert.deepStrictEqual([served.status, served.body], [404, "listener not found"])
    })
  )
})
