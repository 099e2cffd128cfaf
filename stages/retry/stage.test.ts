import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { plainRequest, whole } from "../../src/main/testing/whole.ts"
import { HeaderList } from "../../src/policy/policy.ts"

const configuration = `
gateways: { default: { port: 8080 } }
routes:
  - policies: { retry: { attempts: 3, codes: [503] } }
    backends: [{ host: "orders.example:80" }]
`
const busy = { status: 503, headers: [], body: undefined, after: 10 }

describe("retry", () => {
  it.live("tells the backend which try it is, from the second on", () =>
    Effect.gen(function* () {
      const { world, send } = yield* whole(configuration, { backend: busy })
      assert.strictEqual((yield* send(plainRequest)).status, 503)
      assert.deepStrictEqual(
        world.received.map(({ headers }) => new HeaderList([...headers]).get("x-retry-attempt")),
        [undefined, "1", "2", "3"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("lets no client say which try it is", () =>
    Effect.gen(function* () {
      const { world, send } = yield* whole(configuration, { backend: busy })
      yield* send({ ...plainRequest, headers: [["X-Retry-Attempt", "7"]] })
      assert.deepStrictEqual(
        world.received.map(({ headers }) => new HeaderList([...headers]).getAll("x-retry-attempt")),
        [[], ["1"], ["2"], ["3"]]
      )
    }).pipe(Effect.scoped)
  )

  it.live("of a backend that fails altogether makes less than a third more calls under load", () =>
    Effect.gen(function* () {
      const { world, send } = yield* whole(configuration, { backend: busy })
      const client = Effect.gen(function* () {
        for (let at = 0; at < 40; at++)
          assert.strictEqual(
            (yield* Effect.provideContext(send(plainRequest, { watched: false }), world.timing)).status,
            503
          )
      })
      const clients = yield* Effect.forEach(Array.from({ length: 32 }), () => Effect.forkChild(client))
      for (const each of clients) yield* Fiber.join(each)
      const asked = 32 * 40
      assert.isAbove(world.received.length, asked)
      assert.isAtMost(world.received.length, asked * 1.3)
      // What was held back is free again.
      const before = world.received.length
      yield* send(plainRequest)
      assert.strictEqual(world.received.length - before, 4)
      assert.deepStrictEqual(world.leaks(), [])
    }).pipe(Effect.scoped)
  )
})
