import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import { edge, httpBackend, portOf, proxyTo, tcpBackend, text } from "./edge.ts"
import { eventually, parseResponses, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"

const refuses = (port: number) =>
  Effect.promise(async () => {
    const client = new RawClient(port).send(get)
    await client.until(({ closed, ended }) => closed || ended)
    client.socket.destroy()
    return client.text === ""
  })

/** A listener whose answer leaves when the test says so, and a client that waits for it. */
const waiting = (body: string, options: Parameters<typeof edge>[1] = {}) =>
  Effect.gen(function* () {
    const gate = Deferred.makeUnsafe<Answer>()
    let begun = false
    const opened = yield* edge(() => {
      begun = true
      return Deferred.await(gate)
    }, options)
    const client = new RawClient(opened.port).send(get)
    yield* Effect.promise(() => eventually(() => begun))
    return { ...opened, client, answer: Deferred.succeed(gate, text(200, body)) }
  })

describe("graceful shutdown", () => {
  it.live("what is under way is answered, says that it is the last, and new connections are refused", () =>
    Effect.gen(function* () {
      const { port, bound, outcomes, client, answer } = yield* waiting("done")
      const drain = yield* Effect.forkChild(bound.drain({ minimum: 0, deadline: 60_000 }), { startImmediately: true })
      assert.isTrue(yield* refuses(port))
      yield* answer
      yield* Effect.promise(() => client.toEnd())
      const [response] = parseResponses(client.received)
      assert.strictEqual(response?.body.toString(), "done")
      assert.match(response?.head ?? "", /\r\nconnection: close/)
      yield* Fiber.join(drain)
      assert.strictEqual(bound.connections(), 0)
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: undefined }])
    })
  )

  it.live("idle connections are closed at once, and nobody waits for the deadline", () =>
    Effect.gen(function* () {
      const { port, bound } = yield* edge(() => Effect.succeed(text(200, "")))
      const used = new RawClient(port).send(get)
      const fresh = new RawClient(port)
      yield* Effect.promise(() => used.responses(1))
      yield* Effect.promise(() => eventually(() => bound.connections() === 2))
      const start = performance.now()
      yield* bound.drain({ minimum: 0, deadline: 60_000 })
      assert.isBelow(performance.now() - start, 12_000)
      yield* Effect.promise(() => used.until(({ closed, ended }) => closed || ended))
      yield* Effect.promise(() => fresh.until(({ closed, ended }) => closed || ended))
      used.socket.destroy()
      fresh.socket.destroy()
    })
  )

  it.live("what is still under way at the deadline is cut, and never looks whole", () =>
    Effect.gen(function* () {
      const body = new Tap().push("first")
      const { port, bound, outcomes } = yield* edge(() =>
        Effect.succeed({ status: 200, headers: new HeaderList(), body })
      )
      const client = new RawClient(port).send(get)
      yield* Effect.promise(() => client.until(({ text }) => text.includes("first")))
      const start = performance.now()
      yield* bound.drain({ minimum: 0, deadline: 100 })
      assert.isAtLeast(performance.now() - start, 90)
      yield* Effect.promise(() => client.until(({ closed, ended }) => closed || ended))
      assert.deepStrictEqual(parseResponses(client.received), [])
      yield* Effect.promise(() => eventually(() => body.cancelled))
      assert.strictEqual(outcomes[0]?.failure, "the client went away")
      client.socket.destroy()
    })
  )

  it.live("what a client of HTTP/1.0 still reads at the deadline is reset, for its body has no other end", () =>
    Effect.gen(function* () {
      const body = new Tap().push("first")
      const { port, bound } = yield* edge(() => Effect.succeed({ status: 200, headers: new HeaderList(), body }))
      const client = new RawClient(port).send("GET / HTTP/1.0\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(({ text }) => text.includes("first")))
      yield* bound.drain({ minimum: 0, deadline: 20 })
      yield* Effect.promise(() => client.until(({ closed, ended }) => closed || ended))
      assert.deepStrictEqual([client.reset, client.ended], [true, false])
      yield* Effect.promise(() => eventually(() => body.cancelled))
      client.socket.destroy()
    })
  )

  it.live("a connection whose answer had begun is closed when that is through, and nobody waits for the deadline", () =>
    Effect.gen(function* () {
      const body = new Tap().push("first")
      const { port, bound, outcomes } = yield* edge(() =>
        Effect.succeed({ status: 200, headers: new HeaderList(), body })
      )
      const client = new RawClient(port).send(get)
      yield* Effect.promise(() => client.until(({ text }) => text.includes("first")))
      const drain = yield* Effect.forkChild(bound.drain({ minimum: 0, deadline: 60_000 }), { startImmediately: true })
      assert.isTrue(yield* refuses(port))
      body.end()
      assert.match(yield* Effect.promise(() => client.toEnd()), /connection: keep-alive[\s\S]*first\r\n0\r\n\r\n$/)
      yield* Fiber.join(drain)
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: undefined }])
    })
  )

  it.live("a tunnel lives until the deadline", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", () =>
          socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
        )
      )
      const proxy = yield* proxyTo(port)
      const client = new RawClient(proxy.port).send(
        "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"
      )
      yield* Effect.promise(() => client.until(({ text }) => text.includes("101")))
      const start = performance.now()
      yield* proxy.bound.drain({ minimum: 0, deadline: 100 })
      assert.isAtLeast(performance.now() - start, 90)
      yield* Effect.promise(() => client.until(({ closed, ended }) => closed || ended))
      client.socket.destroy()
    })
  )

  it.live("until the minimum has passed it goes on accepting, and answers with connection: close", () =>
    Effect.gen(function* () {
      const { port, bound } = yield* edge(() => Effect.succeed(text(200, "")))
      const drain = yield* Effect.forkChild(bound.drain({ minimum: 1500, deadline: 3000 }), { startImmediately: true })
      const all = yield* Effect.promise(() => new RawClient(port).send(get).toEnd())
      assert.match(all, /^HTTP\/1.1 200 [\s\S]*connection: close/)
      yield* Fiber.join(drain)
      assert.isTrue(yield* refuses(port))
    })
  )

  it.live("until then a balancer that keeps its connections may use them once more", () =>
    Effect.gen(function* () {
      const { port, bound } = yield* edge(() => Effect.succeed(text(200, "")))
      const client = new RawClient(port).send(get)
      yield* Effect.promise(() => client.responses(1))
      const drain = yield* Effect.forkChild(bound.drain({ minimum: 1500, deadline: 3000 }), { startImmediately: true })
      const all = yield* Effect.promise(() => client.send(get).toEnd())
      assert.match(all, /^HTTP\/1.1 200 [\s\S]*HTTP\/1.1 200 [\s\S]*connection: close/)
      yield* Fiber.join(drain)
    })
  )

  it.live("cut ends a drain at once: for the second signal", () =>
    Effect.gen(function* () {
      const { bound, client } = yield* waiting("never")
      const drain = yield* Effect.forkChild(bound.drain({ minimum: 0, deadline: 60_000 }), { startImmediately: true })
      bound.cut()
      yield* Fiber.join(drain)
      yield* Effect.promise(() => client.until(({ closed, ended }) => closed || ended))
      client.socket.destroy()
    })
  )

  it.live("the second caller joins the first", () =>
    Effect.gen(function* () {
      const { bound, client, answer } = yield* waiting("")
      const first = yield* Effect.forkChild(bound.drain({ minimum: 0, deadline: 60_000 }), { startImmediately: true })
      const second = yield* Effect.forkChild(bound.drain({ minimum: 0, deadline: 1 }), { startImmediately: true })
      // Longer than the second would have waited.
      yield* Effect.sleep(20)
      yield* answer
      yield* Fiber.joinAll([first, second])
      assert.match(yield* Effect.promise(() => client.toEnd()), /^HTTP\/1.1 200/)
      client.socket.destroy()
    })
  )

  it.live("the end of the scope drains, and frees the port", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const drain = { minimum: 0, deadline: 60_000 }
      const { port, client, answer } = yield* waiting("late", { drain }).pipe(Scope.provide(scope))
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* answer
      yield* Fiber.join(closing)
      assert.match(yield* Effect.promise(() => client.toEnd()), /late$/)
      client.socket.destroy()
      const again = yield* edge(() => Effect.succeed(text(200, "")), {
        address: { _tag: "Tcp", host: "127.0.0.1", port }
      })
      assert.strictEqual(again.port, port)
    })
  )

  it.live("an answer that is long and on its way is not cut by the drain", () =>
    Effect.gen(function* () {
      const size = 8 * 1024 * 1024
      let begun = false
      const { port, bound } = yield* edge(() => {
        begun = true
        return Effect.succeed({ status: 200, headers: new HeaderList(), body: Buffer.alloc(size, "x") })
      })
      const client = new RawClient(port)
      client.socket.pause()
      client.send(get)
      yield* Effect.promise(() => eventually(() => begun))
      const drain = yield* Effect.forkChild(bound.drain({ minimum: 0, deadline: 60_000 }), { startImmediately: true })
      yield* Effect.sleep(50)
      client.socket.resume()
      yield* Effect.promise(() => client.until((client) => client.size > size))
      assert.strictEqual(parseResponses(client.received)[0]?.body.length, size)
      client.socket.destroy()
      yield* Fiber.join(drain)
    })
  )
})

