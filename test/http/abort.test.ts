import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { type BodyObserver, observe } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { edge, forward, httpBackend, portOf, proxyTo, tcpBackend, text, upstreamTo } from "./edge.ts"
import { eventually, parseResponses, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"

const watched = () => {
  const ends: Array<string> = []
  const observer: BodyObserver = {
    data: () => {},
    end: (failure) =>
      ends.push(failure === undefined ? "whole" : typeof failure === "string" ? failure : failure.message)
  }
  return { ends, observer }
}

describe("a client that goes away", () => {
  it.live("interrupts what is under way", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      let interrupted = false
      const { port, outcomes } = yield* edge(() =>
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              interrupted = true
            })
          )
        )
      )
      const client = new RawClient(port).send(get)
      yield* Deferred.await(started)
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => interrupted))
      assert.deepStrictEqual(outcomes, [{ status: undefined, failure: "the client went away" }])
    })
  )

  it.live("before the backend answers: the call ends", () =>
    Effect.gen(function* () {
      let closed = 0
      const { port, sockets } = yield* tcpBackend((socket) => socket.on("data", () => {}).on("close", () => closed++))
      const proxy = yield* proxyTo(port)
      const client = new RawClient(proxy.port).send(get)
      yield* Effect.promise(() => eventually(() => sockets[0]?.bytesRead !== undefined && sockets[0].bytesRead > 0))
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => closed === 1 || sockets[0]?.readableEnded === true))
      assert.deepStrictEqual(proxy.outcomes, [{ status: undefined, failure: "the client went away" }])
    })
  )

  it.live("in the middle of a response: the call ends, and observers know", () =>
    Effect.gen(function* () {
      let gone = false
      const backend = yield* httpBackend((_, response) => {
        response.write("first")
        response.on("close", () => {
          gone = true
        })
      })
      const upstream = yield* upstreamTo(portOf(backend.address()))
      const { ends, observer } = watched()
      const { port, outcomes } = yield* edge((x) =>
        Effect.map(forward(upstream)(x), (answer) => ({ ...answer, body: observe(answer.body, observer) }))
      )
      const client = new RawClient(port).send(get)
      yield* Effect.promise(() => client.until(({ text }) => text.includes("first")))
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => gone))
      assert.deepStrictEqual(ends, ["cancelled"])
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: "the client went away" }])
    })
  )

  it.live("in the middle of an upload: the backend does not take it for whole", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const backend = yield* httpBackend((request) => {
        request.on("data", () => log.push("data"))
        request.on("end", () => log.push("end"))
        request.on("error", () => log.push("error"))
      })
      const { port, outcomes } = yield* proxyTo(portOf(backend.address()))
      const client = new RawClient(port).send(
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"
      )
      yield* Effect.promise(() => eventually(() => log.includes("data")))
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => log.includes("error")))
      assert.notInclude(log, "end")
      assert.deepStrictEqual(outcomes, [{ status: undefined, failure: "the client went away" }])
    })
  )

  it.live("a body that is being read ends with an error", () =>
    Effect.gen(function* () {
      const read = yield* Deferred.make<string>()
      let begun = false
      const { port } = yield* edge((x) => {
        begun = true
        return Effect.match(x.readRequestBody(), {
          onSuccess: () => "whole",
          onFailure: ({ message }) => message
        }).pipe(
          Effect.tap((message) => Deferred.succeed(read, message)),
          Effect.uninterruptible,
          Effect.as(text(200, ""))
        )
      })
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc")
      yield* Effect.promise(() => eventually(() => begun))
      client.socket.destroy()
      assert.strictEqual(yield* Deferred.await(read), "body ended early: the client went away")
    })
  )

  it.live("an answer that comes too late is released", () =>
    Effect.gen(function* () {
      const body = new Tap()
      const late = yield* Deferred.make<void>()
      let begun = false
      const { port, bound, outcomes } = yield* edge((x) => {
        begun = true
        return Effect.uninterruptible(
          Effect.map(Deferred.await(late), () => {
            x.response = { status: 200, headers: new HeaderList(), body }
            return x.response
          })
        )
      })
      const client = new RawClient(port).send(get)
      yield* Effect.promise(() => eventually(() => begun))
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => bound.connections() === 0))
      yield* Deferred.succeed(late, undefined)
      yield* Effect.promise(() => eventually(() => body.cancelled && outcomes.length === 1))
    })
  )
})

