import { createServer, type Server } from "node:http"
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import type { Address } from "../../spec/target.ts"
import { isSource, read } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { type UpstreamRequest, Upstreams } from "../../src/services/upstreams.ts"
import { upstreams } from "../../test/http/edge.ts"
import { eventually } from "../../test/http/raw-client.ts"

/** A backend that answers `/slow` in two steps, and counts its connections. */
const backend = Effect.acquireRelease(
  Effect.promise(async () => {
    const sockets: Array<Socket> = []
    const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      if (request.url !== "/slow") {
        response.end("ok")
        return
      }
      response.write("first ")
      setTimeout(() => response.end("second"), 80)
    })
    server.on("connection", (socket) => sockets.push(socket))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return { server, sockets, target: targetOf(server) }
  }),
  ({ server }) =>
    Effect.promise(
      () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve())
          server.closeAllConnections()
        })
    )
)

const targetOf = (server: Server): Address => {
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { kind: "tcp", host: "127.0.0.1", port, tls: false }
}

const request = (pathAndQuery = "/"): UpstreamRequest => ({
  method: "GET",
  pathAndQuery,
  authority: "a",
  headers: new HeaderList(),
  body: undefined,
  timeout: undefined,
  upgrade: undefined,
  informer: undefined
})

const turn = Effect.sleep(10)

const closed = (sockets: ReadonlyArray<Socket>) =>
  Effect.promise(() => eventually(() => sockets.every(({ destroyed }) => destroyed)))

describe("pools", () => {
  it.live("are shared by those who mean the same backend in the same way", () =>
    Effect.gen(function* () {
      const { sockets, target } = yield* backend
      const { open } = yield* Upstreams
      for (const options of [{}, { connectTimeout: 10_000 }, { idleTimeout: 90_000 }]) {
        const upstream = yield* open(target, options)
        yield* upstream.send(request())
        yield* turn
      }
      assert.strictEqual(sockets.length, 1)
      const other = yield* open(target, { connectTimeout: 1 + 10_000 })
      yield* other.send(request())
      assert.strictEqual(sockets.length, 2)
    }).pipe(Effect.provide(upstreams()))
  )

  it.live("outlive a configuration when the next one uses them", () =>
    Effect.gen(function* () {
      const { sockets, target } = yield* backend
      const { open } = yield* Upstreams
      const [before, after] = [yield* Scope.make(), yield* Scope.make()]
      yield* (yield* Scope.provide(open(target, {}), before)).send(request())
      yield* turn
      const next = yield* Scope.provide(open(target, {}), after)
      yield* Scope.close(before, Exit.void)
      yield* next.send(request())
      assert.strictEqual(sockets.length, 1)
      yield* turn
      assert.isFalse(sockets[0]?.destroyed)
      yield* Scope.close(after, Exit.void)
      yield* closed(sockets)
    }).pipe(Effect.provide(upstreams()))
  )

  it.live("close when the last user is gone, after what is in flight; new calls are refused", () =>
    Effect.gen(function* () {
      const { sockets, target } = yield* backend
      const { open } = yield* Upstreams
      const scope = yield* Scope.make()
      const upstream = yield* Scope.provide(open(target, {}), scope)
      const answer = yield* upstream.send(request("/slow"))
      assert.isTrue(isSource(answer.body))
      yield* Scope.close(scope, Exit.void)
      const late = yield* Effect.flip(upstream.send(request()))
      assert.strictEqual(late.message, "upstream call failed: closed: the backend is no longer configured")
      const { bytes } = yield* read(answer.body, 100)
      assert.strictEqual(Buffer.from(bytes).toString(), "first second")
      yield* closed(sockets)
    }).pipe(Effect.provide(upstreams()))
  )

  it.live("open no more connections than they may", () =>
    Effect.gen(function* () {
      const { sockets, target } = yield* backend
      const { open } = yield* Upstreams
      const upstream = yield* open(target, { maxConnections: 2 })
      yield* Effect.all(
        Array.from({ length: 10 }, () => upstream.send(request())),
        { concurrency: 10 }
      )
      assert.strictEqual(sockets.length, 2)
    }).pipe(Effect.provide(upstreams()))
  )

  it.live("drop connections that have been idle", () =>
    Effect.gen(function* () {
      const { sockets, target } = yield* backend
      const { open } = yield* Upstreams
      const upstream = yield* open(target, { idleTimeout: 50 })
      yield* upstream.send(request())
      yield* closed(sockets)
      assert.strictEqual((yield* upstream.send(request())).status, 200)
    }).pipe(Effect.provide(upstreams()))
  )
})

describe("responses", () => {
  it.live("a small one is bytes, a longer one a source that waits to be read", () =>
    Effect.gen(function* () {
      const { target } = yield* backend
      const { open } = yield* Upstreams
      const upstream = yield* open(target, {})
      const small = yield* upstream.send(request())
      assert.isTrue(small.body instanceof Uint8Array)
      const slow = yield* upstream.send(request("/slow"))
      // Nobody reads while all of it arrives.
      yield* Effect.sleep(120)
      const { bytes, complete } = yield* read(slow.body, 100)
      assert.deepStrictEqual([Buffer.from(bytes).toString(), complete], ["first second", true])
    }).pipe(Effect.provide(upstreams()))
  )

  it.live("a body may be read within the callbacks of another call", () =>
    Effect.gen(function* () {
      const { target } = yield* backend
      const { open } = yield* Upstreams
      const upstream = yield* open(target, {})
      const first = yield* upstream.send(request("/slow"))
      const second = yield* upstream.send(request("/slow"))
      const bodies = yield* Effect.all([read(second.body, 100), read(first.body, 100)], { concurrency: 2 })
      for (const { bytes } of bodies) assert.strictEqual(Buffer.from(bytes).toString(), "first second")
    }).pipe(Effect.provide(upstreams()))
  )
})
