import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, type Exit, Fiber } from "effect"
import { isSource, read } from "../../../src/http/body.ts"
import { HeaderList } from "../../../src/http/header-list.ts"
import type { Answer } from "../../../src/http/message.ts"
import type { UpstreamOptions } from "../../../src/services/upstreams.ts"
import { httpBackend, portOf, tcpBackend, upstreamRequest, upstreamTo } from "../../../test/http/edge.ts"
import { frame, frameBackend, frameTypes, http2Backend, literals, number32 } from "../../../test/http2/backend.ts"
import { Given, Reader } from "../../../test/http2/bodies.ts"

const ok = literals([":status", "200"])
const { data, headers, reset, goaway, settings } = frameTypes

const to = (port: number, options: UpstreamOptions = {}) => upstreamTo(port, { version: "2", ...options })

const textOf = ({ body }: Answer) =>
  Effect.map(read(body, 100_000_000), ({ bytes }) => Buffer.from(bytes).toString("latin1"))

describe("a backend that speaks HTTP/2", () => {
  it.live("is asked, and its answer is whole", () =>
    Effect.gen(function* () {
      const seen: Array<ReadonlyArray<string>> = []
      const backend = yield* http2Backend((stream, fields) => {
        seen.push(fields)
        stream.respond({ ":status": 201, "x-a": "1", "set-cookie": ["a", "b"] })
        stream.end("hello")
      })
      const { send } = yield* to(backend.port)
      const answer = yield* send(
        upstreamRequest({
          pathAndQuery: "/a?b",
          authority: "a.example",
          headers: new HeaderList(["x-b", "2", "te", "trailers"])
        })
      )
      assert.strictEqual(answer.status, 201)
      assert.deepStrictEqual(answer.headers.getAll("set-cookie"), ["a", "b"])
      assert.strictEqual(yield* textOf(answer), "hello")
      assert.deepStrictEqual(seen, [
        [":method", "GET", ":scheme", "http", ":authority", "a.example", ":path", "/a?b", "x-b", "2", "te", "trailers"]
      ])
    })
  )
  it.live("is sent bodies, and sends some with their trailers", () =>
    Effect.gen(function* () {
      const backend = yield* http2Backend((stream) => {
        const chunks: Array<Buffer> = []
        stream.on("data", (chunk: Buffer) => chunks.push(chunk))
        stream.on("end", () => {
          stream.respond({ ":status": 200 }, { waitForTrailers: true })
          stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "x-t": "2" }))
          stream.end(Buffer.concat(chunks))
        })
      })
      const { send } = yield* to(backend.port)
      const body = new Given([10, 20_000, 100_000], new HeaderList(["x-t", "1"]))
      const answer = yield* send(upstreamRequest({ method: "POST", body }))
      assert.isTrue(isSource(answer.body))
      if (!isSource(answer.body)) return
      const reader = new Reader(answer.body)
      yield* Effect.promise(() => reader.until(({ ended }) => ended !== undefined))
      assert.deepStrictEqual(
        [reader.bytes, reader.ended, reader.trailers?.flat],
        [120_010, "whole", ["grpc-status", "0", "x-t", "2"]]
      )
    })
  )

  it.live("which ends a stream before its answer is whole is told from one that ends an answer", () =>
    Effect.gen(function* () {
      /** What follows the request of each path. */
      const answers: Readonly<Record<string, ReadonlyArray<Buffer>>> = {
        whole: [frame(headers, 4, 1, ok), frame(data, 1, 1, Buffer.from("ab"))],
        "whole, then reset": [
          frame(headers, 4, 1, ok),
          frame(data, 1, 1, Buffer.from("ab")),
          frame(reset, 0, 1, number32(0))
        ],
        "no error": [frame(headers, 4, 1, ok), frame(data, 0, 1, Buffer.from("ab")), frame(reset, 0, 1, number32(0))],
        cancelled: [frame(headers, 4, 1, ok), frame(data, 0, 1, Buffer.from("ab")), frame(reset, 0, 1, number32(8))],
        internal: [frame(headers, 4, 1, ok), frame(data, 0, 1, Buffer.from("ab")), frame(reset, 0, 1, number32(2))],
        "at once": [frame(reset, 0, 1, number32(0))],
        "at once, with an error": [frame(reset, 0, 1, number32(2))],
        short: [
          frame(headers, 4, 1, literals([":status", "200", "content-length", "3"])),
          frame(data, 1, 1, Buffer.from("ab"))
        ],
        long: [
          frame(headers, 4, 1, literals([":status", "200", "content-length", "1"])),
          frame(data, 1, 1, Buffer.from("ab"))
        ],
        gone: []
      }
      const outcomes: Record<string, unknown> = {}
      for (const [name, frames] of Object.entries(answers)) {
        const backend = yield* frameBackend(({ type }, socket) => {
          if (type !== headers) return
          socket.write(Buffer.concat(frames))
          if (frames.length === 0) socket.destroy()
        })
        const { send } = yield* to(backend.port)
        const exit = yield* Effect.exit(Effect.flatMap(send(upstreamRequest({ method: "POST" })), textOf))
        outcomes[name] = exit._tag === "Success" ? exit.value : failureOf(exit)
      }
      assert.deepStrictEqual(outcomes, {
        whole: "ab",
        "whole, then reset": "ab",
        "no error": "body ended early: reset",
        cancelled: "body ended early: reset",
        internal: "body ended early: reset",
        "at once": "upstream call failed: reset: the backend ended the stream (NO_ERROR), sent",
        "at once, with an error": "upstream call failed: reset: the backend ended the stream (INTERNAL_ERROR), sent",
        short: "body ended early: protocol",
        long: "body ended early: protocol",
        gone: "upstream call failed: reset: the connection was closed before there was a response, sent"
      })
    })
  )

  it.live("which sends what is none fails its call, and nothing else", () =>
    Effect.gen(function* () {
      const head = (...fields: ReadonlyArray<string>) => [frame(headers, 4, 1, literals([":status", "200", ...fields]))]
      const answers: Readonly<Record<string, ReadonlyArray<Buffer>>> = {
        "no status": [frame(headers, 5, 1, literals(["a", "b"]))],
        "a status that is none": [frame(headers, 5, 1, literals([":status", "2000"]))],
        "a status of 600": [frame(headers, 5, 1, literals([":status", "600"]))],
        two: [frame(headers, 5, 1, literals([":status", "200", ":status", "201"]))],
        "a pseudo-field of requests": [frame(headers, 5, 1, literals([":status", "200", ":path", "/"]))],
        "a pseudo-field behind": [frame(headers, 5, 1, literals(["a", "b", ":status", "200"]))],
        capitals: head("A", "b"),
        connection: head("connection", "close"),
        "transfer-encoding": head("transfer-encoding", "chunked"),
        upgrade: head("upgrade", "h2c"),
        "two lengths": head("content-length", "1", "content-length", "1"),
        "a length that is none": head("content-length", "one"),
        "101": [frame(headers, 4, 1, literals([":status", "101"]))],
        "100": [frame(headers, 4, 1, literals([":status", "100"]))],
        "an interim one that ends": [frame(headers, 5, 1, literals([":status", "103"]))],
        "a body without a head": [frame(data, 1, 1, Buffer.from("ab"))],
        "a push": [frame(frameTypes.push, 4, 1, Buffer.concat([number32(2), literals([":method", "GET"])]))],
        "another version": [Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")],
        "half a frame": [frame(headers, 4, 1, ok).subarray(0, 12)],
        "a frame that is too large": [Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1])],
        "a bomb": [
          frame(headers, 0, 1, literals([":status", "200"])),
          ...Array.from({ length: 40 }, () =>
            frame(frameTypes.continuation, 0, 1, literals(["a", "b".repeat(10_000)]))
          ),
          frame(frameTypes.continuation, 4, 1)
        ],
        "many lines": [
          frame(headers, 0, 1, literals([":status", "200"])),
          ...Array.from({ length: 5 }, () =>
            frame(frameTypes.continuation, 0, 1, literals(Array.from({ length: 1_000 }, () => "a")))
          ),
          frame(frameTypes.continuation, 4, 1)
        ],
        "interim ones without end": Array.from({ length: 1_002 }, () =>
          frame(headers, 4, 1, literals([":status", "103"]))
        )
      }
      for (const [name, frames] of Object.entries(answers)) {
        const backend = yield* frameBackend(({ type }, socket) => {
          if (type !== headers) return
          socket.write(Buffer.concat(frames))
          if (name === "half a frame") socket.end()
        })
        const { send } = yield* to(backend.port)
        const exit = yield* Effect.exit(
          Effect.timeout(send(upstreamRequest({ informer: { inform: () => {} } })), 5_000)
        )
        const error = exit._tag === "Failure" ? Cause.squash(exit.cause) : new Error("none")
        if (!(error instanceof Error)) return assert.fail()
        assert.strictEqual("status" in error ? error.status : undefined, 503, `${name}: ${error.message}`)
        assert.match(error.message, name === "half a frame" ? /reset/ : /protocol|reset/, name)
      }
    })
  )

  it.live("which sends fields that are none is heard without them", () =>
    Effect.gen(function* () {
      const fields = ["a b", "1", "a", "b\r\nc: d", "d", "e\0f", "g\n", "1", "h", " i"]
      const backend = yield* frameBackend(({ type }, socket) => {
        if (type === headers) socket.write(frame(headers, 5, 1, literals([":status", "200", ...fields, "x-a", "1"])))
      })
      const { send } = yield* to(backend.port)
      assert.deepStrictEqual((yield* send(upstreamRequest())).headers.flat, ["x-a", "1"])
    })
  )

  it.live("says of bodies that are none how long they would be, and is believed", () =>
    Effect.gen(function* () {
      const backend = yield* http2Backend((stream, fields) => {
        const status = fields[fields.indexOf(":path") + 1]!.slice(1)
        stream.respond({ ":status": Number(status), "content-length": 5 }, { endStream: true })
      })
      const { send } = yield* to(backend.port)
      for (const [method, status] of [
        ["HEAD", 200],
        ["GET", 304]
      ] as const) {
        const answer = yield* send(upstreamRequest({ method, pathAndQuery: `/${status}` }))
        assert.deepStrictEqual(
          [answer.status, answer.body, answer.headers.get("content-length")],
          [status, undefined, "5"]
        )
      }
      assert.strictEqual(backend.sessions.length, 1)
    })
  )

  it.live("may answer while it is still being sent to: the rest stays behind, and the session goes on", () =>
    Effect.gen(function* () {
      const backend = yield* http2Backend((stream) => {
        stream.respond({ ":status": 413 })
        stream.end("enough")
      })
      const { send } = yield* to(backend.port)
      for (let round = 0; round < 3; round++) {
        const body = new Given([10], undefined, true)
        const answer = yield* send(upstreamRequest({ method: "POST", body }))
        assert.deepStrictEqual([answer.status, yield* textOf(answer), body.cancelled], [413, "enough", 1])
      }
      assert.strictEqual(backend.sessions.length, 1)
    })
  )

  it.live("is told when nobody waits for it any more: before its head, and in its body", () =>
    Effect.gen(function* () {
      const resets: Array<number> = []
      let told = () => {}
      const backend = yield* frameBackend(({ type, stream, payload }, socket) => {
        if (type === headers && stream > 1)
          socket.write(Buffer.concat([frame(headers, 4, stream, ok), frame(data, 0, stream, Buffer.from("ab"))]))
        if (type === headers) told()
        if (type === reset) {
          resets.push(payload.readUInt32BE(0))
          told()
        }
      })
      const { send } = yield* to(backend.port)
      const next = () =>
        new Promise<void>((resolve) => {
          told = resolve
        })
      const first = next()
      const fiber = yield* Effect.forkChild(send(upstreamRequest()))
      yield* Effect.promise(() => first)
      const second = next()
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => second)
      const answer = yield* send(upstreamRequest())
      const third = next()
      if (isSource(answer.body)) new Reader(answer.body).cancel()
      yield* Effect.promise(() => third)
      assert.deepStrictEqual([resets, backend.sockets.length], [[8, 8], 1])
    })
  )
})