describe("a backend that breaks off", () => {
  const breaks = [
    ["a declared length", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"],
    ["chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"]
  ] as const
  for (const how of ["reset", "closed"] as const)
    it.live.each(breaks)(`${how} in the middle of %s: the response never looks whole`, ([, answer]) =>
      Effect.gen(function* () {
        const { port } = yield* tcpBackend((socket) =>
          socket.on("data", () => {
            socket.write(answer)
            setTimeout(() => (how === "reset" ? socket.resetAndDestroy() : socket.destroy()), 20)
          })
        )
        const upstream = yield* upstreamTo(port)
        const { ends, observer } = watched()
        const proxy = yield* edge((x) =>
          Effect.map(forward(upstream)(x), (answer) => ({ ...answer, body: observe(answer.body, observer) }))
        )
        const client = new RawClient(proxy.port).send(get)
        const all = yield* Effect.promise(() => client.toEnd())
        assert.match(all, /abc/)
        assert.deepStrictEqual(parseResponses(client.received), [])
        yield* Effect.promise(() => eventually(() => proxy.outcomes.length === 1))
        assert.match(ends.join(), /^body ended early: (reset|protocol)$/)
        assert.strictEqual(proxy.outcomes[0]?.status, 200)
        assert.match(proxy.outcomes[0]?.failure ?? "", /^body ended early/)
      })
    )

  it.live("a client of HTTP/1.0 sees a reset, for its body has no other end", () =>
    Effect.gen(function* () {
      const body = new Tap()
      const { port } = yield* edge(() => Effect.succeed({ status: 200, headers: new HeaderList(), body }))
      const client = new RawClient(port).send("GET / HTTP/1.0\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(({ text }) => text.includes("\r\n\r\n")))
      body.push("abc")
      yield* Effect.promise(() => client.until(({ text }) => text.includes("abc")))
      body.fail()
      yield* Effect.promise(() => client.until(({ closed }) => closed))
      assert.isTrue(client.reset)
    })
  )

  it.live("a client of HTTP/1.0 on a unix socket is disconnected, for such a socket knows no reset", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "headgate-abort-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const path = join(folder, "socket")
      const body = new Tap()
      const address = { _tag: "Unix", path } as const
      const { outcomes, defects } = yield* edge(
        () => Effect.succeed({ status: 200, headers: new HeaderList(), body }),
        { address }
      )
      const client = connect({ path, allowHalfOpen: true })
      const disconnected = once(client, "end")
      client.write("GET / HTTP/1.0\r\nhost: a\r\n\r\n")
      body.push("abc")
      let received = ""
      client.setEncoding("latin1").on("data", (chunk: string) => {
        received += chunk
      })
      yield* Effect.promise(() => eventually(() => received.includes("abc")))
      body.fail()
      yield* Effect.promise(() => disconnected)
      client.destroy()
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: "body ended early: reset" }])
      assert.deepStrictEqual(defects, [])
    })
  )

  it.live("a response that answers before the upload is through gets through", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) =>
        socket.once("data", () => socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno"))
      )
      const proxy = yield* proxyTo(port)
      const client = new RawClient(proxy.port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10000000\r\n\r\n")
      client.send("x".repeat(100_000))
      const [response] = yield* Effect.promise(() => client.responses(1))
      assert.deepStrictEqual([response?.status, response?.body.toString()], [413, "no"])
      yield* Effect.promise(() => client.until(({ ended, closed }) => ended || closed))
      client.socket.destroy()
    })
  )
})
