import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { isSource, observe } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { edge, forward, httpBackend, portOf, proxyTo, tcpBackend, text, upstreamTo } from "./edge.ts"
import { eventually, parseResponses, RawClient, type RawResponse } from "./raw-client.ts"
import { Tap } from "./tap.ts"

const whole = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** A backend that tells what it was sent. */
const mirror = httpBackend(async (request, response) => {
  const body = await whole(request)
  response.setHeader("content-type", "application/json")
  response.end(
    JSON.stringify({
      method: request.method,
      url: request.url,
      headers: request.rawHeaders,
      body: body.toString("latin1")
    })
  )
})

const Mirrored = Schema.fromJsonString(
  Schema.Struct({
    method: Schema.String,
    url: Schema.String,
    headers: Schema.Array(Schema.String),
    body: Schema.String
  })
)
const mirrored = (body: Buffer) => Schema.decodeUnknownSync(Mirrored)(body.toString())

const header = (response: RawResponse | undefined, name: string) => response?.headers.find(([key]) => key === name)?.[1]

/** Sends bytes and waits for a number of responses. */
const exchange = (port: number, bytes: string | Buffer, count = 1) =>
  Effect.promise(async () => {
    const client = new RawClient(port).send(bytes)
    const responses = await client.responses(count)
    client.socket.destroy()
    return responses
  })

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

  it.live("request lines arrive as they came: order, duplicates, case of values; nothing is added", () =>
    Effect.gen(function* () {
      const { port } = yield* proxyTo(portOf((yield* mirror).address()))
      const [response] = yield* exchange(
        port,
        "GET /a/../b?x=%zz&y HTTP/1.1\r\nHost: A.example:80\r\nX-B: Two  words\r\nx-a: 1\r\nX-B: \xe4\r\nCookie: a=1\r\nCookie: b=2\r\nConnection: x-gone\r\nX-Gone: 1\r\nTE: trailers\r\n\r\n"
      )
      const { url, headers } = mirrored(response!.body)
      assert.strictEqual(url, "/a/../b?x=%zz&y")
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
      yield* Effect.sleep(10)
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
})

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

  it.live("1xx responses pass, in order, but not to HTTP/1.0", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", () =>
          socket.write(
            "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
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
})

describe("answers that are not as they should be", () => {
  it.live("a source that yields less than was declared cannot pass for whole", () =>
    Effect.gen(function* () {
      const body = new Tap().push("abc").end()
      const { port, outcomes } = yield* edge(() =>
        Effect.succeed({ status: 200, headers: new HeaderList(["content-length", "5"]), body })
      )
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.toEnd())
      assert.deepStrictEqual(parseResponses(client.received), [])
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: "less than the declared length" }])
    })
  )

  it.live("nor one that yields more", () =>
    Effect.gen(function* () {
      const body = new Tap().push("abc").push("defg")
      const { port, outcomes } = yield* edge(() =>
        Effect.succeed({ status: 200, headers: new HeaderList(["content-length", "5"]), body })
      )
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.toEnd())
      assert.deepStrictEqual(parseResponses(client.received), [])
      assert.isTrue(body.cancelled)
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: "more than the declared length" }])
    })
  )

  it.live("a wrong length of a body in memory is mended", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.succeed(text(200, "abc", ["content-length", "77", "x-last", "1"])))
      const [response] = yield* exchange(port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      assert.strictEqual(response?.body.toString(), "abc")
    })
  )

  it.live("connection headers that a policy sets do not leave", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() =>
        Effect.succeed(text(200, "abc", ["transfer-encoding", "gzip", "connection", "close", "upgrade", "x"]))
      )
      const [response] = yield* exchange(port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      assert.deepStrictEqual(
        response?.headers.map(([name]) => name),
        ["content-type", "content-length", "date", "connection"]
      )
      assert.strictEqual(header(response, "connection"), "keep-alive")
    })
  )

  it.live.each([
    ["a line break in a value", ["x", "1\r\nset-cookie: evil"]],
    ["a name that is none", ["x y", "1"]],
    ["a value beyond latin-1", ["x", "€"]]
  ] as const)("%s is an internal error, and the client is told no more", ([, lines]) =>
    Effect.gen(function* () {
      const { port, defects } = yield* edge(() => Effect.succeed(text(200, "secret", lines)))
      const [response] = yield* exchange(port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      assert.strictEqual(response?.status, 500)
      assert.strictEqual(response?.body.toString(), "internal error")
      assert.notMatch(response?.head ?? "", /evil/)
      assert.strictEqual(defects.length, 1)
    })
  )

  it.live("a defect of the engine is an internal error", () =>
    Effect.gen(function* () {
      const { port, defects, outcomes } = yield* edge((x) =>
        x.request.path === "/soon" ? Effect.die("bug") : Effect.delay(Effect.die("late bug"), 5)
      )
      const responses = yield* exchange(
        port,
        "GET /soon HTTP/1.1\r\nhost: a\r\n\r\nGET /late HTTP/1.1\r\nhost: a\r\n\r\n",
        2
      )
      assert.deepStrictEqual(
        responses.map(({ status, body }) => [status, body.toString()]),
        [
          [500, "internal error"],
          [500, "internal error"]
        ]
      )
      assert.deepStrictEqual(defects, ["bug", "late bug"])
      assert.deepStrictEqual(outcomes, [
        { status: 500, failure: undefined },
        { status: 500, failure: undefined }
      ])
    })
  )

  it.live("an engine that throws is an internal error, too", () =>
    Effect.gen(function* () {
      const { port, defects } = yield* edge(() => {
        throw new Error("bug")
      })
      const [response] = yield* exchange(port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      assert.strictEqual(response?.status, 500)
      assert.strictEqual(defects.length, 1)
    })
  )

  it.live.each(["at once", "later"])("an observer that throws (%s) ends the response, and nothing else", (when) =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((_, response) => {
        if (when === "at once") response.write("first")
        else {
          response.flushHeaders()
          setTimeout(() => response.write("first"), 20)
        }
      })
      const upstream = yield* upstreamTo(portOf(backend.address()))
      const { port, outcomes } = yield* edge((x) =>
        Effect.map(forward(upstream)(x), (answer) => ({
          ...answer,
          body: observe(answer.body, {
            data: () => {
              throw new Error("bug of an observer")
            },
            end: () => {}
          })
        }))
      )
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.toEnd())
      assert.deepStrictEqual(parseResponses(client.received), [])
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: "body ended early: bug of an observer" }])
    })
  )

  it.live("so does a source that throws when it is started, and a listener of the end that throws harms nobody", () =>
    Effect.gen(function* () {
      const body = new Tap()
      body.start = () => {
        throw new Error("bug of a source")
      }
      const { port, defects, outcomes } = yield* edge((x) => {
        x.onFinish(() => {
          throw new Error("bug of a listener")
        })
        return Effect.succeed({ status: 200, headers: new HeaderList(), body })
      })
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.toEnd())
      assert.isTrue(body.cancelled)
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: "internal error" }])
      assert.deepStrictEqual(defects.map(String), ["Error: bug of a source", "Error: bug of a listener"])
    })
  )

  it.live("what was sent of a body is counted", () =>
    Effect.gen(function* () {
      const counts: Array<number> = []
      const { port } = yield* edge((x) => {
        x.onFinish(({ bytes }) => counts.push(bytes))
        const body = x.request.path === "/whole" ? "grün" : new Tap().push("abc").push("de").end()
        return Effect.succeed({ status: 200, headers: new HeaderList(), body })
      })
      yield* exchange(port, "GET /whole HTTP/1.1\r\nhost: a\r\n\r\nGET /stream HTTP/1.1\r\nhost: a\r\n\r\n", 2)
      yield* Effect.promise(() => eventually(() => counts.length === 2))
      assert.deepStrictEqual(counts, [5, 5])
    })
  )
})
