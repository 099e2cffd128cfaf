/** Guard webhooks that are named backends: each call is a request of its own, with the policies of the backend. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { origin } from "../origin.ts"
import { keySet, token } from "../tokens.ts"

const credentials = { authorization: "Bearer a-key-of-the-client", cookie: "session=1", "x-of-client": "1" }

const chat = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: { "content-type": "application/json", ...credentials },
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] })
}

const configuration = (port: number, target: string, more = "") => `
llm:
  port: 8080
  models: [{ name: "*", provider: mock }]
  guardrails: { request: [{ webhook: { target: ${target}${more} } }] }
  policies:
    apiKey: { keys: [{ key: a-key-of-the-client }] }
backends:
- name: guards
  host: "127.0.0.1:${port}"
  policies:
    requestHeaderModifier: { set: { x-backend: own }, remove: [x-removed] }
- name: closed
  host: "127.0.0.1:${port}"
  policies:
    authorization: { rules: ['apiKey.key != ""'] }
`

const passing = { headers: { "content-type": "application/json" }, body: '{"action":{"reason":"fine"}}' }

const asked = (target: string, more?: string) =>
  Effect.gen(function* () {
    const guard = yield* origin(passing)
    const text = configuration(guard.port, target.replace("$PORT", String(guard.port)), more)
    const gateway = yield* start(text, { ephemeral: true, host: "127.0.0.1" })
    const answer = yield* Effect.promise(() => send(gateway.port(8080)!, chat))
    return { answer, received: guard.received, port: guard.port }
  })

describe("a guard webhook that is a named backend", () => {
  it.live("is asked with the policies of that backend, and those beside its name", () =>
    Effect.gen(function* () {
      const own = yield* asked(
        "{ backend: /guards }",
        ", headers: { x-removed: '\"gone\"', x-backend: '\"replaced\"' }"
      )
      assert.strictEqual(own.answer.status, 200, own.answer.body)
      assert.strictEqual(own.received.length, 1)
      const { method, path, headers } = own.received[0]!
      assert.deepStrictEqual([method, path, headers.host], ["POST", "/request", `127.0.0.1:${own.port}`])
      assert.deepStrictEqual([headers["x-backend"], headers["x-removed"]], ["own", undefined])
      const beside = yield* asked(
        "{ backend: /guards, policies: { requestHeaderModifier: { set: { x-backend: beside, host: guard.example } } } }"
      )
      assert.strictEqual(beside.answer.status, 200)
      assert.strictEqual(beside.received[0]?.headers["x-backend"], "beside")
      assert.strictEqual(beside.received[0]?.headers.host, "guard.example")
    })
  )

  it.live("sees nothing of who the client is, unless the guard hands it over", () =>
    Effect.gen(function* () {
      for (const target of ["{ backend: /guards }", '{ host: "127.0.0.1:$PORT" }']) {
        const { answer, received } = yield* asked(target, ", headers: { x-user: 'request.headers[\"x-of-client\"]' }")
        assert.strictEqual(answer.status, 200, answer.body)
        assert.strictEqual(received.length, 1)
        const { headers } = received[0]!
        for (const name of Object.keys(credentials)) assert.isUndefined(headers[name], name)
        assert.strictEqual(headers["x-user"], "1")
        assert.notInclude(JSON.stringify(received), "a-key-of-the-client")
      }
    })
  )

  it.live("does not take over the identity of the client for rules of the backend", () =>
    Effect.gen(function* () {
      const closed = yield* asked("{ backend: /closed }")
      assert.deepStrictEqual([closed.answer.status, closed.received.length], [503, 0])
      const open = yield* asked("{ backend: /closed }", ", failureMode: failOpen")
      assert.deepStrictEqual([open.answer.status, open.received.length], [200, 0])
    })
  )

  it.live("gets the token of the client where its policy hands that over, and nothing else of who it is", () =>
    Effect.gen(function* () {
      const signed = token("ec-256", { iss: "https://issuer.example", exp: Date.now() / 1000 + 60 })
      const guard = yield* origin(passing)
      const gateway = yield* start(
        `
llm:
  port: 8080
  models: [{ name: "*", provider: mock }]
  guardrails:
    request:
    - webhook: { target: { backend: /guards } }
    - webhook: { target: { host: "127.0.0.1:${guard.port}" } }
  policies:
    jwtAuth: { issuer: "https://issuer.example", jwks: '${keySet("ec-256")}' }
backends:
- { name: guards, host: "127.0.0.1:${guard.port}", policies: { backendAuth: { passthrough: {} } } }`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      const headers = { ...chat.headers, authorization: `Bearer ${signed}` }
      const answer = yield* Effect.promise(() => send(gateway.port(8080)!, { ...chat, headers }))
      assert.strictEqual(answer.status, 200, answer.body)
      assert.deepStrictEqual(
        guard.received.map(({ headers }) => [headers.authorization, headers.cookie, headers["x-of-client"]]),
        [
          [`Bearer ${signed}`, undefined, undefined],
          [undefined, undefined, undefined]
        ]
      )
    })
  )

  it.live("is asked under a path in its normal form, or not at all", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [string, Array<string>]> = [
        ["/a/../b", ["/b"]],
        ["/a%2e/./b?c=../d", ["/a./b?c=../d"]],
        ["/a%00", []]
      ]
      for (const [path, expected] of cases) {
        const { received } = yield* asked("{ backend: /guards }", `, headers: { ":path": '"${path}"' }`)
        assert.deepStrictEqual(
          received.map((request) => request.path),
          expected,
          path
        )
      }
    })
  )
})