describe("time limits of a connection", () => {
  it.live("one without a request is closed after the idle timeout", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.succeed(text(200, "")), {
        limits: { idleTimeout: 80, headTimeout: 80 }
      })
      const silent = new RawClient(port)
      const slow = new RawClient(port).send("GET / HTTP/1.1\r\nhost")
      const start = performance.now()
      yield* Effect.promise(() => silent.until(({ closed, ended }) => closed || ended))
      yield* Effect.promise(() => slow.until(({ closed, ended }) => closed || ended))
      assert.isAtLeast(performance.now() - start, 70)
      assert.strictEqual(silent.text, "")
      assert.match(slow.text, /^HTTP\/1.1 408 /)
      silent.socket.destroy()
      slow.socket.destroy()
    })
  )

  it.live("the time counts from the last answer, and does not run while one is awaited or under way", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((_, response) => {
        setTimeout(() => response.write("first "), 150)
        setTimeout(() => response.end("second"), 300)
      })
      const { port } = yield* proxyTo(portOf(backend.address()), { limits: { idleTimeout: 80 } })
      const client = new RawClient(port).send(get)
      const [response] = yield* Effect.promise(() => client.responses(1))
      assert.strictEqual(response?.body.toString(), "first second")
      assert.isFalse(client.ended)
      yield* Effect.promise(() => client.until(({ closed, ended }) => closed || ended))
      client.socket.destroy()
    })
  )

  it.live("a connection whose requests are answered at once is kept", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.succeed(text(200, "")))
      const client = new RawClient(port)
      for (let i = 1; i <= 3; i++) {
        client.send(get)
        yield* Effect.promise(() => client.responses(i))
        yield* Effect.sleep(600)
      }
      assert.isFalse(client.ended || client.closed)
      client.socket.destroy()
    })
  )

  it.live("one that is too old says so with its next answer", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.delay(Effect.succeed(text(200, "")), 120), {
        limits: { maxConnectionDuration: 60 }
      })
      const client = new RawClient(port).send(get)
      const all = yield* Effect.promise(() => client.toEnd())
      assert.match(all, /^HTTP\/1.1 200 [\s\S]*connection: close/)
      const idle = new RawClient(port)
      yield* Effect.promise(() => idle.until(({ closed, ended }) => closed || ended))
      idle.socket.destroy()
    })
  )
})
