import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import * as Buckets from "../../layers/rate-limits/memory.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { RequestHead } from "../../src/http/message.ts"
import { Exchange } from "../../src/pipeline/exchange.ts"
import { type TokenBudgets, type TokenShare, tokenBudgets } from "../../src/pipeline/slots.ts"
import { next, type StageError } from "../../src/pipeline/stage.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import { LocalRateLimit } from "./schema.ts"
import { localRateLimit } from "./stage.ts"

const exchange = (headers: Array<string> = []) =>
  new Exchange(
    new RequestHead("POST", "http", "example.com", "/", new HeaderList(headers)),
    undefined,
    { address: "192.0.2.1", port: 1, rawAddress: "192.0.2.1", rawPort: 1 },
    0,
    0
  )

/** The budgets of a configuration, as whoever calls a model finds them, and the clock of their buckets. */
const budgetsOf = (config: unknown) =>
  Effect.gen(function* () {
    const time = { now: 0 }
    const rules = yield* Schema.decodeUnknownEffect(LocalRateLimit)(config)
    const layer = Buckets.layer.pipe(Layer.provide(Layer.succeed(Monotonic, () => time.now)))
    const nodes = yield* Effect.provide(localRateLimit.compile(rules, { site: "route", path: ["routes", 0] }), layer)
    const enter = (headers: Array<string> = []) => {
      const x = exchange(headers)
      for (const node of nodes) assert.strictEqual(node.run(x), next)
      return { x, budgets: atOnce(x.get(tokenBudgets)!) }
    }
    return { time, enter }
  })

/** Those of this process answer at once. */
const atOnce = ({ reserve }: TokenBudgets) => ({
  reserve: (...asked: Parameters<TokenBudgets["reserve"]>): TokenShare | StageError => {
    const exit = reserve(...asked)
    assert.isTrue(Exit.isExit(exit))
    return Effect.runSync(
      Effect.match(exit, {
        onFailure: (refused): TokenShare | StageError => refused,
        onSuccess: (share): TokenShare | StageError => share
      })
    )
  }
})

const left = ({ x, budgets }: { readonly x: Exchange; readonly budgets: ReturnType<typeof atOnce> }, exact = false) => {
  const share = budgets.reserve(x, exact ? 1 : 0, exact)
  return "_tag" in share ? share.status : Number(x.answerHeaders.get("x-ratelimit-remaining"))
}
const granted = (share: TokenShare | StageError): TokenShare => {
  assert.notProperty(share, "_tag")
  return share as TokenShare
}

const tokens = (over: object = {}) => [
  { type: "tokens", maxTokens: 100, tokensPerFill: 100, fillInterval: "1h", ...over }
]

describe("budgets of tokens", () => {
  it.effect("the estimate is charged at admission, and the real count settles it", () =>
    Effect.gen(function* () {
      const { enter } = yield* budgetsOf(tokens())
      const first = enter()
      const share = granted(first.budgets.reserve(first.x, 30, false))
      assert.deepStrictEqual(first.x.answerHeaders.flat, [
        ...["x-ratelimit-limit", "100", "x-ratelimit-remaining", "70", "x-ratelimit-reset", "3600"]
      ])
      share.settle(20, 15)
      share.settle(999, 999)
      assert.strictEqual(left(enter()), 65)
    })
  )

  it.effect("input that nobody stated stays what was charged for it", () =>
    Effect.gen(function* () {
      const { enter } = yield* budgetsOf(tokens())
      const { x, budgets } = enter()
      granted(budgets.reserve(x, 30, false)).settle(undefined, 5)
      assert.strictEqual(left(enter()), 65)
    })
  )

  it.effect("a model that was not called gives everything back", () =>
    Effect.gen(function* () {
      const { enter } = yield* budgetsOf(tokens())
      const { x, budgets } = enter()
      granted(budgets.reserve(x, 30, false)).settle(0, 0)
      assert.strictEqual(left(enter()), 100)
    })
  )

  it.effect("the request that crosses the limit completes; the next one is refused until the window resets", () =>
    Effect.gen(function* () {
      const { enter, time } = yield* budgetsOf(tokens())
      const crossing = enter()
      granted(crossing.budgets.reserve(crossing.x, 500, false)).settle(400, 100)
      const refused = enter()
      const error = refused.budgets.reserve(refused.x, 1, false)
      assert.deepInclude(error, {
        _tag: "RateLimited",
        status: 429,
        message: "rate limit exceeded",
        reason: "RateLimit"
      })
      assert.deepStrictEqual((error as StageError).headers, [
        ...["x-ratelimit-limit", "100", "x-ratelimit-remaining", "0", "x-ratelimit-reset", "3600"]
      ])
      time.now = 3_600_000
      assert.strictEqual(left(enter()), 100)
    })
  )

  it.effect("an exact count must fit", () =>
    Effect.gen(function* () {
      const { enter } = yield* budgetsOf(tokens())
      const { x, budgets } = enter()
      assert.property(budgets.reserve(x, 101, true), "_tag")
      assert.property(budgets.reserve(x, 0, true), "_tag")
      granted(budgets.reserve(x, 100, true))
      assert.strictEqual(left(enter(), true), 429)
    })
  )

  it.effect("each value of the key has a budget of its own", () =>
    Effect.gen(function* () {
      const { enter } = yield* budgetsOf(tokens({ key: 'request.headers["x-user"]' }))
      const ada = enter(["x-user", "ada"])
      granted(ada.budgets.reserve(ada.x, 60, false))
      assert.strictEqual(left(enter(["x-user", "ada"])), 40)
      assert.strictEqual(left(enter(["x-user", "bob"])), 100)
    })
  )

  it.effect("when one budget refuses, the others get back what they gave", () =>
    Effect.gen(function* () {
      const { enter } = yield* budgetsOf([...tokens(), ...tokens({ maxTokens: 0, tokensPerFill: 0 })])
      const { x, budgets } = enter()
      assert.property(budgets.reserve(x, 60, false), "_tag")
      const { enter: alone } = yield* budgetsOf(tokens())
      assert.strictEqual(left(alone()), 100)
    })
  )

  it.effect("requests and tokens are limited independently; what refuses speaks for itself", () =>
    Effect.gen(function* () {
      const { enter } = yield* budgetsOf([
        { maxTokens: 5, tokensPerFill: 5, fillInterval: "1m" },
        ...tokens({ maxTokens: 10, tokensPerFill: 10 })
      ])
      const first = enter()
      granted(first.budgets.reserve(first.x, 10, false))
      // The limit on requests spoke first.
      assert.strictEqual(first.x.answerHeaders.get("x-ratelimit-limit"), "5")
      const second = enter()
      const refused = second.budgets.reserve(second.x, 1, false)
      assert.property(refused, "_tag")
      assert.isFalse(second.x.answerHeaders.has("x-ratelimit-limit"))
      assert.include((refused as StageError).headers ?? [], "10")
    })
  )
})

describe("counting requests", () => {
  it.effect("answers at once, and a refusal needs no fiber either", () =>
    Effect.gen(function* () {
      const rules = yield* Schema.decodeUnknownEffect(LocalRateLimit)([{ maxTokens: 1, fillInterval: "1s" }])
      const [node] = yield* Effect.provide(
        localRateLimit.compile(rules, { site: "route", path: [] }),
        Buckets.layer.pipe(Layer.provide(Layer.succeed(Monotonic, () => 0)))
      )
      assert.strictEqual(node!.run(exchange()), next)
      const refused = node!.run(exchange())
      assert.isTrue(Exit.isExit(refused) && Exit.isFailure(refused))
    })
  )
})
