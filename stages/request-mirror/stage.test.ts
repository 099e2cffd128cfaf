import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { plainRequest, whole } from "../../src/main/testing/whole.ts"
import { MirrorCounter } from "../../src/pipeline/mirrors.ts"
import { HeaderList } from "../../src/policy/policy.ts"

const configuration = `
gateways: { default: { port: 8080 } }
routes:
  - policies: { requestMirror: { backend: { host: "copies.example:80" }, percentage: 1 } }
    backends: [{ host: "orders.example:80" }]
`

const opened = (after: number) =>
  whole(configuration, {
    backend: ({ target }) => ({
      status: 200,
      headers: [],
      body: undefined,
      after: target === "copies.example:80" ? after : undefined
    })
  })

const chunk = "x".repeat(1024)

describe("requestMirror", () => {
  it.live.each([
    [64, true],
    [65, false]
  ] as const)("copies a body of %i KiB: %s", ([chunks, copied]) =>
    Effect.gen(function* () {
      const { world, send } = yield* opened(0)
      const { status } = yield* send({
        ...plainRequest,
        method: "PUT",
        headers: [["content-length", String(1024 * chunks)]],
        body: { chunks: Array.from({ length: chunks }, () => chunk), streamed: true }
      })
      assert.strictEqual(status, 200)
      const copy = world.received.find(({ target }) => target === "copies.example:80")!
      assert.strictEqual(copy.body.length, copied ? 1024 * chunks : 0)
      assert.strictEqual(new HeaderList([...copy.headers]).get("content-length"), undefined)
      const sent = world.received.find(({ target }) => target === "orders.example:80")!
      assert.strictEqual(sent.body.length, 1024 * chunks)
      assert.deepStrictEqual(world.leaks(), [])
    }).pipe(Effect.scoped)
  )

  it.live("keeps 64 copies under way for ten seconds, and drops and counts what comes beside them", () =>
    Effect.gen(function* () {
      const counted: Record<string, number> = {}
      const count = (result: string) => {
        counted[result] = (counted[result] ?? 0) + 1
      }
      const { world, send } = yield* Effect.provideService(opened(3_600_000), MirrorCounter, count)
      const sending = yield* Effect.forEach(Array.from({ length: 100 }), () =>
        Effect.forkChild(Effect.provideContext(send(plainRequest, { watched: false }), world.timing))
      )
      for (const each of sending) assert.strictEqual((yield* Fiber.join(each)).status, 200)
      const copies = () => world.received.filter(({ target }) => target === "copies.example:80").length
      assert.strictEqual(copies(), 64)
      // They are given up on when their time is up, and others may be sent.
      yield* Effect.provideContext(Effect.sleep(10_001), world.timing)
      yield* Effect.provideContext(send(plainRequest, { watched: false }), world.timing)
      assert.strictEqual(copies(), 65)
      assert.deepStrictEqual(counted, { dropped: 36, failed: 64 })
    }).pipe(Effect.scoped)
  )
})
