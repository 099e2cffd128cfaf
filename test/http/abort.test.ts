import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createServer as createTlsServer } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { type BodyObserver, observe } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import type { UpstreamRequest } from "../../src/services/upstreams.ts"
import { edge, forward, httpBackend, portOf, proxyTo, tcpBackend, text, upstreamTo } from "./edge.ts"
import { eventually, parseResponses, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

const fixture = (name: string) => readFileSync(join(import.meta.dirname, "fixtures", name))

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

const request = (changes: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  method: "GET",
  pathAndQuery: "/",
  authority: "a",
  headers: new HeaderList(),
  body: undefined,
  timeout: undefined,
  upgrade: undefined,
  onInformation: undefined,
  ...changes
})

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
      const { port } = yield* edge((x) =>
        Effect.match(x.readRequestBody(), {
          onSuccess: () => "whole",
          onFailure: ({ message }) => message
        }).pipe(
          Effect.tap((message) => Deferred.succeed(read, message)),
          Effect.uninterruptible,
          Effect.as(text(200, ""))
        )
      )
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc")
      yield* Effect.sleep(20)
      client.socket.destroy()
      assert.strictEqual(yield* Deferred.await(read), "body ended early: the client went away")
    })
  )

  it.live("an answer that comes too late is released", () =>
    Effect.gen(function* () {
      const body = new Tap()
      const { port, outcomes } = yield* edge((x) =>
        Effect.uninterruptible(
          Effect.delay(
            Effect.sync(() => {
              x.response = { status: 200, headers: new HeaderList(), body }
              return x.response
            }),
            30
          )
        )
      )
      const client = new RawClient(port).send(get)
      yield* Effect.sleep(10)
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => body.cancelled))
      assert.strictEqual(outcomes.length, 1)
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

describe("calls that bring no response", () => {
  const failing = (port: number) =>
    Effect.gen(function* () {
      const proxy = yield* proxyTo(port)
      const [response] = yield* Effect.promise(() => new RawClient(proxy.port).send(get).responses(1))
      return [response?.status, response?.body.toString()] as const
    })

  it.live("nobody listens", () =>
    Effect.gen(function* () {
      const { port } = yield* Effect.scoped(tcpBackend(() => {}))
      assert.deepStrictEqual(yield* failing(port), [503, "upstream call failed: connection refused: ECONNREFUSED"])
    })
  )

  it.live("the connection is closed", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) => socket.on("data", () => socket.end()))
      assert.deepStrictEqual(yield* failing(port), [
        503,
        "upstream call failed: reset: the connection was closed before there was a response"
      ])
    })
  )

  it.live("the connection is reset in the middle of the head", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", () => {
          socket.write("HTTP/1.1 200 OK\r\ncontent-")
          setTimeout(() => socket.resetAndDestroy(), 10)
        })
      )
      const [status, message] = yield* failing(port)
      assert.strictEqual(status, 503)
      assert.match(message ?? "", /^upstream call failed: (reset|protocol)/)
    })
  )

  const malformed: ReadonlyArray<readonly [title: string, answer: string]> = [
    ["no HTTP", "SSH-2.0-OpenSSH\r\n\r\n"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    ["a head without end", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(100_000)}`],
    ["100 Continue, which nobody asked for", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"]
  ]
  it.live.each(malformed)("the response is %s", ([, answer]) =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) => socket.on("data", () => socket.write(answer)))
      assert.deepStrictEqual(yield* failing(port), [
        503,
        "upstream call failed: protocol: the response is not HTTP/1.1"
      ])
    })
  )

  it.live("a name that does not resolve", () =>
    Effect.gen(function* () {
      const upstream = yield* upstreamTo({ kind: "tcp", host: "nowhere.invalid", port: 80, tls: false })
      const error = yield* Effect.flip(upstream.send(request()))
      assert.deepStrictEqual(
        [error._tag, error.status, error.message],
        ["UpstreamFailed", 503, "backends required DNS resolution which failed"]
      )
    })
  )

  it.live("no socket file", () =>
    Effect.gen(function* () {
      const upstream = yield* upstreamTo({ kind: "unix", path: "/nonexistent/socket" })
      const error = yield* Effect.flip(upstream.send(request()))
      assert.strictEqual(error.message, "upstream call failed: connection refused: ENOENT")
    })
  )

  it.live("the response takes too long: the call ends with it", () =>
    Effect.gen(function* () {
      let closed = false
      const { port } = yield* tcpBackend((socket) =>
        socket
          .on("data", () => {})
          .on("end", () => {
            closed = true
          })
      )
      const proxy = yield* proxyTo(port, { timeout: 30 })
      const [response] = yield* Effect.promise(() => new RawClient(proxy.port).send(get).responses(1))
      assert.deepStrictEqual([response?.status, response?.body.toString()], [504, "upstream call timeout"])
      yield* Effect.promise(() => eventually(() => closed))
    })
  )

  it.live("the timeout is for the head: a body may take as long as it likes", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((_, response) => {
        response.write("a")
        setTimeout(() => response.end("b"), 60)
      })
      const proxy = yield* proxyTo(portOf(backend.address()), { timeout: 30 })
      const [response] = yield* Effect.promise(() => new RawClient(proxy.port).send(get).responses(1))
      assert.strictEqual(response?.body.toString(), "ab")
    })
  )

  const names: ReadonlyArray<readonly [host: string, asked: Array<string>]> = [
    ["localhost", ["localhost"]],
    ["127.0.0.1", []]
  ]
  it.live.each(names)("a certificate that nobody vouches for; %s is asked for its own name, if it has one", ([host, names]) =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const server = createTlsServer({
        key: fixture("localhost.key.pem"),
        cert: fixture("localhost.cert.pem"),
        SNICallback: (name, done) => {
          asked.push(name)
          done(null)
        }
      })
      server.on("tlsClientError", () => {})
      yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const upstream = yield* upstreamTo({ kind: "tcp", host, port: portOf(server.address()), tls: true })
      const error = yield* Effect.flip(upstream.send(request({ authority: "chosen.by.the.client" })))
      assert.strictEqual(error.message, "upstream call failed: tls: DEPTH_ZERO_SELF_SIGNED_CERT")
      assert.deepStrictEqual(asked, names)
    })
  )

  it.live("a request that cannot be sent", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend(() => {})
      const upstream = yield* upstreamTo(port)
      const error = yield* Effect.flip(upstream.send(request({ headers: new HeaderList(["x", "a\r\nb: c"]) })))
      assert.strictEqual(error.message, "upstream call failed: request: the request cannot be sent")
    })
  )

  it.live("a request body that breaks off ends the call", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* tcpBackend((socket) => socket.on("data", () => {}))
      const upstream = yield* upstreamTo(port)
      const body = new Tap().push("abc")
      const fiber = yield* Effect.forkChild(upstream.send(request({ method: "POST", body })), {
        startImmediately: true
      })
      yield* Effect.promise(() => eventually(() => (sockets[0]?.bytesRead ?? 0) > 0))
      body.fail()
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit))
      yield* Effect.promise(() =>
        eventually(() => sockets[0]?.readableEnded === true || sockets[0]?.destroyed === true)
      )
    })
  )

  it.live("a call that is interrupted while it waits for a connection is forgotten", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", (head) => {
          seen.push(/^GET (\S+)/.exec(head.toString())?.[1] ?? "?")
          setTimeout(() => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), 30)
        })
      )
      const upstream = yield* upstreamTo(port, { maxConnections: 1 })
      const first = yield* Effect.forkChild(upstream.send(request({ pathAndQuery: "/1" })), { startImmediately: true })
      const second = yield* Effect.forkChild(upstream.send(request({ pathAndQuery: "/2" })), { startImmediately: true })
      yield* Fiber.interrupt(second)
      assert.strictEqual((yield* Fiber.join(first)).status, 200)
      assert.strictEqual((yield* upstream.send(request({ pathAndQuery: "/3" }))).status, 200)
      assert.deepStrictEqual(seen, ["/1", "/3"])
    })
  )
})

describe("a kept connection that the backend has closed", () => {
  /** Answers the first request of its first connection, and closes that one on the second. */
  const closing = (log: Array<string>, before = "") =>
    tcpBackend((socket, index) => {
      let served = 0
      socket.on("data", (head) => {
        log.push(`${index} ${head.toString().split(" ")[0]}`)
        if (index === 0 && served++ > 0) {
          if (before !== "") socket.write(before)
          socket.end()
        } else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
      })
    })

  /** An upstream with one connection that has served; undici uses it again from the next turn of the loop on. */
  const usedOnce = (port: number) =>
    Effect.gen(function* () {
      const upstream = yield* upstreamTo(port)
      yield* upstream.send(request())
      yield* Effect.sleep(5)
      return upstream
    })

  it.live.each(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])("%s is sent once more", (method) =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port } = yield* closing(log)
      const upstream = yield* usedOnce(port)
      const body = method === "PUT" ? "body" : undefined
      const answer = yield* upstream.send(request({ method, body }))
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(log, ["0 GET", `0 ${method}`, `1 ${method}`])
    })
  )

  it.live("POST is not: it may have had its effect", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port } = yield* closing(log)
      const upstream = yield* usedOnce(port)
      const error = yield* Effect.flip(upstream.send(request({ method: "POST", body: "body" })))
      assert.match(error.message, /^upstream call failed: reset/)
      assert.deepStrictEqual(log, ["0 GET", "0 POST"])
    })
  )

  it.live("nor is a body that has been given away", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port } = yield* closing(log)
      const upstream = yield* usedOnce(port)
      const error = yield* Effect.flip(upstream.send(request({ method: "PUT", body: new Tap().push("a").end() })))
      assert.strictEqual(error._tag, "UpstreamFailed")
      assert.deepStrictEqual(log, ["0 GET", "0 PUT"])
    })
  )

  it.live("nor what has begun to be answered", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port } = yield* closing(log, "HTTP/1.1 2")
      const upstream = yield* usedOnce(port)
      yield* Effect.flip(upstream.send(request()))
      assert.deepStrictEqual(log, ["0 GET", "0 GET"])
    })
  )

  it.live("nor a request on a connection of its own", () =>
    Effect.gen(function* () {
      const log: Array<number> = []
      const { port } = yield* tcpBackend((socket, index) =>
        socket.on("data", () => {
          log.push(index)
          socket.end()
        })
      )
      const upstream = yield* upstreamTo(port)
      yield* Effect.flip(upstream.send(request()))
      assert.deepStrictEqual(log, [0])
    })
  )

  it.live("and never twice", () =>
    Effect.gen(function* () {
      const log: Array<number> = []
      const { port } = yield* tcpBackend((socket, index) => {
        let served = 0
        socket.on("data", () => {
          log.push(index)
          if (served++ === 0 && index < 2)
            setTimeout(() => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), 20)
          else socket.end()
        })
      })
      const upstream = yield* upstreamTo(port)
      // Two connections that will both be closed when they are used again.
      yield* Effect.all([upstream.send(request()), upstream.send(request())], { concurrency: 2 })
      yield* Effect.sleep(5)
      const error = yield* Effect.flip(upstream.send(request()))
      assert.strictEqual(error._tag, "UpstreamFailed")
      assert.strictEqual(log.length, 4)
    })
  )
})
