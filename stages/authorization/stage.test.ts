import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option } from "effect"
import type { Body, BodySink } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { RequestHead } from "../../src/http/message.ts"
import { Exchange } from "../../src/pipeline/exchange.ts"
import { bodyLimits } from "../../src/pipeline/slots.ts"
import { authorization } from "./stage.ts"

const exchange = (body?: Body) =>
  new Exchange(
    new RequestHead("POST", "http", "example.com", "/", new HeaderList()),
    body,
    { address: "192.0.2.1", port: 1, rawAddress: "192.0.2.1", rawPort: 1 },
    0,
    0
  )

/** A body of so many zeros that nobody has in memory. */
const zeros = (size: number): Body => {
  let sink: BodySink
  let sent = false
  return {
    start: (to) => {
      sink = to
      sent = true
      if (sink.data(new Uint8Array(size))) sink.end()
    },
    resume: () => (sent ? sink.end() : undefined),
    cancel: () => {}
  }
}

const judged = (rules: ReadonlyArray<{ effect: "allow" | "deny" | "require"; expression: string }>, x: Exchange) =>
  Effect.gen(function* () {
    const [node] = yield* authorization.compile({ rules }, { site: "route", path: [] })
    const exit = yield* Effect.exit(node!.run(x))
    return Exit.isSuccess(exit) ? "passes" : Option.getOrThrow(Cause.findErrorOption(exit.cause)).status
  })

describe("security invariant: a body that a rule must read but cannot makes the rule fail", () => {
  it.effect("a rule that denies is not passed by sending too much", () =>
    Effect.gen(function* () {
      const rules = [{ effect: "deny" as const, expression: 'string(request.body).contains("forbidden")' }]
      const limited = (size: number) => {
        const x = exchange(zeros(size))
        x.set(bodyLimits, { request: 100, response: undefined })
        return x
      }
      assert.strictEqual(yield* judged(rules, limited(100)), "passes")
      assert.strictEqual(yield* judged(rules, limited(101)), 413)
      assert.strictEqual(yield* judged(rules, exchange(zeros(2 * 1024 * 1024 + 1))), 413)
    })
  )

  it.effect("a rule over the beginning of a body is content with that", () =>
    Effect.gen(function* () {
      const rules = [{ effect: "deny" as const, expression: "size(request.bodyPrefix) < 10" }]
      const x = exchange(zeros(1000))
      x.set(bodyLimits, { request: 100, response: undefined })
      assert.strictEqual(yield* judged(rules, x), "passes")
    })
  )

  it.effect("rules over the head alone leave a body where it is", () =>
    Effect.gen(function* () {
      const body = zeros(10)
      const x = exchange(body)
      assert.strictEqual(yield* judged([{ effect: "allow", expression: 'request.method == "POST"' }], x), "passes")
      assert.strictEqual(x.requestBody, body)
    })
  )
})