describe("a request that a backend has not looked at", () => {
  const answering = (stream: number) =>
    Buffer.concat([frame(headers, 4, stream, ok), frame(data, 1, stream, Buffer.from("ok"))])
  const bodies = {
    none: () => undefined,
    text: () => "text",
    "that is on its way": () => new Given([10, 20]),
    "that goes on": () => new Given([10], undefined, true)
  }
  const refusals = {
    "is refused": (stream: number) => frame(reset, 0, stream, number32(7)),
    "is above the last one": () => frame(goaway, 0, 0, Buffer.concat([number32(0), number32(0)])),
    "is above the last one of an error": () => frame(goaway, 0, 0, Buffer.concat([number32(0), number32(11)])),
    "is above the last one of one that hangs up": () => frame(goaway, 0, 0, Buffer.concat([number32(0), number32(0)]))
  }
  for (const [why, refusal] of Object.entries(refusals))
    for (const [kind, body] of Object.entries(bodies))
      it.live(`${why}, with a body ${kind}, is sent again once, whatever its method`, () =>
        Effect.gen(function* () {
          let asked = 0
          const backend = yield* frameBackend(({ type, stream }, socket) => {
            if (type !== headers) return
            socket.write(++asked === 1 ? refusal(stream) : answering(stream))
            if (asked === 1 && why.endsWith("hangs up")) socket.end()
          })
          const { send } = yield* to(backend.port)
          const answer = yield* send(upstreamRequest({ method: "POST", body: body() }))
          assert.deepStrictEqual([yield* textOf(answer), asked], ["ok", 2])
        })
      )

  it.live("is not sent a third time, and is known not to have been sent", () =>
    Effect.gen(function* () {
      let asked = 0
      const backend = yield* frameBackend(({ type, stream }, socket) => {
        if (type !== headers) return
        asked++
        socket.write(frame(reset, 0, stream, number32(7)))
      })
      const { send } = yield* to(backend.port)
      const failure = yield* Effect.exit(send(upstreamRequest({ method: "POST", body: new Given([10]) })))
      assert.deepStrictEqual(
        [asked, failureOf(failure)],
        [2, "upstream call failed: refused: the backend did not take the request, nothing sent"]
      )
    })
  )

  it.live("is not sent again when more of its body has gone than is kept", () =>
    Effect.gen(function* () {
      let asked = 0
      let bytes = 0
      const backend = yield* frameBackend(({ type, stream, payload }, socket) => {
        if (type === headers) asked++
        if (type !== data) return
        bytes += payload.length
        socket.write(
          Buffer.concat([
            frame(frameTypes.window, 0, 0, number32(payload.length)),
            frame(frameTypes.window, 0, stream, number32(payload.length))
          ])
        )
        if (bytes === 100_000) socket.write(frame(reset, 0, stream, number32(7)))
      })
      const { send } = yield* to(backend.port)
      const body = new Given([50_000, 50_000], undefined, true)
      const failure = yield* Effect.exit(send(upstreamRequest({ method: "POST", body })))
      assert.deepStrictEqual(
        [asked, failureOf(failure), body.cancelled > 0],
        [1, "upstream call failed: refused: the backend did not take the request, nothing sent", true]
      )
    })
  )

  it.live("is told from one that it may have looked at", () =>
    Effect.gen(function* () {
      let asked = 0
      const backend = yield* frameBackend(({ type, stream }, socket) => {
        if (type !== headers) return
        asked++
        socket.write(frame(goaway, 0, 0, Buffer.concat([number32(stream), number32(0)])))
        socket.end()
      })
      const { send } = yield* to(backend.port)
      const failure = yield* Effect.exit(send(upstreamRequest({ method: "POST" })))
      assert.deepStrictEqual(
        [asked, failureOf(failure)],
        [1, "upstream call failed: reset: the connection was closed before there was a response, sent"]
      )
    })
  )
})

