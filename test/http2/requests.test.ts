/** HTTP/2 of clients: requests, bodies, trailers and resets through a whole listener, to backends of HTTP/1.1. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Beginning } from "../../layers/http/beginnings.ts"
import { defaultOverloadLimits, Overload } from "../../layers/http/overload.ts"
import { edge, httpBackend, portOf, proxyTo, text } from "../http/edge.ts"
import { eventually } from "../http/raw-client.ts"
import { serving, showing, telling } from "../tls/edge.ts"
import { asking, session } from "./client.ts"
import { flag, frame, RawSession, request, resetCode, type } from "./frames.ts"

/** Tells what has reached it. */
const mirror = httpBackend((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const { method, url, rawHeaders, rawTrailers } = request
    response.setHeader("set-cookie", ["a=1", "b=2"])
    response.end(JSON.stringify({ method, url, rawHeaders, rawTrailers, body: Buffer.concat(chunks).toString() }))
  })
})

describe("HTTP/2 of clients", () => {
  it.live("is spoken where TLS agrees upon it, which is what is offered first", () =>
    Effect.gen(function* () {
      const { port, log } = yield* serving(`
gateways: { default: { port: 8443, tls: { ${showing("server")} } } }
routes: [${telling('request.version + " " + request.scheme + " " + request.uri')}]
`)
      const made = yield* session(port, {}, "https")
      assert.strictEqual(made.alpnProtocol, "h2")
      const { status, body } = yield* asking(made, "/a?b")
      assert.strictEqual(`${status} ${body}`, `200 HTTP/2 https https://localhost:${port}/a?b`)
      yield* Effect.promise(() => eventually(() => log.some((line) => /http\.version=HTTP\/2 .*tls\.sni=/.test(line))))
    })
  )

  it.live("is spoken on the port of HTTP/1.1 by whoever begins so, however that is cut", () =>
    Effect.gen(function* () {
      const { port } = yield* edge((x) => Effect.succeed(text(200, x.request.version)))
      const made = yield* session(port)
      assert.strictEqual((yield* asking(made, "/")).body, "2")
      const raw = new RawSession(port, false)
      const begin = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1")
      for (const byte of Buffer.concat([begin, frame(type.settings, 0, 0), request(1)])) {
        raw.send(Buffer.from([byte]))
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      yield* Effect.promise(() => eventually(() => raw.of(type.data, 1).length > 0))
      assert.strictEqual(raw.of(type.data, 1)[0]!.payload.toString(), "2")
      raw.socket.end()
      yield* Effect.promise(() => eventually(() => raw.closed))
    })
  )

  it.live("loses nothing of those who have to wait for their turn", () =>
    Effect.gen(function* () {
      const waiting: Array<Beginning> = []
      const bounds = new Overload(
        defaultOverloadLimits,
        () => performance.now(),
        () => {}
      )
      const overload = {
        limits: bounds.limits,
        admits: () => true,
        enter: () => undefined,
        enqueue: (one: Beginning) => waiting.push(one),
        begin: (one: Beginning) => {
          waiting.push(one)
          return false
        }
      }
      const { port } = yield* edge((x) => Effect.succeed(text(200, x.request.version)), { overload })
      const raw = new RawSession(port)
      raw.send(...Array.from({ length: 50 }, (_, i) => request(2 * i + 1)))
      yield* Effect.promise(() => eventually(() => waiting.length === 1))
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      waiting[0]!.begins(true)
      yield* Effect.promise(() => eventually(() => raw.of(type.data).length === 50))
      raw.socket.destroy()
    })
  )

  it.live("carries requests, bodies and both trailers to backends of HTTP/1.1", () =>
    Effect.gen(function* () {
      const { port, outcomes } = yield* proxyTo(portOf((yield* mirror).address()))
      const made = yield* session(port)
      const got = JSON.parse((yield* asking(made, "/x", { headers: { cookie: ["a=1", "b=2"], te: "trailers" } })).body)
      assert.strictEqual(`${got.method} ${got.url}`, "GET /x")
      assert.deepInclude(got.rawHeaders.join("|"), "cookie|a=1; b=2")
      const posted = yield* asking(made, "/", { body: "x".repeat(300_000) })
      assert.strictEqual(JSON.parse(posted.body).body.length, 300_000)
      assert.deepStrictEqual(posted.headers["set-cookie"], ["a=1", "b=2"])
      const trailing = yield* asking(made, "/", { method: "POST", body: "abc", trailers: { "x-sum": "1" } })
      assert.deepStrictEqual(JSON.parse(trailing.body).rawTrailers, ["x-sum", "1"])
      yield* Effect.promise(() => eventually(() => outcomes.length === 3))
      assert.deepStrictEqual(outcomes, Array(3).fill({ status: 200, failure: undefined }))
    })
  )

  it.live("trailers, informational answers and answers without a body reach the client as they are", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((request, response) => {
        if (request.url === "/trailers") {
          response.write("ab")
          response.addTrailers({ "grpc-status": "0" })
          response.end("cd")
        } else if (request.url === "/early") {
          response.writeEarlyHints({ link: "</a>; rel=preload" })
          response.end("late")
        } else if (request.url === "/none") response.writeHead(204).end()
        else if (request.url === "/same") response.writeHead(304, { etag: "x" }).end()
        else response.setHeader("content-length", 5).end("hello")
      })
      const { port } = yield* proxyTo(portOf(backend.address()))
      const made = yield* session(port)
      const trailing = yield* asking(made, "/trailers")
      assert.strictEqual(`${trailing.body} ${trailing.trailers["grpc-status"]}`, "abcd 0")
      const early = yield* asking(made, "/early")
      assert.deepStrictEqual([early.informed, early.body], [[103], "late"])
      for (const [path, status] of [
        ["/none", 204],
        ["/same", 304]
      ] as const) {
        const answer = yield* asking(made, path)
        assert.deepStrictEqual([answer.status, answer.body, answer.code], [status, "", 0])
      }
      const head = yield* asking(made, "/", { method: "HEAD" })
      assert.deepStrictEqual([head.status, head.headers["content-length"], head.body], [200, "5", ""])
    })
  )

  it.live("a known answer is two frames, one without a body one", () =>
    Effect.gen(function* () {
      const { port } = yield* edge((x) =>
        Effect.succeed({ ...text(200, "hello"), ...(x.request.path === "/empty" ? { body: undefined } : {}) })
      )
      const raw = new RawSession(port)
      raw.send(request(1), request(3, { path: "/empty" }))
      yield* Effect.promise(() => eventually(() => raw.of(type.headers).length === 2 && raw.of(type.data).length === 1))
      const flags = raw.frames
        .filter(({ stream }) => stream > 0)
        .map((each) => `${each.stream} ${each.type} ${each.flags}`)
      assert.deepStrictEqual(flags.sort(), ["1 0 1", "1 1 4", "3 1 5"])
      raw.socket.destroy()
    })
  )

  it.live("what is no request is refused as in HTTP/1.1, and the session goes on", () =>
    Effect.gen(function* () {
      const { port, outcomes } = yield* edge((x) => Effect.succeed(text(200, x.request.uri)))
      const made = yield* session(port)
      const refused: ReadonlyArray<readonly [Parameters<typeof asking>[1], Parameters<typeof asking>[2], string]> = [
        ["/a#b", {}, "400 fragment in the request target"],
        ["/%zz", {}, "400"],
        ["/", { method: "TRACE" }, "405 method not allowed"],
        ["/", { headers: { ":authority": "a b" } }, "400"],
        ["/", { headers: { ":authority": "a", host: "b" } }, "400 invalid authority or host"],
        ["/", { method: "NONE" }, "400"],
        ["/", { headers: { expect: "miracles" } }, "417"],
        ["/", { headers: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`x-${i}`, "1"])) }, "431"]
      ]
      for (const [path, asked, expected] of refused) {
        const told = yield* Effect.promise(() =>
          import("./client.ts")
            .then(({ ask }) => ask(made, path, asked))
            .then(
              ({ status, body }) => `${status} ${body}`,
              (error: Error) => error.message
            )
        )
        assert.isTrue(told.startsWith(expected) || told === "reset 1", `${path} ${JSON.stringify(asked)}: ${told}`)
      }
      assert.deepStrictEqual(outcomes, [])
      assert.strictEqual((yield* asking(made, "/", { headers: { host: `localhost:${port}` } })).status, 200)
    })
  )

  it.live("a reset ends the work and releases the backend; the other streams go on", () =>
    Effect.gen(function* () {
      let left = 0
      const backend = yield* httpBackend((request, response) => {
        response.on("close", () => {
          if (!response.writableFinished) left++
        })
        if (request.url === "/begun") response.write("some")
        else if (request.url !== "/never") response.end("well")
      })
      const { port, outcomes } = yield* proxyTo(portOf(backend.address()))
      const raw = new RawSession(port)
      raw.send(request(1, { path: "/never" }), request(3, { path: "/begun" }))
      yield* Effect.promise(() => eventually(() => raw.of(type.data, 3).length > 0))
      raw.send(frame(type.reset, 0, 1, resetCode(8)), frame(type.reset, 0, 3, resetCode(0)))
      yield* Effect.promise(() => eventually(() => left === 2 && outcomes.length === 2))
      assert.isTrue(outcomes.every(({ failure }) => failure === "the client went away"))
      raw.send(request(5))
      yield* Effect.promise(() => eventually(() => raw.of(type.data, 5).length > 0))
      raw.send(request(7, { path: "/never" }))
      yield* Effect.promise(() => eventually(() => raw.of(type.settings).length > 0))
      raw.socket.destroy()
      yield* Effect.promise(() => eventually(() => left === 3))
    })
  )

  it.live("an answer that comes before the body was read ends the stream without an error", () =>
    Effect.gen(function* () {
      const { port, outcomes } = yield* edge(() => Effect.succeed(text(200, "enough")))
      const raw = new RawSession(port)
      raw.send(request(1, { method: "POST", end: false }), frame(type.data, 0, 1, Buffer.alloc(1000)))
      yield* Effect.promise(() => eventually(() => raw.of(type.reset, 1).length > 0))
      assert.strictEqual(raw.of(type.reset, 1)[0]!.payload.readUInt32BE(), 0)
      const last = raw.of(type.data, 1).at(-1)!
      assert.deepStrictEqual([last.payload.toString(), last.flags & flag.endStream], ["enough", 1])
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: undefined }])
      raw.socket.destroy()
    })
  )

  it.live("a body that is cut short by a backend is cut short for the client", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend(({ url }, response) => {
        response.writeHead(200, url === "/long" ? { "content-length": "10" } : {})
        response.write("some", () => response.destroy())
      })
      const { port } = yield* proxyTo(portOf(backend.address()))
      const made = yield* session(port)
      for (const path of ["/long", "/chunks"]) {
        const { status, code } = yield* asking(made, path)
        assert.deepStrictEqual([status, code], [200, 2])
      }
    })
  )

  it.live("waits to ask for a body until somebody wants it", () =>
    Effect.gen(function* () {
      const { port } = yield* proxyTo(portOf((yield* mirror).address()))
      const raw = new RawSession(port)
      raw.send(request(1, { method: "POST", end: false, more: [["expect", "100-continue"]] }))
      yield* Effect.promise(() => eventually(() => raw.of(type.headers, 1).length > 0))
      raw.send(frame(type.data, flag.endStream, 1, Buffer.from("now")))
      yield* Effect.promise(() => eventually(() => raw.of(type.data, 1).length > 0))
      raw.socket.destroy()
    })
  )
})
