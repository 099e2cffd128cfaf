import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { plainRequest, whole } from "../../src/main/testing/whole.ts"

const configuration = (more = "", addresses: ReadonlyArray<string> = ["slow.example", "fast.example"]) => `
gateways: { default: { port: 8080 } }
services: [{ hostname: orders, endpoints: [${addresses.map((address) => `{ address: "${address}:80" }`).join(", ")}] }]
routes:
  - policies: { retry: { attempts: 0, codes: [], hedgeAfter: 100ms${more} } }
    backends: [{ service: { name: default/orders, port: 80 } }]
`

/** The first one that is asked takes ten seconds, and every other one no time. */
const opened = (text: string, statuses: ReadonlyArray<number> = [200, 200]) => {
  let asked = 0
  return whole(text, {
    backend: ({ target }) => ({
      status: statuses[asked] ?? 200,
      headers: [["x-target", target]],
      body: undefined,
      after: asked++ === 0 ? 10_000 : undefined
    })
  })
}

describe("hedging", () => {
  it.live("calls another endpoint when the first one takes too long, and believes who answers first", () =>
    Effect.gen(function* () {
      const { world, send } = yield* opened(configuration())
      const { status } = yield* send(plainRequest)
      assert.strictEqual(status, 200)
      assert.strictEqual(world.clock(), 100)
      assert.strictEqual(new Set(world.received.map(({ target }) => target)).size, 2)
      assert.deepStrictEqual(world.leaks(), [])
    }).pipe(Effect.scoped)
  )

  it.live.each([
    ["a method that may do harm twice", configuration(), { method: "POST" }],
    ["a body on its way", configuration(), { method: "PUT", body: { chunks: ["content"], streamed: true } }],
    ["a precondition that does not hold", configuration(', precondition: "false"'), {}],
    ["no other endpoint", configuration("", ["slow.example"]), {}]
  ] as const)("waits for the only answer: %s", ([, text, request]) =>
    Effect.gen(function* () {
      const { world, send } = yield* opened(text)
      yield* send({ ...plainRequest, ...request })
      assert.strictEqual(world.received.length, 1)
      assert.strictEqual(world.clock(), 10_000)
      assert.deepStrictEqual(world.leaks(), [])
    }).pipe(Effect.scoped)
  )

  it.live("does not hedge what was answered in time, whatever the answer", () =>
    Effect.gen(function* () {
      const { world, send } = yield* whole(configuration(), {
        backend: { status: 503, headers: [], body: undefined, after: 99 }
      })
      assert.strictEqual((yield* send(plainRequest)).status, 503)
      assert.strictEqual(world.received.length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("of the requests to a service that nobody answers, hedges a fifth", () =>
    Effect.gen(function* () {
      const { world, send } = yield* whole(configuration(), {
        backend: { status: 200, headers: [], body: undefined, after: 60_000 }
      })
      const sending = yield* Effect.forEach(Array.from({ length: 50 }), () =>
        Effect.forkChild(Effect.provideContext(send(plainRequest, { watched: false }), world.timing))
      )
      for (const each of sending) assert.strictEqual((yield* Fiber.join(each)).status, 200)
      assert.strictEqual(world.received.length, 60)
      assert.deepStrictEqual(world.leaks(), [])
    }).pipe(Effect.scoped)
  )

  it.live("ends with the time of the request", () =>
    Effect.gen(function* () {
      const text = configuration().replace("policies: {", "policies: { timeout: { requestTimeout: 1s },")
      const { world, send } = yield* whole(text, {
        backend: { status: 200, headers: [], body: undefined, after: 60_000 }
      })
      assert.strictEqual((yield* send(plainRequest)).status, 504)
      assert.strictEqual(world.clock(), 1000)
      assert.strictEqual(world.received.length, 2)
      assert.deepStrictEqual(world.leaks(), [])
    }).pipe(Effect.scoped)
  )
})
