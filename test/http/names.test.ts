/** Backends that are known by name: which of their addresses is called, and when connections to others are given up. */
import { pbkdf2 } from "node:crypto"
import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Address } from "../../spec/target.ts"
import { portOf, upstreamRequest, upstreamTo } from "./edge.ts"
import { nameServer, type Reply } from "./name-server.ts"
import { eventually } from "./raw-client.ts"

/** A backend at one port of several addresses of this machine, that says at which of them it was asked. */
const backendAt = (...addresses: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const open = new Map<string, number>()
    let port = 0
    for (const address of addresses) {
      const server = createServer({ keepAliveTimeout: 60_000 }, (_, response) => response.end(address))
      server.on("connection", (socket) => {
        open.set(address, (open.get(address) ?? 0) + 1)
        socket.on("close", () => open.set(address, open.get(address)! - 1))
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((resolve) => server.listen(port, address, resolve))),
        () => Effect.sync(() => server.close().closeAllConnections())
      )
      port = portOf(server.address())
    }
    return { target: { kind: "tcp", host: "backend.example", port, tls: false } satisfies Address, open }
  })

const ask = (upstream: Effect.Success<ReturnType<typeof upstreamTo>>) =>
  Effect.map(upstream.send(upstreamRequest()), ({ body }) => Buffer.from(body as Uint8Array).toString())

/** An address of this machine at which nobody listens. */
const nowhere = "127.1.2.3"

describe("a backend that is known by name", () => {
  it.live("is called at the address of its name, which is looked up once", () =>
    Effect.gen(function* () {
      const { target } = yield* backendAt("127.0.0.2")
      const { servers, asked } = yield* nameServer(() => ({ addresses: ["127.0.0.2"] }))
      const upstream = yield* upstreamTo(target, {}, { servers })
      for (let i = 0; i < 3; i++) assert.strictEqual(yield* ask(upstream), "127.0.0.2")
      yield* Effect.all([ask(upstream), ask(upstream), ask(upstream)], { concurrency: 3 })
      assert.deepStrictEqual(asked.toSorted(), ["backend.example v4", "backend.example v6"])
    })
  )

  it.live(
    "refuses, and is not said to be slow, when nobody says whether it has other addresses than those that refuse",
    () =>
      Effect.gen(function* () {
        const { target } = yield* backendAt("127.0.0.2")
        const { servers } = yield* nameServer((_, family) => (family === "v6" ? "silence" : { addresses: [nowhere] }))
        const upstream = yield* upstreamTo(target, { connectTimeout: 300 }, { servers })
        const { message } = yield* Effect.flip(upstream.send(upstreamRequest()))
        assert.strictEqual(message, "upstream call failed: connection refused: ECONNREFUSED")
      })
  )

  it.live("is called at the next address when nobody listens at the first", () =>
    Effect.gen(function* () {
      const { target } = yield* backendAt("127.0.0.2")
      const { servers } = yield* nameServer(() => ({ addresses: [nowhere, "::1", "127.0.0.2"] }))
      for (const addresses of ["all", "v4 first", "v4"] as const) {
        const upstream = yield* upstreamTo(target, { addresses }, { servers })
        assert.strictEqual(yield* ask(upstream), "127.0.0.2")
      }
      const upstream = yield* upstreamTo(target, { addresses: "v6" }, { servers })
      const { message } = yield* Effect.flip(ask(upstream))
      assert.match(message, /^upstream call failed: (connection refused|unreachable|no local address)/)
    })
  )

  it.live("does not wait for a family of which nobody says anything", () =>
    Effect.gen(function* () {
      const { target } = yield* backendAt("127.0.0.2")
      const { servers } = yield* nameServer((_, family) => (family === "v6" ? "silence" : { addresses: ["127.0.0.2"] }))
      const upstream = yield* upstreamTo(target, { addresses: "all", connectTimeout: 900 }, { servers })
      assert.strictEqual(yield* ask(upstream), "127.0.0.2")
    })
  )

  it.live("fails in time when its name server is silent, and at once when it knows of no such name", () =>
    Effect.gen(function* () {
      const { target } = yield* backendAt("127.0.0.2")
      let reply: Reply = "silence"
      const { servers } = yield* nameServer(() => reply)
      const upstream = yield* upstreamTo(target, { connectTimeout: 100 }, { servers })
      const late = yield* Effect.flip(upstream.send(upstreamRequest()))
      assert.deepStrictEqual([late._tag, late.status], ["UpstreamTimedOut", 504])
      reply = "absent"
      const other = yield* upstreamTo({ ...target, host: "other.example" }, { connectTimeout: 5000 }, { servers })
      const absent = yield* Effect.flip(other.send(upstreamRequest()))
      assert.deepStrictEqual([absent.status, absent.message], [503, "backends required DNS resolution which failed"])
    })
  )

  it.live("is called where it has moved to; connections to where it was are closed", () =>
    Effect.gen(function* () {
      const { target, open } = yield* backendAt("127.0.0.2", "127.0.0.3")
      let addresses = ["127.0.0.2"]
      const { servers } = yield* nameServer(() => ({ addresses, ttl: 0 }))
      const upstream = yield* upstreamTo(target, {}, { servers })
      assert.strictEqual(yield* ask(upstream), "127.0.0.2")
      addresses = ["127.0.0.3"]
      // Nobody calls it meanwhile: the connection is followed in the background.
      yield* Effect.promise(() => eventually(() => open.get("127.0.0.2") === 0))
      assert.strictEqual(yield* ask(upstream), "127.0.0.3")
      assert.deepStrictEqual(
        [...open],
        [
          ["127.0.0.2", 0],
          ["127.0.0.3", 1]
        ]
      )
    })
  )

  it.live(
    "is found and called while all threads of node are busy for three seconds",
    () =>
      Effect.gen(function* () {
        const { target } = yield* backendAt("127.0.0.2")
        const { servers } = yield* nameServer(() => ({ addresses: ["127.0.0.2"] }))
        const upstream = yield* upstreamTo(target, {}, { servers })
        let busy = 0
        // As many rounds as take three seconds here.
        const began = performance.now()
        yield* digest(200_000)
        const rounds = Math.ceil((200_000 * 3000) / (performance.now() - began))
        for (let thread = 0; thread < 4; thread++) {
          busy++
          Effect.runFork(Effect.map(digest(rounds), () => busy--))
        }
        assert.strictEqual(yield* ask(upstream), "127.0.0.2")
        assert.strictEqual(busy, 4)
        yield* Effect.promise(() => eventually(() => busy === 0, 60_000))
      }),
    90_000
  )
})

/** Keeps one thread busy. */
const digest = (rounds: number) =>
  Effect.callback<void>((resume) => {
    pbkdf2("a", "b", rounds, 64, "sha512", () => resume(Effect.void))
  })
