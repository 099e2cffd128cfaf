import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import type { Body, BodySink, BodySource } from "../http/body.ts"
import { HeaderList } from "../http/header-list.ts"
import { type Answer, RequestHead } from "../http/message.ts"
import { stepOf } from "../main/testing/step.ts"
import { UpstreamFailed } from "../services/upstreams.ts"
import { Exchange } from "./exchange.ts"
import type { Passage } from "./passage.ts"
import type { Backend } from "./route.ts"
import { plainLoop } from "./run.ts"
import { makeReach, noHooks } from "./serve.ts"
import * as vocabulary from "./slots.ts"
import { type AnySlot, next, type StageError } from "./stage.ts"
import { callerOf } from "./sub-call.ts"
import type { Caller } from "./sub-calls.ts"
import type { Outcome } from "./view.ts"

const isSlot = (value: unknown): value is AnySlot => typeof value === "object" && value !== null && "index" in value
const slots: ReadonlyArray<AnySlot> = Object.values<unknown>(vocabulary).filter(isSlot)

/** A request of a client that has left something in every slot, and said all that a client can say. */
const client = () => {
  const head = new RequestHead("GET", "https", "client.example", "/of-client", new HeaderList(["x-of-client", "1"]))
  const peer = { address: "192.0.2.7", port: 7, rawAddress: "192.0.2.7", rawPort: 7 }
  const x = new Exchange(head, "of the client", peer, 1_000_000, 500)
  for (const slot of slots) x.set(slot, `of the client in ${slot.name}`)
  x.answerHeaders.set("x-queued", "1")
  x.fact("of", "client")
  x.upgrade = "websocket"
  x.informer = { inform: () => {} }
  x.told = () => {}
  return x
}

/** A body that is on its way until somebody ends it. */
class Flowing implements BodySource {
  sink: BodySink | undefined
  cancelled = 0
  start(sink: BodySink): void {
    this.sink = sink
  }
  resume(): void {}
  cancel(): void {
    this.cancelled++
  }
}

const outcomes = ["whole", "streamed", "cancelled", "broken", "failed", "bug", "refused", "interrupted"] as const
type How = (typeof outcomes)[number]

/** What a call saw and how it was told to be over. */
const played = (how: How, asks: boolean, handsOver: boolean) =>
  Effect.gen(function* () {
    let seen: Exchange | undefined
    let passage: Passage | undefined
    const told: Array<Outcome> = []
    const body = new Flowing()
    const failure = new UpstreamFailed({ kind: "reset", detail: "it", reached: "sent" })
    const refusal: StageError = { _tag: "Refused", status: 403, message: "no", source: "client" }
    const called: Effect.Effect<Answer, StageError> =
      how === "failed"
        ? Exit.fail(failure)
        : how === "bug"
          ? Exit.die("bug")
          : how === "interrupted"
            ? Effect.never
            : Exit.succeed({
                status: 200,
                headers: new HeaderList(),
                body: (how === "whole" || how === "refused" ? "four" : body) satisfies Body
              })
    const watching = stepOf(
      (x) => {
        ;(x as Exchange).onFinish((outcome) => told.push(outcome))
        return how === "refused" ? Exit.fail(refusal) : next
      },
      {
        site: "backend",
        phase: "backend",
        ...(handsOver ? { reads: [vocabulary.jwt], writes: [vocabulary.shownCredentials] } : {})
      }
    )
    const backend: Backend = {
      name: "b",
      type: "static",
      protocol: "http",
      target: "b:1",
      steps: [watching],
      backendResponse: [],
      response: [],
      effective: () => ({}),
      call: (x, p) => {
        seen = x
        passage = p
        return called
      }
    }
    const clock = () => 700
    const ways = {
      reach: makeReach(plainLoop(clock), noHooks, clock, () => {}),
      clock,
      tell: (cause: unknown) => assert.fail(String(cause))
    }
    const caller: Caller = callerOf(
      { ...ways, times: () => ({ record: () => {} }) },
      backend,
      { kind: "tcp", host: "b.example", port: 80, tls: false },
      "http"
    )
    const x = client()
    const request = {
      method: "POST",
      pathAndQuery: "/asked",
      authority: undefined,
      headers: new HeaderList(["x-asked", "1"]),
      body: "asked"
    }
    const made: Effect.Effect<unknown, StageError> = asks
      ? caller.ask(x, request, 5000)
      : caller.send(x, request, undefined)
    const fiber = yield* Effect.forkChild(made, { startImmediately: true })
    // A reader that comes, or goes.
    const read = () => {
      if (how === "streamed") {
        body.sink?.data(Buffer.from("four"))
        body.sink?.end()
      } else if (how === "broken") body.sink?.fail({ message: "broken" } as never)
    }
    if (asks && how === "cancelled") yield* Fiber.interrupt(fiber)
    if (how === "interrupted") yield* Fiber.interrupt(fiber)
    if (asks) read()
    const exit = yield* Fiber.await(fiber)
    if (!asks && Exit.isSuccess(exit)) {
      const { body: answered } = exit.value as Answer
      if (typeof answered === "object" && "start" in answered) {
        answered.start({ data: () => true, end: () => {}, fail: () => {} })
        if (how === "cancelled") answered.cancel()
        else read()
      }
    }
    return { exit, seen, passage, told, body, x }
  })

