/** How sessions of HTTP/2 begin and end: admission, drain, idleness, pings, age, and what becomes of their streams. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import { edge, proxyTo, tcpBackend, text } from "../http/edge.ts"
import { eventually } from "../http/raw-client.ts"
import { serving, showing, telling } from "../tls/edge.ts"
import { asking, session } from "./client.ts"
import { field, fields, flag, frame, RawSession, request, type } from "./frames.ts"

const pingLimits = {
  window: undefined,
  connectionWindow: undefined,
  frameSize: undefined,
  maxHeaderSize: undefined,
  pingInterval: undefined,
  pingTimeout: 20_000
}

const answered = (raw: RawSession, stream: number) =>
  Effect.promise(() => eventually(() => raw.of(type.data, stream).length > 0))
const closed = (raw: RawSession) => Effect.promise(() => eventually(() => raw.closed))

describe("a session", () => {
  it.live("drains: its client is told, what is under way ends, and then it", () =>
    Effect.gen(function* () {
      let finish: (answer: Answer) => void = () => {}
      const { port, bound } = yield* edge((x) =>
        x.request.path === "/slow"
          ? Effect.callback<Answer>((resume) => {
              finish = (answer) => resume(Effect.succeed(answer))
            })
          : Effect.succeed(text(200, "x"))
      )
      const raw = new RawSession(port)
      const idle = new RawSession(port)
      raw.send(request(1), request(3, { path: "/slow" }))
      idle.send(request(1))
      yield* answered(raw, 1)
      yield* answered(idle, 1)
      const draining = Effect.runPromise(bound.drain({ minimum: 0, deadline: 10_000 }))
      yield* closed(idle)
      yield* Effect.promise(() => eventually(() => raw.of(type.goaway).length > 0))
      assert.strictEqual(raw.of(type.goaway)[0]!.payload.readUInt32BE(), 3)
      // What comes behind the word is nobody's.
      raw.send(request(5))
      finish(text(200, "late"))
      yield* answered(raw, 3)
      yield* Effect.promise(() => draining)
      yield* closed(raw)
      assert.deepStrictEqual(raw.of(type.headers, 5), [])
      assert.strictEqual(bound.connections(), 0)
    })
  )

  it.live("that is idle, too old, or silent to pings is closed", () =>
    Effect.gen(function* () {
      for (const limits of [
        { idleTimeout: 60 },
        { maxConnectionDuration: 60 },
        { http2: { ...pingLimits, pingInterval: 40, pingTimeout: 40 } }
      ]) {
        const { port, bound } = yield* edge(() => Effect.succeed(text(200, "x")), { limits })
        const raw = new RawSession(port)
        raw.send(request(1))
        yield* closed(raw)
        yield* Effect.promise(() => eventually(() => bound.connections() === 0))
      }
    })
  )

  it.live("is admitted once, before anything is read; and ended when that is decided otherwise", () =>
    Effect.gen(function* () {
      let admits = false
      const { port, bound, outcomes } = yield* edge(
        (x) => (x.request.path === "/never" ? Effect.never : Effect.succeed(text(200, "x"))),
        {
          admit: () => Effect.sync(() => admits)
        }
      )
      const refused = new RawSession(port)
      yield* closed(refused)
      assert.deepStrictEqual(refused.frames, [])
      admits = true
      const raw = new RawSession(port)
      raw.send(request(1))
      yield* answered(raw, 1)
      raw.send(request(3, { path: "/never" }))
      admits = false
      bound.decideAnew("not any more")
      yield* closed(raw)
      yield* Effect.promise(() => eventually(() => outcomes.length >= 1))
    })
  )

  it.live("a request is cut by itself", () =>
    Effect.gen(function* () {
      const { port, bound, outcomes } = yield* edge((x) =>
        x.request.path === "/never" ? Effect.never : Effect.succeed(text(200, "x"))
      )
      const raw = new RawSession(port)
      raw.send(request(1, { path: "/never" }), request(3))
      yield* answered(raw, 3)
      assert.strictEqual(
        bound.cutRequests(() => true, "its configuration was replaced"),
        1
      )
      yield* Effect.promise(() => eventually(() => raw.of(type.reset, 1).length > 0 && outcomes.length === 2))
      assert.deepStrictEqual(outcomes.at(-1), { status: undefined, failure: "its configuration was replaced" })
      raw.send(request(5))
      yield* answered(raw, 5)
      raw.socket.destroy()
    })
  )

  it.live("asks for one listener: the host of another one is misdirected", () =>
    Effect.gen(function* () {
      const tls = `tls: { ${showing("server")} }`
      const { port } = yield* serving(`
gateways:
  default:
    port: 8443
    listeners: [{ name: a, hostname: localhost, ${tls} }, { name: b, hostname: other.example, ${tls} }]
routes: [${telling('"x"')}]
`)
      const made = yield* session(port, {}, "https")
      assert.strictEqual((yield* asking(made, "/")).status, 200)
      const elsewhere = yield* asking(made, "/", { headers: { ":authority": "other.example" } })
      assert.strictEqual(`${elsewhere.status} ${elsewhere.body}`, "421 misdirected request")
    })
  )

  it.live("a stream becomes a WebSocket to a backend of HTTP/1.1", () =>
    Effect.gen(function* () {
      let head = ""
      const { port: backend } = yield* tcpBackend((socket) => {
        socket.on("data", (bytes: Buffer) => {
          if (head !== "") {
            socket.write(Buffer.concat([Buffer.from("echo:"), bytes]))
            return
          }
          head = bytes.toString("latin1")
          const key = /sec-websocket-key: (\S+)/.exec(head)?.[1] ?? ""
          const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64")
          socket.write(
            `HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: chat\r\n\r\nhi`
          )
        })
        socket.on("end", () => socket.end())
      })
      const { port, outcomes } = yield* proxyTo(backend)
      const raw = new RawSession(port)
      const connect = (stream: number, protocol: string) =>
        frame(
          type.headers,
          flag.endHeaders,
          stream,
          Buffer.concat([
            fields([":method", "CONNECT"], [":protocol", protocol], [":path", "/chat"], [":scheme", "http"]),
            field(":authority", "a"),
            fields(["sec-websocket-version", "13"])
          ])
        )
      raw.send(connect(1, "websocket"))
      yield* answered(raw, 1)
      assert.match(head, /^GET \/chat HTTP\/1\.1\r\n/)
      assert.match(head, /\r\nupgrade: websocket\r\n/)
      raw.send(frame(type.data, 0, 1, Buffer.from("one")))
      yield* Effect.promise(() => eventually(() => raw.of(type.data, 1).length > 1))
      assert.strictEqual(Buffer.concat(raw.of(type.data, 1).map(({ payload }) => payload)).toString(), "hiecho:one")
      raw.send(frame(type.data, flag.endStream, 1))
      yield* Effect.promise(() => eventually(() => outcomes.length === 1))
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: undefined }])
      assert.isTrue(raw.of(type.data, 1).some(({ flags }) => (flags & flag.endStream) !== 0))
      raw.socket.destroy()
    })
  )

  it.live("a backend that does not accept a WebSocket, or answers otherwise, opens none", () =>
    Effect.gen(function* () {
      let says = ""
      const { port: backend, sockets } = yield* tcpBackend((socket) => {
        socket.on("data", () => socket.write(says))
        socket.on("end", () => socket.end())
      })
      const { port } = yield* proxyTo(backend)
      const made = yield* session(port)
      const asked = { method: "CONNECT", headers: { ":protocol": "websocket", ":scheme": "http", ":authority": "a" } }
      const open = (path: string) =>
        Effect.promise(
          () =>
            new Promise<number>((resolve) => {
              const stream = made.request(
                { ":path": path, ":method": asked.method, ...asked.headers },
                { endStream: false }
              )
              stream.on("error", () => {})
              stream.on("response", (headers) => {
                resolve(Number(headers[":status"]))
                stream.close()
              })
            })
        )
      says = "HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: no\r\n\r\n"
      assert.strictEqual(yield* open("/"), 502)
      yield* Effect.promise(() => eventually(() => sockets.every((socket) => socket.destroyed)))
      says = "HTTP/1.1 403 x\r\ncontent-length: 0\r\n\r\n"
      assert.strictEqual(yield* open("/"), 403)
    })
  )

  it.live("informs and answers whatever headers are like", () =>
    Effect.gen(function* () {
      const odd = new HeaderList([
        "constructor",
        "x",
        "x-blank",
        " a ",
        "connection",
        "close",
        "x-two",
        "1",
        "x-two",
        "2"
      ])
      const { port } = yield* edge((x) => {
        x.informer?.inform(103, odd.clone())
        return Effect.succeed({ status: 200, headers: odd.clone(), body: "x" })
      })
      const made = yield* session(port)
      const { raw, informed } = yield* asking(made, "/")
      assert.deepStrictEqual(informed, [103])
      assert.include(raw.join("|"), "constructor|x|x-blank|a|x-two|1|x-two|2")
      assert.notInclude(raw, "connection")
    })
  )

  it.live("that is new while its listener drains is told that its first request is the last, and served", () =>
    Effect.gen(function* () {
      const { port, bound } = yield* edge(() => Effect.succeed(text(200, "x")))
      const waiting = new RawSession(port)
      waiting.send(request(1))
      yield* answered(waiting, 1)
      void Effect.runPromise(bound.drain({ minimum: 3_000, deadline: 3_000 }))
      yield* closed(waiting)
      const raw = new RawSession(port)
      raw.send(request(1))
      yield* answered(raw, 1)
      yield* closed(raw)
      assert.strictEqual(raw.of(type.goaway)[0]!.payload.readUInt32BE(), 1)
      bound.cut()
    })
  )
})
