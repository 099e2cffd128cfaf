import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createServer as createTlsServer } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import { httpBackend, portOf, proxyTo, tcpBackend, upstreamRequest, upstreamTo } from "./edge.ts"
import { eventually, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

const fixture = (name: string) => readFileSync(join(import.meta.dirname, "fixtures", name))

const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"

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

  it.live.each([
    "gzip, chunked",
    "chunked, gzip",
    "gzip",
    "identity",
    "chunked, chunked",
    "gzip\r\ntransfer-encoding: chunked"
  ])("the response has the transfer-encoding %s", (coding) =>
    Effect.gen(function* () {
      const answer = `HTTP/1.1 200 OK\r\ntransfer-encoding: ${coding}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`
      const { port } = yield* tcpBackend((socket) => socket.on("data", () => socket.end(answer)))
      const [status, message] = yield* failing(port)
      assert.isAtLeast(status ?? 0, 502)
      assert.isAtMost(status ?? 0, 503)
      assert.match(message ?? "", /^upstream call failed: protocol: /)
    })
  )

  it.live("a name that does not resolve", () =>
    Effect.gen(function* () {
      const upstream = yield* upstreamTo({ kind: "tcp", host: "nowhere.invalid", port: 80, tls: false })
      const error = yield* Effect.flip(upstream.send(upstreamRequest()))
      assert.deepStrictEqual(
        [error._tag, error.status, error.message],
        ["UpstreamFailed", 503, "backends required DNS resolution which failed"]
      )
    })
  )

  it.live("no socket file", () =>
    Effect.gen(function* () {
      const upstream = yield* upstreamTo({ kind: "unix", path: "/nonexistent/socket" })
      const error = yield* Effect.flip(upstream.send(upstreamRequest()))
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
  it.live.each(names)(
    "a certificate that nobody vouches for; %s is asked for its own name, if it has one",
    ([host, names]) =>
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
        const error = yield* Effect.flip(upstream.send(upstreamRequest({ authority: "chosen.by.the.client" })))
        assert.strictEqual(
          error.message,
          "upstream call failed: tls: the certificate of the backend is signed by itself (DEPTH_ZERO_SELF_SIGNED_CERT)"
        )
        assert.deepStrictEqual(asked, names)
      })
  )

  it.live("a request that cannot be sent", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend(() => {})
      const upstream = yield* upstreamTo(port)
      const error = yield* Effect.flip(upstream.send(upstreamRequest({ headers: new HeaderList(["x", "a\r\nb: c"]) })))
      assert.strictEqual(error.message, "upstream call failed: request: the request cannot be sent")
    })
  )

  it.live("a request body that breaks off ends the call", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* tcpBackend((socket) => socket.on("data", () => {}))
      const upstream = yield* upstreamTo(port)
      const body = new Tap().push("abc")
      const fiber = yield* Effect.forkChild(upstream.send(upstreamRequest({ method: "POST", body })), {
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
      const first = yield* Effect.forkChild(upstream.send(upstreamRequest({ pathAndQuery: "/1" })), {
        startImmediately: true
      })
      const second = yield* Effect.forkChild(upstream.send(upstreamRequest({ pathAndQuery: "/2" })), {
        startImmediately: true
      })
      yield* Fiber.interrupt(second)
      assert.strictEqual((yield* Fiber.join(first)).status, 200)
      assert.strictEqual((yield* upstream.send(upstreamRequest({ pathAndQuery: "/3" }))).status, 200)
      assert.deepStrictEqual(seen, ["/1", "/3"])
    })
  )
})
