/** A connection that somebody decides about: until that is done nothing is read of it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit } from "effect"
import type { Peer } from "../../src/pipeline/view.ts"
import { edge, text } from "./edge.ts"
import { eventually, RawClient } from "./raw-client.ts"

const ask = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"

/** A listener that asks `admit`, and how many requests came through. */
const asking = (admit: (peer: Peer) => Effect.Effect<boolean> | undefined) =>
  Effect.gen(function* () {
    const requests: Array<string> = []
    const { port, bound, defects } = yield* edge(
      (x) => {
        requests.push(x.request.path)
        return Effect.succeed(text(200, "served"))
      },
      { admit }
    )
    return { port, bound, defects, requests }
  })

describe("a connection that is decided about", () => {
  it.live("at once is served, or closed without a byte", () =>
    Effect.gen(function* () {
      const peers: Array<string> = []
      const { port, requests, defects } = yield* asking(({ address }) => {
        peers.push(address)
        return Exit.succeed(address === "127.0.0.1")
      })
      assert.match(yield* Effect.promise(() => new RawClient(port).send(ask).toEnd()), /200 OK[\s\S]*served$/)
      const other = new RawClient(port, "127.0.0.1", "127.0.0.2").send(ask)
      yield* Effect.promise(() => other.until(({ closed, ended }) => closed || ended))
      assert.strictEqual(other.text, "")
      other.socket.destroy()
      assert.deepStrictEqual([peers, requests, defects], [["127.0.0.1", "127.0.0.2"], ["/"], []])
    })
  )

  it.live("by something that throws is closed without a byte", () =>
    Effect.gen(function* () {
      const fault = new Error("the decision failed")
      const { port, bound, requests, defects } = yield* asking(() => {
        throw fault
      })
      assert.strictEqual(yield* Effect.promise(() => new RawClient(port).send(ask).toEnd()), "")
      yield* Effect.promise(() => eventually(() => bound.connections() === 0))
      assert.deepStrictEqual([requests, defects], [[], [fault]])
    })
  )

  it.live("is asked about once, however many requests come over it", () =>
    Effect.gen(function* () {
      let asked = 0
      const { port, requests } = yield* asking(() => {
        asked++
        return Exit.succeed(true)
      })
      const client = new RawClient(port).send("GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.responses(2))
      client.socket.destroy()
      assert.deepStrictEqual([asked, requests], [1, ["/1", "/2"]])
    })
  )

  it.live.each([true, false])("later (%s) waits, and nothing is read of it", (stays) =>
    Effect.gen(function* () {
      const decided = yield* Deferred.make<boolean>()
      let asked = 0
      const { port, bound, requests } = yield* asking(() => {
        asked++
        return Deferred.await(decided)
      })
      const client = new RawClient(port).send(ask)
      yield* Effect.promise(() => eventually(() => asked === 1 && bound.connections() === 1))
      // Another one is decided about and served meanwhile: whatever the first one sent would have been read by then.
      const second = new RawClient(port).send(ask)
      yield* Effect.promise(() => eventually(() => asked === 2))
      assert.deepStrictEqual([requests, client.text], [[], ""])
      yield* Deferred.succeed(decided, stays)
      const said = yield* Effect.promise(() => client.toEnd())
      if (stays) assert.match(said, /200 OK[\s\S]*served$/)
      else assert.strictEqual(said, "")
      yield* Effect.promise(() => second.toEnd())
      assert.strictEqual(requests.length, stays ? 2 : 0)
    })
  )

  it.live("that is cut first ends the work of deciding", () =>
    Effect.gen(function* () {
      let begun = false
      let ended = false
      const { port, bound } = yield* asking(() =>
        Effect.onInterrupt(
          Effect.suspend(() => {
            begun = true
            return Effect.never
          }),
          () =>
            Effect.sync(() => {
              ended = true
            })
        )
      )
      const client = new RawClient(port).send(ask)
      yield* Effect.promise(() => eventually(() => begun))
      bound.cut()
      yield* Effect.promise(() => eventually(() => ended && bound.connections() === 0))
      assert.strictEqual(yield* Effect.promise(() => client.toEnd()), "")
    })
  )

  it.live("by work that fails in a way that nobody thought of is closed", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* asking(() => Effect.delay(Effect.die("a bug"), 1))
      assert.strictEqual(yield* Effect.promise(() => new RawClient(port).send(ask).toEnd()), "")
      assert.deepStrictEqual(requests, [])
    })
  )
})
