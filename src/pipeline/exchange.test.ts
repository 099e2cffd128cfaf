import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { BodySink, BodySource } from "../http/body.ts"
import { HeaderList } from "../http/header-list.ts"
import { HeldBytes } from "../http/held-bytes.ts"
import { RequestHead } from "../http/message.ts"
import { stepOf } from "../main/testing/step.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import { plainLoop } from "./run.ts"
import { next } from "./stage.ts"

/** Two chunks of ten bytes, the second when it is asked for. */
const twoChunks = (): BodySource => {
  let sink: BodySink
  const second = () => {
    if (sink.data(new Uint8Array(10))) sink.end()
  }
  return {
    start: (into) => {
      sink = into
      if (sink.data(new Uint8Array(10))) second()
    },
    resume: second,
    cancel: () => {}
  }
}

const exchange = (heldBytes: HeldBytes) => {
  const x = new Exchange(
    new RequestHead("POST", "http", "example.com", "/", new HeaderList()),
    twoChunks(),
    { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 },
    0,
    0
  )
  x.settings = { ...x.settings, heldBytes }
  return x
}

const finish = (x: Exchange) =>
  x.finish({ status: 200, failure: undefined, bytes: 0 }, (cause) => assert.fail(String(cause)))

describe("bodies that are read", () => {
  it.effect("count against the budget of the process until their request is over", () =>
    Effect.gen(function* () {
      const budget = new HeldBytes(30)
      const [one, other] = [exchange(budget), exchange(budget)]
      assert.strictEqual((yield* one.readRequestBody()).length, 20)
      assert.strictEqual(budget.held, 20)
      assert.strictEqual((yield* one.readRequestBody()).length, 20)
      assert.strictEqual(budget.held, 20, "what is in memory is not held twice")
      const refused = yield* Effect.flip(other.readRequestBody())
      assert.deepInclude(refused, { _tag: "BuffersFull", status: 503, reason: "Overloaded", source: "proxy" })
      finish(other)
      assert.strictEqual(budget.held, 20)
      finish(one)
      assert.strictEqual(budget.held, 0)
    })
  )

  it.effect("are refused to whoever wants their beginning, too: it might decide by what it has not seen", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(exchange(new HeldBytes(15)).readRequestPrefix())
      assert.strictEqual(refused._tag, "BuffersFull")
    })
  )

  it.effect("for which there is no room are not forgiven by a policy that fails open", () =>
    Effect.gen(function* () {
      const reading = stepOf((x) => Effect.as(x.readRequestBody(), undefined), { failOpen: true })
      const loop = plainLoop(() => 0)
      const full = yield* Effect.flip(loop([reading], new Passage(exchange(new HeldBytes(15))), 0))
      assert.strictEqual(full._tag, "BuffersFull")
      const large = exchange(new HeldBytes())
      large.settings = { ...large.settings, bodyLimit: 15 }
      assert.strictEqual(yield* loop([reading], new Passage(large), 0), yield* next)
    })
  )
})
