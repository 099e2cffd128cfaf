import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { parse } from "yaml"
import { HeaderList } from "../../src/http/header-list.ts"
import { edge, text } from "./edge.ts"
import { eventually, parseResponses, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

const Corpus = Schema.Struct({
  accepted: Schema.Array(
    Schema.Struct({
      title: Schema.String,
      request: Schema.String,
      answers: Schema.optionalKey(Schema.Int),
      closes: Schema.optionalKey(Schema.Boolean)
    })
  ),
  refused: Schema.Array(
    Schema.Struct({
      title: Schema.String,
      request: Schema.String,
      status: Schema.Int,
      text: Schema.optionalKey(Schema.String)
    })
  )
})
const corpus = Schema.decodeUnknownSync(Corpus)(
  parse(readFileSync(join(import.meta.dirname, "cases/framing.yaml"), "utf8"))
)

describe("framing on the wire", () => {
  const engine = (seen: Array<string>) =>
    edge((x) =>
      Effect.match(x.readRequestBody(), {
        onSuccess: (bytes) => text(200, `${x.request.method} ${x.request.uri} ${bytes.length}`),
        onFailure: (error) => text(error.status, error.message)
      }).pipe(Effect.tap(() => Effect.sync(() => seen.push(x.request.uri))))
    )

  it.live.each(corpus.accepted)("$title", ({ request, answers = 1, closes = false }) =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { port, defects } = yield* engine(seen)
      const client = new RawClient(port).send(request)
      const responses = yield* Effect.promise(() => client.responses(answers))
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        Array.from({ length: answers }, () => 200)
      )
      assert.strictEqual(seen.length, answers)
      if (closes) yield* Effect.promise(() => client.toEnd())
      else assert.isFalse(client.ended)
      client.socket.destroy()
      assert.deepStrictEqual(defects, [])
    })
  )

  it.live.each(corpus.refused)("refuses $title", ({ request, status, text: said }) =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { port, defects } = yield* engine(seen)
      const client = new RawClient(port).send(request)
      const all = yield* Effect.promise(() => client.toEnd())
      const responses = parseResponses(client.received)
      assert.strictEqual(responses.length, 1, all)
      const response = responses[0]!
      assert.strictEqual(response.status, status, all)
      assert.isFalse(client.reset)
      const header = (name: string) => response.headers.find(([key]) => key === name)?.[1]
      assert.strictEqual(header("content-type"), "text/plain")
      assert.strictEqual(header("connection"), "close")
      // RFC 9110 15.5.6.
      assert.strictEqual(header("allow") !== undefined, status === 405)
      if (said !== undefined) assert.strictEqual(response.body.toString(), said)
      assert.deepStrictEqual(seen, [])
      assert.deepStrictEqual(defects, [])
    })
  )

  // What requests are made of, whole and broken.
  const scraps = Schema.Literals([
    "GET / HTTP/1.1\r\n",
    "POST /x HTTP/1.1\r\n",
    "PUT / HTTP/1.0\r\n",
    "CONNECT a:1 ",
    "host: a\r\n",
    "content-length: 3\r\n",
    "transfer-encoding: chunked\r\n",
    "connection: close\r\n",
    "connection: upgrade\r\nupgrade: x\r\n",
    "expect: 100-continue\r\n",
    "\r\n",
    "abc",
    "3\r\nabc\r\n",
    "0\r\n\r\n",
    "\n",
    "\0",
    " ",
    "\xff",
    "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
  ])
  it.live.prop(
    "whatever bytes come, every answer is well-formed, and the next client is served",
    [Arbitrary.array(Arbitrary.schema(scraps), { maxLength: 12 })],
    ([scraps]) =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const { port, defects, bound } = yield* engine(seen)
        const client = new RawClient(port).send(scraps.join(""))
        client.socket.end()
        yield* Effect.promise(() => client.toEnd())
        const responses = parseResponses(client.received)
        const known = new Set([100, 200, 400, 405, 501])
        for (const { status } of responses) assert.isTrue(known.has(status), client.text)
        // Nothing follows the last answer, and the engine never saw more than was answered or cut.
        assert.isAtMost(responses.filter(({ status }) => status === 200).length, seen.length)
        assert.deepStrictEqual(defects, [])
        const next = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        const [response] = yield* Effect.promise(() => next.responses(1))
        assert.strictEqual(response?.status, 200)
        next.socket.destroy()
        yield* Effect.promise(() => eventually(() => bound.connections() === 0))
      }),
    { arbitrary: { runs: 100 } }
  )

  it.live("refuses more header lines than the limit, and not one fewer", () =>
    Effect.gen(function* () {
      const { port } = yield* edge((x) => Effect.succeed(text(200, String(x.request.headers.size))), {
        limits: { maxHeaders: 5 }
      })
      const request = (count: number) =>
        `GET / HTTP/1.1\r\nhost: a\r\n${Array.from({ length: count - 1 }, (_, i) => `x-${i}: 1\r\n`).join("")}\r\n`
      const [five] = yield* Effect.promise(() => new RawClient(port).send(request(5)).responses(1))
      assert.strictEqual(five?.status, 200)
      const six = yield* Effect.promise(() => new RawClient(port).send(request(6)).toEnd())
      assert.match(six, /^HTTP\/1.1 431 [\s\S]*too many request headers$/)
    })
  )

  it.live("refuses a head that is too large", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.succeed(text(200, "")), { maxHeadBytes: 1000 })
      const all = yield* Effect.promise(() =>
        new RawClient(port).send(`GET / HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(1000)}\r\n\r\n`).toEnd()
      )
      assert.match(all, /^HTTP\/1.1 431 [\s\S]*request headers too large$/)
    })
  )

  it.live("a request that is whole gets its answer, and the last one, when what follows is broken", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.delay(Effect.succeed(text(200, "late")), 30))
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\nnonsense\r\n\r\n")
      yield* Effect.promise(() => client.toEnd())
      const [response, ...more] = parseResponses(client.received)
      assert.strictEqual(response?.body.toString(), "late")
      assert.match(response?.head ?? "", /\r\nconnection: close/)
      assert.deepStrictEqual(more, [])
    })
  )

  it.live("an answer that has begun is finished before what follows is refused", () =>
    Effect.gen(function* () {
      const body = new Tap()
      const { port } = yield* edge(() => Effect.succeed({ status: 200, headers: new HeaderList(), body }))
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(({ text }) => text.includes("\r\n\r\n")))
      client.send("nonsense\r\n\r\n")
      yield* Effect.sleep(20)
      body.push("a").end()
      yield* Effect.promise(() => client.toEnd())
      assert.deepStrictEqual(
        parseResponses(client.received).map(({ status, body }) => [status, body.toString()]),
        [
          [200, "a"],
          [400, "malformed request"]
        ]
      )
    })
  )

  it.live("a body that breaks its framing while it is read is refused, if nothing was answered yet", () =>
    Effect.gen(function* () {
      let begun = false
      const { port, outcomes } = yield* edge((x) => {
        begun = true
        return Effect.match(x.readRequestBody(), {
          onSuccess: () => text(200, "whole"),
          onFailure: (error) => text(error.status, error.message)
        })
      })
      const client = new RawClient(port).send(
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"
      )
      yield* Effect.promise(() => eventually(() => begun))
      client.send("zz\r\n")
      assert.match(yield* Effect.promise(() => client.toEnd()), /^HTTP\/1.1 400 [\s\S]*malformed request$/)
      assert.deepStrictEqual(outcomes, [{ status: undefined, failure: "malformed request body" }])
    })
  )
})
