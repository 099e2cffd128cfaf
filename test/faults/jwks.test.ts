import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type Headgate, start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { httpBackend, portOf } from "../http/edge.ts"
import { nowhere, origin } from "../origin.ts"
import { until } from "../program.ts"
import { type KeyName, keySet, token } from "../tokens.ts"

const configuration = (port: number) => `
gateways: { default: { port: 8080 } }
routes:
  - name: all
    policies:
      jwtAuth:
        mode: strict
        issuer: https://issuer.example
        audiences: [tools]
        jwks: { url: "http://127.0.0.1:${port}/certs" }
      directResponse: { status: 200, body: welcome }
`

const claims = { iss: "https://issuer.example", aud: "tools", sub: "ada", exp: 4_000_000_000 }
const options = { ephemeral: true, host: "127.0.0.1" }

const ask = (gateway: Headgate, key: KeyName, header: Readonly<Record<string, unknown>> = {}) =>
  send(gateway.port(8080)!, { headers: { authorization: `Bearer ${token(key, claims, header)}` } })

const status = (gateway: Headgate, key: KeyName) => ask(gateway, key).then((answer) => answer.status)

// The clock of the test is that of the refresh: an interval passes when the test says so.
describe("an issuer whose key set", () => {
  it.effect("is down at the start does not keep the proxy from starting: 503 until it answers, and then 200", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const gateway = yield* start(configuration(port), options)
      const before = yield* Effect.promise(() => ask(gateway, "rsa-1"))
      assert.strictEqual(before.status, 503)
      assert.match(before.body, /keys of the issuer are not available/)
      // Without a token nobody waits for keys.
      assert.strictEqual((yield* Effect.promise(() => send(gateway.port(8080)!))).status, 401)

      const server = createServer((_, response) => response.end(keySet("rsa-1")))
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))),
        () => Effect.sync(() => server.close().closeAllConnections())
      )
      yield* TestClock.adjust("15 seconds")
      yield* Effect.promise(() => until("the keys arrive", async () => (await status(gateway, "rsa-1")) === 200))
    })
  )

  it.effect("is slow lets those wait who need it, and nobody else", () =>
    Effect.gen(function* () {
      const replies: Array<() => void> = []
      const server = yield* httpBackend((_, response) => replies.push(() => response.end(keySet("rsa-1"))))
      const gateway = yield* start(configuration(portOf(server.address())), options)
      yield* Effect.promise(async () => {
        await until("the set is asked for", () => replies.length === 1)
        const waiting = ask(gateway, "rsa-1")
        assert.strictEqual((await send(gateway.port(8080)!)).status, 401)
        assert.strictEqual(await Promise.race([waiting, sleep(100, "waits")]), "waits")
        replies[0]!()
        assert.strictEqual((await waiting).status, 200)
        assert.strictEqual(replies.length, 1)
      })
    })
  )

  it.effect("never answers costs whoever needs it two seconds, and then a 503", () =>
    Effect.gen(function* () {
      let asked = 0
      const server = yield* httpBackend(() => {
        asked++
      })
      const gateway = yield* start(configuration(portOf(server.address())), options)
      yield* Effect.promise(() => until("the set is asked for", () => asked === 1))
      let answered: number | undefined
      const answer = ask(gateway, "rsa-1").then(({ status }) => {
        answered = status
      })
      yield* Effect.promise(() => sleep(100))
      yield* TestClock.adjust("1900 millis")
      assert.isUndefined(answered)
      yield* TestClock.adjust("100 millis")
      yield* Effect.promise(() => answer)
      assert.strictEqual(answered, 503)
    })
  )

  it.effect("rotates is believed with its new key, and no longer with the old one", () =>
    Effect.gen(function* () {
      let keys: ReadonlyArray<KeyName> = ["rsa-1"]
      const issuer = yield* origin(() => ({ body: keySet(...keys) }))
      const gateway = yield* start(configuration(issuer.port), options)
      yield* Effect.promise(() => until("the keys arrive", async () => (await status(gateway, "rsa-1")) === 200))
      assert.strictEqual(yield* Effect.promise(() => status(gateway, "rsa-2")), 401)

      keys = ["rsa-2"]
      yield* TestClock.adjust("31 seconds")
      // The unknown key is what makes the proxy look.
      assert.strictEqual(yield* Effect.promise(() => status(gateway, "rsa-2")), 200)
      assert.strictEqual(yield* Effect.promise(() => status(gateway, "rsa-1")), 401)
    })
  )

  it.effect("is asked for once per interval, however many tokens name keys that do not exist", () =>
    Effect.gen(function* () {
      const issuer = yield* origin({ body: keySet("rsa-1") })
      const gateway = yield* start(configuration(issuer.port), options)
      yield* Effect.promise(() => until("the keys arrive", async () => (await status(gateway, "rsa-1")) === 200))
      const fetches = () => issuer.received.length
      assert.strictEqual(fetches(), 1)
      const flood = Effect.promise(() =>
        Promise.all(Array.from({ length: 50 }, (_, i) => ask(gateway, "ed-1", { kid: `forged-${i}` })))
      )
      for (let round = 1; round <= 3; round++) {
        yield* TestClock.adjust("31 seconds")
        const answers = yield* flood
        assert.isTrue(answers.every((answer) => answer.status === 401))
        assert.strictEqual(fetches(), 1 + round)
      }
      assert.strictEqual(yield* Effect.promise(() => status(gateway, "rsa-1")), 200)
    })
  )

  it.effect("vanishes is believed with the keys that were known", () =>
    Effect.gen(function* () {
      let down = false
      const issuer = yield* origin(() => (down ? { status: 500, body: "sorry" } : { body: keySet("rsa-1") }))
      const gateway = yield* start(configuration(issuer.port), options)
      yield* Effect.promise(() => until("the keys arrive", async () => (await status(gateway, "rsa-1")) === 200))
      down = true
      yield* TestClock.adjust("1 hour")
      yield* Effect.promise(() => until("the set is asked for again", () => issuer.received.length > 1))
      assert.strictEqual(yield* Effect.promise(() => status(gateway, "rsa-1")), 200)
    })
  )
})