describe("a call of the proxy", () => {
  const all = outcomes.flatMap((how) => [
    { how, asks: true },
    { how, asks: false }
  ])

  it.effect.each(
    all.flatMap((one) => [
      { ...one, handsOver: true },
      { ...one, handsOver: false }
    ])
  )(
    "is a request of its own: it has nothing of the one that it is made for, which keeps all it had ($how, asks: $asks, hands over: $handsOver)",
    ({ how, asks, handsOver }) =>
      Effect.gen(function* () {
        const { seen, passage, x } = yield* played(how, asks, handsOver)
        assert.deepStrictEqual(
          slots.map((slot) => x.get(slot)),
          slots.map((slot) => `of the client in ${slot.name}`)
        )
        assert.deepStrictEqual(x.request.headers.flat, ["x-of-client", "1"])
        if (how === "refused") return assert.isUndefined(seen)
        const own: ReadonlySet<AnySlot> = new Set([vocabulary.authorityRewritten, vocabulary.timeouts])
        for (const slot of slots) {
          if (own.has(slot)) continue
          const handed = slot === vocabulary.jwt && handsOver && asks
          assert.strictEqual(seen!.get(slot), handed ? `of the client in ${slot.name}` : undefined, slot.name)
        }
        assert.notInclude(
          JSON.stringify([seen!.get(vocabulary.timeouts), seen!.get(vocabulary.authorityRewritten)]),
          "client"
        )
        const { method, authority, pathAndQuery, headers } = seen!.request
        assert.deepStrictEqual([method, authority, pathAndQuery], ["POST", "b.example", "/asked"])
        assert.deepStrictEqual(headers.flat, ["x-asked", "1"])
        assert.deepStrictEqual([seen!.peer.address, seen!.now], ["0.0.0.0", 1_000_200])
        assert.deepStrictEqual(
          [seen!.upgrade, seen!.informer, seen!.facts, seen!.told, seen!.answerHeaders.flat.length],
          [undefined, undefined, undefined, undefined, 0]
        )
        assert.deepStrictEqual([passage!.listener, passage!.route], [undefined, undefined])
      })
  )

  it.effect.each(all)(
    "is told to be over once, however it ends, and holds nothing then ($how, asks: $asks)",
    ({ how, asks }) =>
      Effect.gen(function* () {
        const { exit, told, body } = yield* played(how, asks, false)
        assert.strictEqual(told.length, 1, `${how} ${asks}`)
        const whole = how === "whole" || how === "streamed"
        assert.deepStrictEqual([told[0]!.failure === undefined, told[0]!.bytes], [whole, whole ? 4 : 0])
        if (how === "cancelled") assert.isAtLeast(body.cancelled, 1)
        if (how === "bug") assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        if (how === "failed" || how === "refused") assert.isTrue(Exit.isFailure(exit) && !Cause.hasDies(exit.cause))
      })
  )
})
