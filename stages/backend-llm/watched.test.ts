/** What counts for the health of an endpoint, and what others took is none of it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Request } from "../../src/main/testing/arbitraries.ts"
import { whole } from "../../src/main/testing/whole.ts"
import type { BackendSaid } from "../../src/main/testing/world.ts"

const json = [["content-type", "application/json"]] as const
const said = (value: unknown, after: number): BackendSaid => ({
  status: 200,
  headers: json,
  body: { chunks: [JSON.stringify(value)], streamed: false },
  after
})
const passed = { action: { reason: "ok" } }
const completion = {
  id: "c",
  model: "m",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "hello" } }]
}

const chat: Request = {
  method: "POST",
  scheme: "http",
  authority: "gateway.example",
  path: "/v1/chat/completions",
  headers: json,
  body: { chunks: [JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] })], streamed: true },
  prefix: undefined
}

const guarded = "policies: { ai: { promptGuard: { request: [{ webhook: { target: { host: guard.example:80 } } }] } } }"
const configuration = `
gateways: { default: { port: 80 } }
routes:
  - backends:
      - ai:
          groups:
            - providers:
                - { name: one, provider: { openAI: { model: m } }, hostOverride: "one.example:80", ${guarded} }
                - { name: other, provider: { openAI: { model: m } }, hostOverride: "other.example:80" }
`

/** How many of 200 calls go to the provider behind a guard, when the guard and each of the providers take so many milliseconds. */
const shareOfOne = (times: Readonly<Record<string, number>>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { send, world } = yield* whole(configuration, {
        backend: ({ target }) => said(target.startsWith("guard") ? passed : completion, times[target] ?? 0)
      })
      for (let at = 0; at < 200; at++) assert.strictEqual((yield* send(chat)).status, 200)
      return world.received.filter(({ target }) => target === "one.example:80").length
    })
  )

describe("the health of a provider", () => {
  it.effect("knows how long it takes to answer", () =>
    Effect.gen(function* () {
      assert.isBelow(yield* shareOfOne({ "one.example:80": 60_000 }), 40)
      assert.isAbove(yield* shareOfOne({ "other.example:80": 60_000 }), 160)
    })
  )

  it.effect("knows nothing of the time that a guard takes before it", () =>
    Effect.gen(function* () {
      const share = yield* shareOfOne({ "guard.example:80": 900 })
      assert.isAbove(share, 60)
      assert.isBelow(share, 140)
    })
  )
})
