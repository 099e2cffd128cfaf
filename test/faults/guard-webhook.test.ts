import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { origin } from "../origin.ts"

const configuration = (port: number, phase: "request" | "response", settings: string) => `
llm:
  port: 8080
  models: [{ name: "*", provider: mock }]
  guardrails:
    ${phase}:
      - webhook:
          target: { host: "127.0.0.1:${port}", policies: { http: { requestTimeout: 500ms } } }
          ${settings}
`

const chat = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] })
}

const answerOf = (phase: "request" | "response", settings: string) =>
  Effect.gen(function* () {
    const webhook = yield* origin({ silent: true })
    const gateway = yield* start(configuration(webhook.port, phase, settings), { ephemeral: true, host: "127.0.0.1" })
    const began = performance.now()
    const answer = yield* Effect.promise(() => send(gateway.port(8080)!, chat))
    assert.isBelow(performance.now() - began, 5000)
    assert.deepStrictEqual(
      webhook.received.map(({ path }) => path),
      [`/${phase}`]
    )
    return answer
  })

describe("a guard webhook that does not answer in time", () => {
  for (const phase of ["request", "response"] as const) {
    it.live(`fails the ${phase} closed unless told otherwise`, () =>
      Effect.gen(function* () {
        for (const settings of ["", "failureMode: failClosed", "failureMode: failClosed\n          action: audit"]) {
          const { status, body } = yield* answerOf(phase, settings)
          assert.isAtLeast(status, 400, settings)
          assert.notInclude(body, "chat.completion", settings)
        }
      })
    )

    it.live(`lets the ${phase} pass when it fails open`, () =>
      Effect.gen(function* () {
        for (const settings of ["failureMode: failOpen", "failureMode: failOpen\n          action: audit"]) {
          const { status, body } = yield* answerOf(phase, settings)
          assert.strictEqual(status, 200, settings)
          assert.strictEqual(JSON.parse(body).object, "chat.completion", settings)
        }
      })
    )
  }
})
