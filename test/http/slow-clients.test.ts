/** Clients that keep others waiting, on a clock that stands still until a test moves it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type BodySource, isSource, observe } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { edge, forward, httpBackend, portOf, text, upstreamTo } from "./edge.ts"
import { eventually, header, parseResponses, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

const limit = 80

/** A listener that closes who is idle for 80 ms of its own clock, or takes as long for a head. */
const timed = (handle: (x: Exchange) => Effect.Effect<Answer>, headTimeout = limit) =>
  Effect.gen(function* () {
    let now = 0
    let reads = 0
    const monotonic = () => {
      reads++
      return now
    }
    let begun = 0
    const handling = (x: Exchange) => {
      begun++
      return handle(x)
    }
    const opened = yield* edge(handling, {
      limits: { idleTimeout: limit, stallTimeout: limit, headTimeout },
      clocks: { wall: Date.now, monotonic }
    })
    return {
      ...opened,
      /** Waits until a request has come so far. */
      begun: Effect.promise(() => eventually(() => begun > 0)),
      /** Moves the clock, and waits until the listener has looked at its connections twice. */
      pass: (milliseconds: number) =>
        Effect.promise(() => {
          now += milliseconds
          const before = reads
          // While nobody asks for anything, nothing but the look reads the clock.
          return eventually(() => reads >= before + 2)
        })
    }
  })

const over = (client: RawClient) => Effect.promise(() => client.until(({ ended, closed }) => ended || closed))

const upload = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
const whole = (x: Exchange) =>
  Effect.map(Effect.orDie(x.readRequestBody()), (bytes) => text(200, `${bytes.length} bytes`))

