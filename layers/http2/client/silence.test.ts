/** Sessions whose peers fall silent, in a time that the test makes pass. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { HeldBytes } from "../../../src/http/held-bytes.ts"
import { FakeClock } from "../../../test/fake-clock.ts"
import { upstreamRequest } from "../../../test/http/edge.ts"
import { eventually } from "../../../test/http/raw-client.ts"
import { frame, frameBackend, frameTypes, literals } from "../../../test/http2/backend.ts"
import { dialTo } from "../../http/client/dial.ts"
import { settle } from "../../http/connection-settings.ts"
import { type Connections, call } from "../../http/upstream-call.ts"
import { Versions } from "../../http/versions.ts"

const connectionsTo = (port: number, clock: FakeClock): Connections => {
  const target = { kind: "tcp", host: "127.0.0.1", port, tls: false } as const
  const settings = settle(target, { version: "2" })
  const tell = (cause: unknown) => assert.fail(String(cause))
  const unasked = { ask: () => assert.fail("an address needs no name"), follow: () => () => {} }
  const pool = new Versions({
    dialler: dialTo(target, settings, clock.after, () => 0, unasked),
    settings,
    now: clock.now,
    later: clock.after,
    defect: tell,
    refused: () => {}
  })
  return {
    tell,
    pool,
    connectTimeout: 1000,
    scheme: "http",
    held: new HeldBytes(),
    form: undefined,
    idle: undefined,
    now: clock.now,
    later: clock.after
  }
}

describe("a session whose peer says nothing while a call waits", () => {
  for (const answers of [true, false])
    it.live(answers ? "goes on with a peer that answers a ping, and asks seldom" : "ends without an answer", () =>
      Effect.gen(function* () {
        const clock = new FakeClock()
        const pings: Array<number> = []
        let heard = 0
        let asked: (() => void) | undefined
        const backend = yield* frameBackend(({ type, flags, stream, payload }, socket) => {
          if (type === frameTypes.headers)
            asked = () => socket.write(frame(frameTypes.headers, 5, stream, literals([":status", "200"])))
          if (type !== frameTypes.ping) return
          if (flags === 1) heard++
          else pings.push(clock.now())
          // Whoever answers the second one has read the answer before it.
          if (answers && flags === 0)
            socket.write(Buffer.concat([frame(frameTypes.ping, 1, 0, payload), frame(frameTypes.ping, 0, 0, payload)]))
        })
        const connections = connectionsTo(backend.port, clock)
        const waiting = yield* Effect.forkChild(Effect.result(call(connections, upstreamRequest())), {
          startImmediately: true
        })
        yield* Effect.promise(() => eventually(() => asked !== undefined))
        clock.advance(19_999)
        clock.advance(1)
        yield* Effect.promise(() => eventually(() => pings.length === 1))
        if (answers) yield* Effect.promise(() => eventually(() => heard === 1))
        clock.advance(10_000)
        if (!answers) {
          const result = yield* Fiber.join(waiting)
          assert.strictEqual(
            result._tag === "Failure" ? result.failure.message : "",
            "upstream call failed: reset: the backend answers no ping"
          )
          return
        }
        clock.advance(250_000)
        assert.strictEqual(pings.length, 1)
        clock.advance(51_000)
        yield* Effect.promise(() => eventually(() => pings.length === 2 && heard === 2))
        asked!()
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "Success")
        connections.pool.close()
      })
    )
})

describe("an answer without a body whose end does not come", () => {
  it.live("keeps its place on the session for some seconds alone", () =>
    Effect.gen(function* () {
      const clock = new FakeClock()
      let resets = 0
      const backend = yield* frameBackend(
        ({ type, stream }, socket) => {
          if (type === frameTypes.headers)
            socket.write(frame(frameTypes.headers, 4, stream, literals([":status", "204"])))
          if (type === frameTypes.reset) resets++
        },
        frame(frameTypes.settings, 0, 0, Buffer.from([0, 3, 0, 0, 0, 1]))
      )
      const connections = connectionsTo(backend.port, clock)
      assert.strictEqual((yield* call(connections, upstreamRequest())).status, 204)
      clock.advance(9_999)
      assert.strictEqual(resets, 0)
      clock.advance(1)
      yield* Effect.promise(() => eventually(() => resets === 1))
      assert.strictEqual((yield* call(connections, upstreamRequest())).status, 204)
      assert.strictEqual(backend.sockets.length, 1)
      connections.pool.close()
    })
  )
})
