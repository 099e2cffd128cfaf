import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { observe } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import { edge, forward, httpBackend, portOf, text, upstreamTo } from "./edge.ts"
import { eventually, exchange, header, parseResponses, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

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

  it.live("what is no length is told of no body that HEAD leaves out", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() =>
        Effect.succeed({ status: 200, headers: new HeaderList(["content-length", "1, 2"]), body: undefined })
      )
      const client = new RawClient(port).send("HEAD / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
      assert.notInclude(yield* Effect.promise(() => client.toEnd()), "content-length")
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

  const bodyOf = (body: unknown): unknown => ({ status: 200, headers: new HeaderList(), body })
  it.live.each([
    ["a number as body", bodyOf(42)],
    ["null as body", bodyOf(null)],
    ["an object as body", bodyOf({ start: "now" })],
    ["a list as body", bodyOf([1])],
    ["a function as body", bodyOf(() => {})],
    ["a status that is text", { status: "200", headers: new HeaderList(), body: undefined }],
    ["a status with a fraction", { status: 200.5, headers: new HeaderList(), body: undefined }],
    ["a status beyond 599", { status: 600, headers: new HeaderList(), body: undefined }],
    ["no status", { status: Number.NaN, headers: new HeaderList(), body: undefined }],
    ["headers as an object", { status: 200, headers: { a: "b" }, body: undefined }],
    [
      "a header that is no text",
      { status: 200, headers: new HeaderList(["x", Symbol("y") as never]), body: undefined }
    ],
    ["nothing", undefined],
    ["null", null],
    ["text", "yes"]
  ])("%s, which only a lie about its type can be, is an internal error, at once and later", ([, answer]) =>
    Effect.gen(function* () {
      const lie = answer as Answer
      const { port, defects } = yield* edge((x) =>
        x.request.path === "/soon" ? Effect.succeed(lie) : Effect.delay(Effect.succeed(lie), 1)
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
      assert.strictEqual(defects.length, 2)
    })
  )

  it.live("a source that yields what is not bytes costs its connection, and nothing else", () =>
    Effect.gen(function* () {
      const bodies = [new Tap().push(42 as never), new Tap()]
      const { port, defects } = yield* edge((x) =>
        Effect.succeed({ status: 200, headers: new HeaderList(), body: bodies[Number(x.request.path.slice(1))] })
      )
      for (const [index, body] of bodies.entries()) {
        const client = new RawClient(port).send(`GET /${index} HTTP/1.1\r\nhost: a\r\n\r\n`)
        if (index === 1) {
          yield* Effect.promise(() => client.until(({ size }) => size > 0))
          body.push("text".repeat(3)).push({} as never)
        }
        yield* Effect.promise(() => client.toEnd())
        assert.isTrue(body.cancelled)
      }
      assert.strictEqual(defects.length, 2)
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