describe("sessions with one backend", () => {
  it.live("are shared, and others are opened before their streams are used up", () =>
    Effect.gen(function* () {
      let open = 0
      let most = 0
      const per: Array<number> = []
      const waiting: Array<() => void> = []
      const backend = yield* http2Backend(
        (stream, _, session) => {
          open++
          per[session] = (per[session] ?? 0) + 1
          most = Math.max(most, open)
          waiting.push(() => {
            open--
            stream.respond({ ":status": 200 })
            stream.end("ok")
          })
          if (waiting.length >= 20) for (const answer of waiting.splice(0)) answer()
        },
        { settings: { maxConcurrentStreams: 8 } }
      )
      const { send } = yield* to(backend.port)
      const answers = yield* Effect.all(
        Array.from({ length: 40 }, () => Effect.flatMap(send(upstreamRequest({ method: "POST" })), textOf)),
        { concurrency: "unbounded" }
      )
      assert.isTrue(answers.every((answer) => answer === "ok"))
      assert.isAtLeast(most, 20)
      assert.isAtLeast(backend.sessions.length, 3)
      assert.isAtMost(backend.sessions.length, 8)
    })
  )

  it.live("are no more than there may be: calls wait, and are refused when they have waited for too long", () =>
    Effect.gen(function* () {
      let asked = 0
      const begun = Promise.withResolvers<void>()
      const answers: Array<() => void> = []
      const backend = yield* http2Backend(
        (stream) => {
          asked++
          begun.resolve()
          answers.push(() => {
            stream.respond({ ":status": 200 })
            stream.end("ok")
          })
          if (asked > 1) for (const answer of answers.splice(0)) answer()
        },
        { settings: { maxConcurrentStreams: 1 } }
      )
      const { send } = yield* to(backend.port, { maxConnections: 1, connectTimeout: 300 })
      const first = yield* Effect.forkChild(Effect.flatMap(send(upstreamRequest()), textOf))
      yield* Effect.promise(() => begun.promise)
      const second = yield* Effect.exit(send(upstreamRequest()))
      assert.strictEqual(
        failureOf(second),
        "upstream call failed: busy: all connections to the backend are in use, nothing sent"
      )
      const third = yield* Effect.forkChild(Effect.flatMap(send(upstreamRequest()), textOf))
      yield* Effect.yieldNow
      for (const answer of answers.splice(0)) answer()
      assert.deepStrictEqual([yield* Fiber.join(first), yield* Fiber.join(third), asked], ["ok", "ok", 2])
      assert.strictEqual(backend.sessions.length, 1)
    })
  )

  it.live("with a backend that takes no streams are not multiplied: calls wait until it takes some", () =>
    Effect.gen(function* () {
      const most = (streams: number) => frame(settings, 0, 0, Buffer.concat([Buffer.of(0, 3), number32(streams)]))
      const backend = yield* frameBackend(({ type, stream }, socket) => {
        if (type === headers) socket.write(frame(headers, 5, stream, ok))
      }, most(0))
      const { send } = yield* to(backend.port, { connectTimeout: 300 })
      const waited = yield* Effect.exit(send(upstreamRequest()))
      assert.strictEqual(
        failureOf(waited),
        "upstream call failed: busy: all connections to the backend are in use, nothing sent"
      )
      const waiting = yield* Effect.forkChild(send(upstreamRequest()), { startImmediately: true })
      backend.sockets[0]!.write(most(1))
      assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
      assert.strictEqual(backend.sockets.length, 1)
    })
  )

  it.live("end when they have been idle for long enough, and others are opened then", () =>
    Effect.gen(function* () {
      const backend = yield* http2Backend((stream) => {
        stream.respond({ ":status": 200 })
        stream.end("ok")
      })
      const { send } = yield* to(backend.port, { idleTimeout: 30 })
      assert.strictEqual(yield* Effect.flatMap(send(upstreamRequest()), textOf), "ok")
      yield* Effect.promise(
        () =>
          new Promise<void>(
            (resolve) => void (backend.sessions[0]!.destroyed ? resolve() : backend.sessions[0]!.once("close", resolve))
          )
      )
      assert.strictEqual(yield* Effect.flatMap(send(upstreamRequest()), textOf), "ok")
      assert.strictEqual(backend.sessions.length, 2)
    })
  )

  it.live("go on with what they carry when their peer leaves, and take nothing new", () =>
    Effect.gen(function* () {
      const streams: Array<{ end: (text: string) => void }> = []
      const told = () => {}
      const backend = yield* http2Backend((stream, _, session) => {
        stream.respond({ ":status": 200 })
        stream.write("a")
        streams.push(stream)
        if (session > 0) stream.end("b")
        told()
      })
      const { send } = yield* to(backend.port)
      const answer = yield* send(upstreamRequest())
      if (!isSource(answer.body)) return assert.fail()
      const reader = new Reader(answer.body)
      backend.sessions[0]!.close()
      // It is told in a moment; what is sent meanwhile may still go over the old one, and is sent again.
      const second = yield* Effect.flatMap(send(upstreamRequest({ method: "POST" })), textOf)
      assert.strictEqual(second, "ab")
      streams[0]!.end("c")
      yield* Effect.promise(() => reader.until(({ ended }) => ended !== undefined))
      assert.deepStrictEqual([reader.text, reader.ended, backend.sessions.length], ["ac", "whole", 2])
      void told
    })
  )

  it.live("hold up their peer for a slow reader alone, and lose nothing of what has come when it goes", () =>
    Effect.gen(function* () {
      const size = 3_000_000
      const backend = yield* http2Backend((stream, fields) => {
        stream.respond({ ":status": 200 })
        stream.end(Buffer.alloc(fields.includes("/large") ? size : 10_000, 97))
      })
      const { send } = yield* to(backend.port)
      const slow = yield* send(upstreamRequest({ pathAndQuery: "/large" }))
      if (!isSource(slow.body)) return assert.fail()
      const reader = new Reader(slow.body, 1)
      for (let i = 0; i < 20; i++)
        assert.strictEqual((yield* Effect.flatMap(send(upstreamRequest()), textOf)).length, 10_000)
      assert.isBelow(reader.bytes, 300_000)
      reader.goOn()
      yield* Effect.promise(() => reader.until(({ ended }) => ended !== undefined))
      assert.deepStrictEqual([reader.bytes, reader.ended, backend.sessions.length], [size, "whole", 1])
      const last = yield* send(upstreamRequest())
      if (!isSource(last.body)) return assert.fail()
      const late = new Reader(last.body, 1)
      // All of it is here by then.
      yield* Effect.flatMap(send(upstreamRequest()), textOf)
      yield* Effect.promise(() => {
        const { promise, resolve } = Promise.withResolvers<void>()
        backend.sessions[0]!.once("close", resolve)
        backend.sessions[0]!.destroy()
        return promise
      })
      yield* Effect.sleep(20)
      late.goOn()
      yield* Effect.promise(() => late.until(({ ended }) => ended !== undefined))
      assert.deepStrictEqual([late.bytes, late.ended], [10_000, "whole"])
    })
  )

  it.live("are none with a peer that speaks something else, to which nothing is sent", () =>
    Effect.gen(function* () {
      const old = yield* httpBackend((_, response) => response.end("old"))
      const { send } = yield* to(portOf(old.address()))
      const failure = yield* Effect.exit(send(upstreamRequest()))
      assert.strictEqual(
        failureOf(failure),
        "upstream call failed: protocol: the backend does not speak HTTP/2, nothing sent"
      )
      const silent = yield* tcpBackend(() => {})
      const late = yield* Effect.exit(
        Effect.flatMap(to(silent.port, { connectTimeout: 100 }), (upstream) => upstream.send(upstreamRequest()))
      )
      assert.strictEqual(failureOf(late), "upstream call timeout, nothing sent")
    })
  )
})

/** What a call ended with, and how far it got. */
const failureOf = (exit: Exit.Exit<unknown, unknown>): string => {
  const error = exit._tag === "Failure" ? Cause.squash(exit.cause) : undefined
  if (!(error instanceof Error)) return assert.fail("it came to something")
  return "reached" in error ? `${error.message}, ${String(error.reached)}` : error.message
}
