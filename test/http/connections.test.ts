import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Informer } from "../../src/http/message.ts"
import { edge, portOf, proxyTo, tcpBackend, text } from "./edge.ts"
import { mirror, mirrored } from "./mirror.ts"
import { eventually, exchange, RawClient } from "./raw-client.ts"

describe("connections", () => {
  it.live("one connection on each side carries many requests", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* tcpBackend((socket) =>
        socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"))
      )
      const proxy = yield* proxyTo(port)
      const client = new RawClient(proxy.port)
      for (let i = 1; i <= 20; i++) {
        client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        yield* Effect.promise(() => client.responses(i))
      }
      assert.strictEqual(sockets.length, 1)
      assert.strictEqual(proxy.bound.connections(), 1)
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => proxy.bound.connections() === 0))
    })
  )

  it.live("pipelined requests are answered in order, each begun after the one before is through", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port, outcomes } = yield* edge((x) => {
        log.push(`begin ${x.request.path}`)
        return Effect.suspend(() => {
          log.push(`end ${x.request.path}`)
          return Effect.map(Effect.orDie(x.readRequestBody()), (bytes) =>
            text(200, `${x.request.path} ${bytes.length}`)
          )
        }).pipe(Effect.delay(x.request.path === "/0" ? 40 : 0))
      })
      const count = 30
      const requests = Array.from({ length: count }, (_, i) =>
        i % 3 === 0
          ? `POST /${i} HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody`
          : i % 3 === 1
            ? `GET /${i} HTTP/1.1\r\nhost: a\r\n\r\n`
            : `POST /${i} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`
      )
      const responses = yield* exchange(port, requests.join(""), count)
      assert.deepStrictEqual(
        responses.map(({ body }) => body.toString()),
        requests.map((_, i) => `/${i} ${i % 3 === 1 ? 0 : 4}`)
      )
      assert.deepStrictEqual(
        log,
        requests.flatMap((_, i) => [`begin /${i}`, `end /${i}`])
      )
      assert.strictEqual(outcomes.length, count)
    })
  )

  it.live("100 Continue is sent when somebody starts to read the body, and only then", () =>
    Effect.gen(function* () {
      const { port } = yield* edge((x) =>
        x.request.path === "/read"
          ? Effect.map(Effect.orDie(x.readRequestBody()), (bytes) => text(200, String(bytes.length)))
          : Effect.succeed(text(403, "no"))
      )
      const ask = (path: string) =>
        `POST ${path} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n`
      const client = new RawClient(port).send(ask("/read"))
      yield* Effect.promise(() => client.until(({ text }) => text === "HTTP/1.1 100 Continue\r\n\r\n"))
      client.send("abc")
      yield* Effect.promise(() => client.until(({ text }) => text.endsWith("\r\n\r\n3")))
      client.socket.destroy()
      const refused = yield* Effect.promise(() => new RawClient(port).send(ask("/refuse")).toEnd())
      assert.match(refused, /^HTTP\/1.1 403 .*\r\n[\s\S]*connection: close/i)
    })
  )

  it.live("an expectation passes a proxy that forwards: the backend never sees it", () =>
    Effect.gen(function* () {
      const { port } = yield* proxyTo(portOf((yield* mirror).address()))
      const client = new RawClient(port).send(
        "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n"
      )
      yield* Effect.promise(() => client.until(({ text }) => text === "HTTP/1.1 100 Continue\r\n\r\n"))
      client.send("abc")
      const [, response] = yield* Effect.promise(() => client.responses(2))
      const { headers, body } = mirrored(response!.body)
      assert.strictEqual(body, "abc")
      assert.notInclude(headers, "expect")
      client.socket.destroy()
    })
  )

  it.live("an expectation that nobody knows fails", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.succeed(text(200, "")))
      const [response] = yield* exchange(port, "GET / HTTP/1.1\r\nhost: a\r\nexpect: miracles\r\n\r\n")
      assert.strictEqual(response?.status, 417)
    })
  )

  it.live("a request that is over tells the next one on its connection nothing", () =>
    Effect.gen(function* () {
      let early: Informer | undefined
      const { port } = yield* edge((x) => {
        early?.inform(103, new HeaderList(["x-of", "the one before"]))
        early ??= x.informer
        return Effect.succeed(text(200, ""))
      })
      const asked = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
      const responses = yield* exchange(port, `${asked}${asked}`, 2)
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [200, 200]
      )
    })
  )

  it.live("1xx responses pass, in order, but not to HTTP/1.0", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", () =>
          socket.write(
            "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>\r\nContent-Length: 38\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
          )
        )
      )
      const proxy = yield* proxyTo(port)
      const responses = yield* exchange(proxy.port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n", 3)
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [102, 103, 200]
      )
      assert.deepStrictEqual(responses[1]?.headers, [
        ["link", "</a>; rel=preload"],
        ["link", "</b>"]
      ])
      const old = yield* Effect.promise(() =>
        new RawClient(proxy.port).send("GET / HTTP/1.0\r\nhost: a\r\n\r\n").toEnd()
      )
      assert.match(old, /^HTTP\/1.1 200 /)
    })
  )

  it.live("a short body that nobody reads is dropped, and the connection goes on", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.succeed(text(403, "no")))
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n")
      yield* Effect.promise(() => client.responses(1))
      client.send("x".repeat(1000)).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      const responses = yield* Effect.promise(() => client.responses(2))
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [403, 403]
      )
      client.socket.destroy()
    })
  )

  it.live.each(["content-length: 50000000", "transfer-encoding: chunked"])(
    "a long body that nobody reads (%s) costs the connection, but not the answer",
    (framing) =>
      Effect.gen(function* () {
        const { port, bound } = yield* edge(() => Effect.succeed(text(413, "too much")))
        const client = new RawClient(port).send(`POST / HTTP/1.1\r\nhost: a\r\n${framing}\r\n\r\n`)
        // It goes on sending, as clients do that only read when they are through.
        const piece = framing.startsWith("c") ? "x".repeat(10_000) : `2710\r\n${"x".repeat(10_000)}\r\n`
        for (let i = 0; i < 60; i++) client.send(piece)
        const all = yield* Effect.promise(() => client.until(({ ended }) => ended)).pipe(Effect.map(({ text }) => text))
        assert.match(all, /^HTTP\/1.1 413 [\s\S]*\r\nconnection: close\r\n[\s\S]*too much$/)
        assert.isFalse(client.reset)
        // A client that does not take the hint is cut in the end.
        yield* Effect.promise(() => eventually(() => bound.connections() === 0))
        client.socket.destroy()
      })
  )

  it.live("a connection that waits for its next request holds nothing of the last one", () =>
    Effect.gen(function* () {
      const clients = 50
      const headBytes = 60_000
      setFlagsFromString("--expose-gc")
      const collect = runInNewContext("gc") as () => void
      const held = () => {
        collect()
        return process.memoryUsage().heapUsed
      }
      // The head timeout is how often the listener looks at its connections.
      const { port } = yield* edge(() => Exit.succeed(text(200, "ok")), { limits: { headTimeout: 2000 } })
      const before = held()
      const connected = Array.from({ length: clients }, (_, i) =>
        new RawClient(port).send(
          `GET /${i} HTTP/1.1\r\nhost: a\r\nx: ${`${i} `.repeat(headBytes).slice(0, headBytes)}\r\n\r\n`
        )
      )
      yield* Effect.promise(() => Promise.all(connected.map((client) => client.responses(1))))
      yield* Effect.promise(() => eventually(() => held() - before < (clients * headBytes) / 3))
      for (const client of connected) client.socket.destroy()
    })
  )
})