describe("a slow client", () => {
  it.live("that does not finish the head of a request is told so, and closed: the first time, and later", () =>
    Effect.gen(function* () {
      const { port, bound, pass } = yield* timed(() => Effect.succeed(text(200, "")))
      const first = new RawClient(port).send("GET / HTTP/1.1\r\nho")
      yield* Effect.promise(() => eventually(() => bound.connections() === 1))
      yield* pass(0)
      // Bytes that come one by one buy no time.
      for (const byte of "st: a") {
        yield* pass(limit / 10)
        first.send(byte)
      }
      assert.isFalse(first.ended)
      yield* pass(limit / 2)
      yield* over(first)
      const [refusal] = parseResponses(first.received)
      assert.deepStrictEqual(
        [refusal?.status, refusal?.body.toString(), header(refusal, "connection")],
        [408, "request timeout", "close"]
      )
      // Too late: it is not answered twice.
      first.send("\r\n\r\n")
      yield* Effect.promise(() => eventually(() => bound.connections() === 0))
      assert.strictEqual(parseResponses(first.received).length, 1)

      const second = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => second.responses(1))
      yield* pass(limit - 1)
      second.send("GET / HTT")
      yield* Effect.promise(() => eventually(() => second.socket.writableLength === 0))
      yield* pass(0)
      // A head may take as long as the wait for it.
      yield* pass(limit - 1)
      assert.isFalse(second.ended)
      yield* pass(1)
      yield* over(second)
      assert.deepStrictEqual(
        parseResponses(second.received).map(({ status }) => status),
        [200, 408]
      )
      first.socket.destroy()
      second.socket.destroy()
    })
  )

  it.live("has less time for a head than for being idle, where the limits say so", () =>
    Effect.gen(function* () {
      const { port, bound, pass } = yield* timed(() => Effect.succeed(text(200, "")), limit / 4)
      const silent = new RawClient(port)
      const begun = new RawClient(port).send("GET / HTTP/1.1\r\nho")
      yield* Effect.promise(() => eventually(() => bound.connections() === 2))
      yield* pass(0)
      yield* pass(limit / 4)
      yield* over(begun)
      assert.deepStrictEqual(
        parseResponses(begun.received).map(({ status }) => status),
        [408]
      )
      yield* pass(limit / 2)
      assert.isFalse(silent.ended || silent.closed)
      yield* pass(limit / 4)
      yield* over(silent)
      assert.strictEqual(silent.text, "")
      begun.socket.destroy()
      silent.socket.destroy()
    })
  )

  it.live("that finished a body which nobody wanted, and asks for nothing more, is closed without a word", () =>
    Effect.gen(function* () {
      const { port, bound, pass } = yield* timed(() => Effect.succeed(text(200, "")))
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nab")
      yield* Effect.promise(() => client.responses(1))
      client.send("cd")
      yield* pass(0)
      yield* pass(limit)
      yield* over(client)
      assert.deepStrictEqual(
        parseResponses(client.received).map(({ status }) => status),
        [200]
      )
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => bound.connections() === 0))
    })
  )

  it.live("that was slow with a body which nobody wanted has the whole time for its next head", () =>
    Effect.gen(function* () {
      const { port, bound, pass } = yield* timed(() => Effect.succeed(text(200, "")))
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nab")
      yield* Effect.promise(() => client.responses(1))
      client.send("c")
      yield* pass(0)
      client.send("d")
      yield* pass(limit - 1)
      client.send("GET / HTT")
      yield* pass(0)
      yield* pass(limit - 1)
      assert.isFalse(client.ended)
      client.send("P/1.1\r\nhost: a\r\n\r\n")
      const answers = yield* Effect.promise(() => client.responses(2))
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200]
      )
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => bound.connections() === 0))
    })
  )

  it.live("that stops in the middle of a body is told so, and what was kept of it is let go", () =>
    Effect.gen(function* () {
      let error: string | undefined
      const { port, bound, pass, begun, outcomes, defects } = yield* timed((x) => {
        x.onFinish(() => {
          error = x.error?.message
        })
        return whole(x)
      })
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nabc")
      yield* begun
      yield* pass(0)
      yield* pass(limit - 1)
      assert.strictEqual(client.text, "")
      yield* pass(1)
      yield* over(client)
      const [refusal] = parseResponses(client.received)
      assert.deepStrictEqual(
        [refusal?.status, refusal?.body.toString(), header(refusal, "connection")],
        [408, "the request body did not come in time", "close"]
      )
      assert.deepStrictEqual(outcomes, [{ status: 408, failure: undefined }])
      assert.strictEqual(error, "the request body did not come in time")
      assert.deepStrictEqual(defects, [])
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => bound.connections() === 0))
    })
  )

  it.live("that stops in the middle of a body on its way to a backend is told so, and the call ends", () =>
    Effect.gen(function* () {
      let received = ""
      let cut = false
      const backend = yield* httpBackend((request) => {
        request
          .on("data", (chunk) => {
            received += chunk
          })
          .on("error", () => {
            cut = true
          })
      })
      const upstream = yield* upstreamTo(portOf(backend.address()))
      const { port, pass } = yield* timed(forward(upstream))
      const client = new RawClient(port).send(`${upload}3\r\nabc\r\n`)
      yield* Effect.promise(() => eventually(() => received === "abc"))
      yield* pass(0)
      yield* pass(limit)
      yield* over(client)
      assert.strictEqual(parseResponses(client.received)[0]?.status, 408)
      yield* Effect.promise(() => eventually(() => cut))
      client.socket.destroy()
    })
  )

  it.live("that goes on moving is never cut, however long it takes", () =>
    Effect.gen(function* () {
      let received = 0
      const { port, pass } = yield* timed((x) => {
        x.requestBody = observe(x.requestBody, { data: () => received++, end: () => {} })
        return whole(x)
      })
      const client = new RawClient(port).send(upload)
      for (let i = 0; i < 12; i++) {
        client.send("1\r\nx\r\n")
        yield* Effect.promise(() => eventually(() => received === i + 1))
        yield* pass(limit - 1)
      }
      client.send("0\r\n\r\n")
      const [answer] = yield* Effect.promise(() => client.responses(1))
      assert.deepStrictEqual([answer?.status, answer?.body.toString()], [200, "12 bytes"])
      client.socket.destroy()
    })
  )

  it.live("that is held back by whoever reads is not to blame", () =>
    Effect.gen(function* () {
      let source: BodySource | undefined
      let received = 0
      const { port, pass } = yield* timed((x) =>
        Effect.callback((resume) => {
          if (!isSource(x.requestBody)) return
          source = x.requestBody
          source.start({
            data: (chunk) => {
              received += chunk.length
              return false
            },
            end: () => resume(Effect.succeed(text(200, String(received)))),
            fail: () => {}
          })
        })
      )
      const client = new RawClient(port).send(`${upload}3\r\nabc\r\n`)
      yield* Effect.promise(() => eventually(() => received === 3))
      for (let i = 0; i < 3; i++) yield* pass(limit)
      assert.strictEqual(client.text, "")
      source?.resume()
      yield* pass(0)
      client.send("0\r\n\r\n")
      const [answer] = yield* Effect.promise(() => client.responses(1))
      assert.deepStrictEqual([answer?.status, answer?.body.toString()], [200, "3"])
      client.socket.destroy()
    })
  )

  it.live("whose unread body was dropped is idle afterwards, and not slow", () =>
    Effect.gen(function* () {
      const { port, pass } = yield* timed(() => Effect.succeed(text(403, "no")))
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc")
      yield* Effect.promise(() => client.responses(1))
      client.send("defghij")
      yield* Effect.promise(() => eventually(() => client.socket.writableLength === 0))
      yield* pass(0)
      yield* pass(limit)
      yield* over(client)
      assert.deepStrictEqual(
        parseResponses(client.received).map(({ status }) => status),
        [403]
      )
      client.socket.destroy()
    })
  )

  it.live("that takes nothing of its answer is cut, and what stands behind the answer is let go", () =>
    Effect.gen(function* () {
      const body = new Tap()
      const { port, pass, outcomes } = yield* timed(() =>
        Effect.succeed({ status: 200, headers: new HeaderList(), body })
      )
      const client = new RawClient(port)
      client.socket.pause()
      client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => eventually(() => body.flowing))
      // More than the system holds for the two of them.
      const piece = Buffer.alloc(65_536, "x")
      while (body.flowing) {
        body.push(piece)
        yield* Effect.sleep(1)
      }
      // It is slow, but it moves.
      for (let i = 0; i < 3; i++) {
        const before = client.size
        client.socket.resume()
        yield* Effect.promise(() => eventually(() => client.size > before && body.flowing))
        client.socket.pause()
        while (body.flowing) {
          body.push(piece)
          yield* Effect.sleep(1)
        }
        yield* pass(limit - 1)
      }
      assert.deepStrictEqual(outcomes, [])
      // What the system still takes after the client has stopped is movement, too, but it ends.
      while (!body.cancelled) {
        if (body.flowing) body.push(piece)
        else yield* pass(limit)
        yield* Effect.sleep(5)
      }
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: "the answer was not taken in time" }])
      client.socket.destroy()
    })
  )

  it.live("whose answer has begun is cut when neither side sends any more", () =>
    Effect.gen(function* () {
      const body = new Tap().push("first")
      const { port, pass, outcomes } = yield* timed((x) => {
        if (isSource(x.requestBody)) x.requestBody.start({ data: () => true, end: () => {}, fail: () => {} })
        return Effect.succeed({ status: 200, headers: new HeaderList(), body })
      })
      const client = new RawClient(port).send(upload)
      yield* Effect.promise(() => client.until(({ text }) => text.includes("first")))
      for (let i = 0; i < 3; i++) {
        body.push("more")
        yield* pass(limit - 1)
      }
      assert.isFalse(client.ended)
      yield* pass(limit)
      yield* over(client)
      assert.deepStrictEqual(parseResponses(client.received), [])
      assert.isTrue(body.cancelled)
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: "the request body did not come in time" }])
      client.socket.destroy()
    })
  )
})
