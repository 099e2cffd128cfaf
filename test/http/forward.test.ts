import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { isSource } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { edge, forward, httpBackend, portOf, proxyTo, tcpBackend, text, upstreamTo } from "./edge.ts"
import { mirror, mirrored, whole } from "./mirror.ts"
import { eventually, exchange, header, parseResponses, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

describe("what passes through", () => {
  const sizes = Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 70_000 }))), {
    maxLength: 5
  })

  it.live.prop(
    "bodies arrive byte for byte, however they are cut, in both directions",
    [sizes, sizes, Schema.Boolean, Schema.Boolean, Schema.Boolean],
    ([up, down, chunked, answerChunked, paced]) =>
      Effect.gen(function* () {
        const bytes = (sizes: ReadonlyArray<number>, seed: number) =>
          sizes.map((size, i) => Buffer.from(Array.from({ length: size }, (_, at) => (at * 31 + i * 7 + seed) & 0xff)))
        const [sent, answered] = [bytes(up, 1), bytes(down, 2)]
        let received: Buffer | undefined
        const backend = yield* httpBackend(async (request, response) => {
          received = await whole(request)
          if (!answerChunked) response.setHeader("content-length", Buffer.concat(answered).length)
          for (const chunk of answered) {
            response.write(chunk)
            if (paced) await new Promise(setImmediate)
          }
          response.end()
        })
        const { port, outcomes, defects } = yield* proxyTo(portOf(backend.address()))
        const body = Buffer.concat(sent)
        const client = new RawClient(port)
        client.send(
          `POST / HTTP/1.1\r\nhost: a\r\n${chunked ? "transfer-encoding: chunked" : `content-length: ${body.length}`}\r\n\r\n`
        )
        for (const chunk of sent) {
          if (chunked)
            client.send(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]))
          else client.send(chunk)
          if (paced) yield* Effect.promise(() => new Promise(setImmediate))
        }
        if (chunked) client.send("0\r\n\r\n")
        const [response] = yield* Effect.promise(() => client.responses(1))
        client.socket.destroy()
        assert.isTrue(received?.equals(body) ?? false, "the request body")
        assert.isTrue(response?.body.equals(Buffer.concat(answered)) ?? false, "the response body")
        yield* Effect.promise(() => eventually(() => outcomes.length === 1))
        assert.deepStrictEqual(outcomes, [{ status: 200, failure: undefined }])
        assert.deepStrictEqual(defects, [])
      }),
    { arbitrary: { runs: 30 } }
  )

  it.live(
    "request lines arrive as they came but for the path, which is normal: order, duplicates, case of values; nothing is added",
    () =>
      Effect.gen(function* () {
        const { port } = yield* proxyTo(portOf((yield* mirror).address()))
        const [response] = yield* exchange(
          port,
          "GET /a/../b?x=%zz&y HTTP/1.1\r\nHost: A.example:80\r\nX-B: Two  words\r\nx-a: 1\r\nX-B: \xe4\r\nCookie: a=1\r\nCookie: b=2\r\nConnection: x-gone\r\nX-Gone: 1\r\nTE: trailers\r\n\r\n"
        )
        const { url, headers } = mirrored(response!.body)
        assert.strictEqual(url, "/b?x=%zz&y")
        assert.deepStrictEqual(headers, [
          ...["host", "a.example", "connection", "keep-alive"],
          ...["x-b", "Two  words", "x-a", "1", "x-b", "\xe4", "cookie", "a=1", "cookie", "b=2", "te", "trailers"]
        ])
      })
  )

  it.live("response lines arrive as they came, connection headers excepted", () =>
    Effect.gen(function* () {
      const lines = [
        "Set-Cookie: a=1",
        "X-One: 1",
        "Set-Cookie: b=2; Path=/",
        "X-Hop: 1",
        "Date: Thu, 01 Jan 1970 00:00:00 GMT",
        "Via: 1.1 someone",
        "Content-Length: 2",
        "X-Two: \xe4",
        "Connection: keep-alive, X-Hop",
        "Keep-Alive: timeout=5",
        "Proxy-Authenticate: Basic"
      ]
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", () => socket.write(`HTTP/1.1 299 Odd\r\n${lines.join("\r\n")}\r\n\r\nok`, "latin1"))
      )
      const proxy = yield* proxyTo(port)
      const [response] = yield* exchange(proxy.port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      assert.strictEqual(response?.status, 299)
      assert.deepStrictEqual(
        response?.headers.map((line) => line.join(": ")),
        [
          "set-cookie: a=1",
          "x-one: 1",
          "set-cookie: b=2; Path=/",
          "date: Thu, 01 Jan 1970 00:00:00 GMT",
          "via: 1.1 someone",
          "content-length: 2",
          "x-two: \xe4",
          "connection: keep-alive"
        ]
      )
      assert.strictEqual(response?.body.toString(), "ok")
    })
  )

  it.live("a response without a date gets one", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.succeed(text(200, "")))
      const [response] = yield* exchange(port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      assert.isAtMost(Math.abs(Date.parse(header(response, "date") ?? "") - Date.now()), 5000)
    })
  )

  const bodiless: ReadonlyArray<readonly [method: string, answer: string, lines: Array<string>]> = [
    ["HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n", ["content-length: 100"]],
    ["HEAD", "HTTP/1.1 200 OK\r\n\r\n", []],
    ["GET", "HTTP/1.1 204 No Content\r\n\r\n", []],
    ["GET", "HTTP/1.1 304 Not Modified\r\ncontent-length: 100\r\n\r\n", ["content-length: 100"]],
    ["GET", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", ["content-length: 0"]]
  ]
  it.live.each(bodiless)("%s answered with %j has no body", ([method, answer, lines]) =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", (head) =>
          socket.write(head.includes("/next") ? "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" : answer)
        )
      )
      const proxy = yield* proxyTo(port)
      const client = new RawClient(proxy.port).send(`${method} / HTTP/1.1\r\nhost: a\r\n\r\n`)
      yield* Effect.promise(() => client.until(({ text }) => text.includes("\r\n\r\n")))
      // The next response on the same connection stands where a body would.
      client.send("GET /next HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(() => parseResponses(client.received, [method]).length === 2))
      const [response] = parseResponses(client.received, [method])
      assert.deepStrictEqual(
        response?.headers.flatMap(([name, value]) =>
          name === "content-length" || name === "transfer-encoding" ? [`${name}: ${value}`] : []
        ),
        lines
      )
      client.socket.destroy()
    })
  )

  it.live("a body that a direct response has is not sent to HEAD, but counted", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.succeed(text(200, "grün")))
      const client = new RawClient(port).send("HEAD / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(() => parseResponses(client.received, ["HEAD"]).length === 2))
      const [head, get] = parseResponses(client.received, ["HEAD"])
      assert.deepStrictEqual(
        head?.headers.filter(([name]) => name === "content-length"),
        [["content-length", "5"]]
      )
      assert.strictEqual(get?.body.toString(), "grün")
      client.socket.destroy()
    })
  )

  it.live("a body that only the end of the connection delimits becomes a chunked one", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", () => {
          socket.write("HTTP/1.1 200 OK\r\n\r\nfirst ")
          setTimeout(() => socket.end("second"), 20)
        })
      )
      const proxy = yield* proxyTo(port)
      const [response] = yield* exchange(proxy.port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      assert.strictEqual(response?.body.toString(), "first second")
      assert.strictEqual(header(response, "transfer-encoding"), "chunked")
    })
  )

  it.live("a client of HTTP/1.0 gets a body that ends with the connection", () =>
    Effect.gen(function* () {
      const body = new Tap()
      const { port } = yield* edge(() => Effect.succeed({ status: 200, headers: new HeaderList(), body }))
      const client = new RawClient(port).send("GET / HTTP/1.0\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(({ text }) => text.includes("\r\n\r\n")))
      body.push("a").push("b").end()
      const all = yield* Effect.promise(() => client.toEnd())
      assert.match(all, /\r\n\r\nab$/)
      assert.notMatch(all, /transfer-encoding/i)
    })
  )

  it.live("trailers of the response reach the client", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((_, response) => {
        response.writeHead(200, { trailer: "x-sum" })
        response.write("body")
        response.addTrailers({ "X-Sum": "42", "Content-Type": "text/evil" })
        response.end()
      })
      const { port } = yield* proxyTo(portOf(backend.address()))
      const [response] = yield* exchange(port, "GET / HTTP/1.1\r\nhost: a\r\nte: trailers\r\n\r\n")
      assert.strictEqual(response?.body.toString(), "body")
      assert.deepStrictEqual(response?.trailers, [["x-sum", "42"]])
    })
  )

  it.live("trailers of the request reach whoever reads the body", () =>
    Effect.gen(function* () {
      // What the client sends is what it gets back, as it comes.
      const { port } = yield* edge((x) =>
        Effect.succeed({ status: 200, headers: new HeaderList(), body: x.requestBody })
      )
      const [response] = yield* exchange(
        port,
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 42\r\n\r\n"
      )
      assert.strictEqual(response?.body.toString(), "abc")
      assert.deepStrictEqual(response?.trailers, [["x-sum", "42"]])
    })
  )

  it.live("a request body that came with its head is bytes, a longer one a source", () =>
    Effect.gen(function* () {
      const kinds: Array<string> = []
      const { port } = yield* edge((x) => {
        kinds.push(isSource(x.requestBody) ? "source" : x.requestBody instanceof Uint8Array ? "bytes" : "none")
        return Effect.match(x.readRequestBody(), {
          onSuccess: (bytes) => text(200, createHash("sha256").update(bytes).digest("hex")),
          onFailure: ({ message }) => text(400, message)
        })
      })
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc")
      yield* Effect.promise(() => client.responses(1))
      client.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n")
      yield* Effect.promise(() => eventually(() => kinds.length === 2))
      client.send("abc")
      yield* Effect.promise(() => client.responses(2))
      client.send("GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
      const responses = yield* Effect.promise(() => client.responses(3))
      assert.deepStrictEqual(kinds, ["bytes", "source", "none"])
      assert.strictEqual(responses[0]?.body.toString(), responses[1]?.body.toString())
      client.socket.destroy()
    })
  )

  it.live("a stream that stays silent shows its head, and each event as it comes", () =>
    Effect.gen(function* () {
      let send: (event: string) => void = () => {}
      const backend = yield* httpBackend((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.flushHeaders()
        send = (event) => response.write(event)
      })
      const { port } = yield* proxyTo(portOf(backend.address()))
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(({ text }) => text.endsWith("\r\n\r\n")))
      for (const event of ["data: 1\n\n", "data: 2\n\n"]) {
        send(event)
        yield* Effect.promise(() => client.until(({ text }) => text.includes(event)))
      }
      client.socket.destroy()
    })
  )

  it.live(
    "a name with `_` does not pass where it stands for a header that a client may not decide, or that is sent as well",
    () =>
      Effect.gen(function* () {
        let received: ReadonlyArray<string> = []
        const backend = yield* httpBackend((request, response) => {
          received = request.rawHeaders.map((line) => line.toLowerCase())
          response.end()
        })
        const upstream = yield* upstreamTo(portOf(backend.address()))
        const { port } = yield* edge((x) => {
          x.request.headers.set("x-user-id", "alice")
          return forward(upstream)(x)
        })
        const lines = [
          "X_User_Id: admin",
          "X-User_Id: admin",
          "x_forwarded_for: ::1",
          "content_length: 5",
          "transfer_encoding: chunked"
        ]
        yield* exchange(
          port,
          `GET / HTTP/1.1\r\nhost: a\r\nclient_id: me\r\nx_headgate_user: admin\r\n${lines.join("\r\n")}\r\n\r\n`
        )
        assert.deepStrictEqual(
          received.filter((line) => line.includes("_")),
          ["client_id"]
        )
        assert.include(received, "alice")
      })
  )
})
