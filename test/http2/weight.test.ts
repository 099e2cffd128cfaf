/** What a session is weighed by: what somebody may mean is no flood, whoever takes it and when; and what nobody takes does not stay. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { defaultLimits } from "../../layers/http/listener.ts"
import { isSource } from "../../src/http/body.ts"
import type { Answer } from "../../src/http/message.ts"
import { edge, proxyTo, tcpBackend, text } from "../http/edge.ts"
import { eventually } from "../http/raw-client.ts"
import { Reader } from "./bodies.ts"
import { fields, flag, frame, RawSession, request, type } from "./frames.ts"

/** Looks at sessions every 10 ms. */
const often = { headTimeout: 80 }
const looks = () => new Promise((resolve) => setTimeout(resolve, 100))

describe("a session of HTTP/2", () => {
  it.live("may send through a WebSocket whatever it likes, to somebody who says nothing", () =>
    Effect.gen(function* () {
      let took = 0
      const { port: backend } = yield* tcpBackend((socket) => {
        socket.once("data", (bytes: Buffer) => {
          const key = /sec-websocket-key: (\S+)/.exec(bytes.toString("latin1"))?.[1] ?? ""
          const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64")
          socket.write(
            `HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`
          )
          socket.on("data", (bytes: Buffer) => {
            took += bytes.length
          })
        })
      })
      const causes: Array<string> = []
      const { port } = yield* proxyTo(backend, { limits: often, http2Ended: (_, cause) => causes.push(cause) })
      const raw = new RawSession(port)
      const asked = fields(
        [":method", "CONNECT"],
        [":protocol", "websocket"],
        [":path", "/"],
        [":scheme", "http"],
        [":authority", "a"],
        ["sec-websocket-version", "13"]
      )
      raw.send(frame(type.headers, flag.endHeaders, 1, asked))
      yield* Effect.promise(() => eventually(() => raw.of(type.headers, 1).length > 0))
      for (let sent = 0; sent < 1_000_000; sent += 10_000) {
        raw.send(frame(type.data, 0, 1, Buffer.alloc(10_000)))
        yield* Effect.promise(() => eventually(() => took >= sent + 10_000 || raw.closed))
      }
      yield* Effect.promise(looks)
      assert.deepStrictEqual(causes, [])
      assert.isFalse(raw.closed)
      raw.socket.destroy()
    })
  )

  it.live("may send as much as its window says, before somebody takes it", () =>
    Effect.gen(function* () {
      const causes: Array<string> = []
      const { port, bound } = yield* edge(() => Effect.never, {
        limits: { ...often, http2: { ...defaultLimits.http2, window: 2_000_000, connectionWindow: 2_000_000 } },
        http2Ended: (_, cause) => causes.push(cause)
      })
      const raw = new RawSession(port)
      yield* Effect.promise(() =>
        eventually(() => raw.of(type.settings).length > 0 && raw.of(type.windowUpdate).length > 0)
      )
      raw.send(frame(type.settings, flag.ack, 0), request(1, { method: "POST", end: false }))
      for (let sent = 0; sent < 1_600_000; sent += 16_000) raw.send(frame(type.data, 0, 1, Buffer.alloc(16_000)))
      yield* Effect.promise(() => eventually(() => raw.socket.writableLength === 0))
      yield* Effect.promise(looks)
      assert.deepStrictEqual(causes, [])
      assert.isFalse(raw.closed)
      assert.strictEqual(bound.connections(), 1)
      raw.socket.destroy()
    })
  )

  it.live("may send messages of a byte for as long as it likes", () =>
    Effect.gen(function* () {
      const causes: Array<string> = []
      let bytes = 0
      const { port } = yield* edge(
        (x) =>
          Effect.callback<Answer>(() => {
            if (!isSource(x.requestBody)) return
            const reader: Reader = new Reader(x.requestBody)
            void reader.until(() => {
              bytes = reader.bytes
              reader.chunks.length = 0
              return false
            })
          }),
        { limits: often, http2Ended: (_, cause) => causes.push(cause) }
      )
      const raw = new RawSession(port)
      raw.send(request(1, { method: "POST", end: false }))
      const messages = Buffer.concat(Array.from({ length: 1000 }, () => frame(type.data, 0, 1, Buffer.from("x"))))
      for (let sent = 0; sent < 60_000; sent += 1000) {
        raw.send(messages)
        yield* Effect.promise(() => eventually(() => bytes >= sent || raw.closed))
      }
      yield* Effect.promise(looks)
      assert.deepStrictEqual(causes, [])
      assert.isFalse(raw.closed)
      raw.socket.destroy()
    })
  )

  it.live("does not pile up bodies in crumbs that nobody takes", () =>
    Effect.gen(function* () {
      const causes: Array<string> = []
      const { port } = yield* edge(() => Effect.never, { http2Ended: (_, cause) => causes.push(cause) })
      const raw = new RawSession(port)
      for (let stream = 1; stream < 40; stream += 2) {
        raw.send(request(stream, { method: "POST", end: false }))
        raw.send(Buffer.concat(Array.from({ length: 60_000 }, () => frame(type.data, 0, stream, Buffer.from("x")))))
      }
      yield* Effect.promise(() => eventually(() => causes.length > 0))
      assert.deepStrictEqual(causes, ["meaningless frames"])
      raw.socket.destroy()
    })
  )

  it.live(
    "keeps nothing of a body that was answered without being read, or whose client gave it up with no error",
    () =>
      Effect.gen(function* () {
        const { port, bound, outcomes } = yield* edge(
          (x) => (x.request.path === "/never" ? Effect.never : Effect.succeed(text(404, "x"))),
          { limits: often }
        )
        /** How many requests the listener knows of. */
        const kept = () => {
          let count = 0
          bound.cutRequests(() => ++count < 0, "x")
          return count
        }
        const raw = new RawSession(port)
        const body = [...Array.from({ length: 3 }, () => Buffer.alloc(16_384)), Buffer.alloc(16_383)]
        for (const [stream, path] of [
          [1, "/"],
          [3, "/never"]
        ] as const) {
          raw.send(request(stream, { method: "POST", path, end: false }))
          raw.send(...body.map((bytes) => frame(type.data, 0, stream, bytes)))
        }
        yield* Effect.promise(() => eventually(() => raw.of(type.reset, 1).length > 0))
        raw.send(frame(type.reset, 0, 3, Buffer.alloc(4)))
        yield* Effect.promise(() => eventually(() => kept() === 0))
        assert.strictEqual(outcomes.length, 2)
        raw.socket.destroy()
      })
  )
})
