import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WebSocket, WebSocketServer } from "ws"
import { type BodyObserver, isSource, observe } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { edge, forward, httpBackend, portOf, proxyTo, tcpBackend, text, upstreamTo } from "./edge.ts"
import { eventually, parseResponses, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

const wish = (protocol: string, more = "") =>
  `GET /chat HTTP/1.1\r\nhost: a\r\nconnection: keep-alive, Upgrade\r\nupgrade: ${protocol}\r\n${more}\r\n`

const accept = (protocol: string) =>
  `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${protocol}\r\nx-by: backend\r\n\r\n`

/** A backend that changes to a protocol, and what it received after its head. */
const switching = (protocol: string, more = "") =>
  Effect.gen(function* () {
    const heads: Array<string> = []
    const received: Array<string> = []
    let ended = 0
    const { port, sockets } = yield* tcpBackend((socket) => {
      socket.on("data", (chunk) => {
        if (heads.length < sockets.length) {
          heads.push(chunk.toString("latin1"))
          socket.write(accept(protocol) + more)
        } else received.push(chunk.toString("latin1"))
      })
      socket.on("end", () => ended++)
    })
    return { port, sockets, heads, received, ended: () => ended }
  })

const upgraded = async (port: number, request: string | Buffer) => {
  const client = new RawClient(port).send(request)
  await client.until(({ text }) => text.includes("\r\n\r\n"))
  return client
}

describe("upgrades", () => {
  it.live("WebSocket messages pass both ways, with the subprotocol that was agreed", () =>
    Effect.gen(function* () {
      const server = new WebSocketServer({ port: 0, host: "127.0.0.1" })
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      server.on("connection", (socket, request) => {
        socket.send(`hello ${request.url}`)
        socket.on("message", (data, binary) => socket.send(data, { binary }))
      })
      yield* Effect.promise(() => eventually(() => server.address() !== null))
      const { port, outcomes } = yield* proxyTo(portOf(server.address()))
      const client = new WebSocket(`ws://127.0.0.1:${port}/chat?x=1`, ["graphql-ws"])
      const received: Array<string> = []
      client.on("message", (data: Buffer) => received.push(`${data.length} ${data.toString("latin1", 0, 20)}`))
      yield* Effect.promise(() => eventually(() => received.length === 1))
      assert.strictEqual(client.protocol, "graphql-ws")
      client.send("text")
      client.send(Buffer.alloc(3_000_000, "x"))
      yield* Effect.promise(() => eventually(() => received.length === 3))
      assert.deepStrictEqual(received, ["15 hello /chat?x=1", "4 text", `3000000 ${"x".repeat(20)}`])
      const closed = new Promise<number>((resolve) => client.on("close", resolve))
      client.close(4001, "done")
      assert.strictEqual(yield* Effect.promise(() => closed), 4001)
      yield* Effect.promise(() => eventually(() => outcomes.length === 1))
      assert.deepStrictEqual(outcomes, [{ status: 101, failure: undefined }])
    })
  )

  it.live("connections that have served requests keep apart what they carry afterwards", () =>
    Effect.gen(function* () {
      const switchedOver = new Set<Socket>()
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", (chunk) => {
          if (switchedOver.has(socket)) socket.write(chunk)
          else if (/^upgrade:/im.test(chunk.toString("latin1"))) {
            switchedOver.add(socket)
            socket.write(accept("echo"))
          } else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        })
      )
      const proxy = yield* proxyTo(port)
      const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
      const echoed = async (letter: string) => {
        const client = new RawClient(proxy.port)
        for (let served = 1; served <= 2; served++) {
          client.send(get)
          await client.responses(served)
        }
        // The first bytes of the other protocol come in the packet of the wish.
        const sent = letter.repeat(200_000)
        client.send(wish("echo") + sent)
        await client.until(({ text }) => text.endsWith(sent))
        client.send(sent)
        await client.until(({ text }) => text.endsWith(sent + sent))
        client.socket.destroy()
      }
      yield* Effect.promise(() => Promise.all(["a", "b", "c", "d"].map(echoed)))
      assert.deepStrictEqual(proxy.defects, [])
    })
  )

  it.live("the head of both sides: what is asked, what is answered, and nothing of this connection", () =>
    Effect.gen(function* () {
      const backend = yield* switching("websocket")
      const { port } = yield* proxyTo(backend.port)
      const client = yield* Effect.promise(() => upgraded(port, wish("websocket", "sec-websocket-key: k\r\n")))
      assert.strictEqual(
        backend.heads[0],
        "GET /chat HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: k\r\n\r\n"
      )
      assert.strictEqual(
        client.text,
        "HTTP/1.1 101 Switching Protocols\r\nx-by: backend\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
      )
      client.socket.destroy()
    })
  )

  it.live("bytes that come with the heads are not lost", () =>
    Effect.gen(function* () {
      const backend = yield* switching("x", "early backend")
      const { port } = yield* proxyTo(backend.port)
      const client = yield* Effect.promise(() => upgraded(port, `${wish("x")}early client`))
      yield* Effect.promise(() => client.until(({ text }) => text.endsWith("early backend")))
      yield* Effect.promise(() => eventually(() => backend.received.join("") === "early client"))
      client.socket.destroy()
    })
  )

  it.live("each side may stop sending while it still receives", () =>
    Effect.gen(function* () {
      for (const first of ["client", "backend"] as const) {
        const backend = yield* switching("x")
        const { port, outcomes } = yield* proxyTo(backend.port)
        const client = yield* Effect.promise(() => upgraded(port, wish("x")))
        const socket = backend.sockets[0]!
        if (first === "client") {
          client.socket.end("last of the client")
          yield* Effect.promise(() => eventually(() => backend.ended() === 1))
          assert.strictEqual(backend.received.join(""), "last of the client")
          socket.write("still ")
          yield* Effect.sleep(20)
          socket.end("here")
        } else {
          socket.end("last of the backend")
          yield* Effect.promise(() => client.until(({ ended }) => ended))
          assert.match(client.text, /last of the backend$/)
          client.send("still ")
          yield* Effect.sleep(20)
          client.socket.end("here")
        }
        yield* Effect.promise(() => client.until(({ closed }) => closed))
        if (first === "client") assert.match(client.text, /still here$/)
        else yield* Effect.promise(() => eventually(() => backend.received.join("") === "still here"))
        yield* Effect.promise(() => eventually(() => outcomes.length === 1))
        assert.deepStrictEqual(outcomes, [{ status: 101, failure: undefined }])
      }
    })
  )

  it.live("when one side is gone, the other one goes", () =>
    Effect.gen(function* () {
      const backend = yield* switching("x")
      const { port, outcomes, bound } = yield* proxyTo(backend.port)
      const first = yield* Effect.promise(() => upgraded(port, wish("x")))
      first.socket.resetAndDestroy()
      yield* Effect.promise(() => eventually(() => backend.sockets[0]?.destroyed === true || backend.ended() === 1))
      const second = yield* Effect.promise(() => upgraded(port, wish("x")))
      backend.sockets[1]!.resetAndDestroy()
      yield* Effect.promise(() => second.until(({ closed, ended }) => closed || ended))
      second.socket.destroy()
      yield* Effect.promise(() => eventually(() => bound.connections() === 0 && outcomes.length === 2))
      assert.deepStrictEqual(
        outcomes.map(({ failure }) => failure),
        ["the tunnel was cut", "the tunnel was cut: reset"]
      )
    })
  )

  it.live("one that stands still for too long is cut, and the log says so", () =>
    Effect.gen(function* () {
      const backend = yield* switching("x")
      const { port, outcomes } = yield* proxyTo(backend.port, { upstream: { bodyIdleTimeout: 30 } })
      const client = yield* Effect.promise(() => upgraded(port, wish("x")))
      yield* Effect.promise(() => client.until(({ closed, ended }) => closed || ended))
      yield* Effect.promise(() => eventually(() => outcomes.length === 1))
      assert.deepStrictEqual(outcomes, [{ status: 101, failure: "the tunnel was cut: nothing has moved for too long" }])
    })
  )

  it.live("a reader that does not read makes the other side wait", () =>
    Effect.gen(function* () {
      const backend = yield* switching("x")
      const { port } = yield* proxyTo(backend.port)
      const client = yield* Effect.promise(() => upgraded(port, wish("x")))
      const sent = async (socket: Socket) => {
        let count = 0
        const piece = Buffer.alloc(262_144)
        const deadline = Date.now() + 400
        while (Date.now() < deadline && count < 256) {
          if (socket.writableLength > 4 * piece.length) await new Promise((resolve) => setTimeout(resolve, 10))
          else {
            socket.write(piece)
            count++
          }
        }
        return count / 4
      }
      client.socket.pause()
      assert.isBelow(yield* Effect.promise(() => sent(backend.sockets[0]!)), 48, "MiB to the client")
      backend.sockets[0]!.pause()
      assert.isBelow(yield* Effect.promise(() => sent(client.socket)), 48, "MiB to the backend")
      client.socket.destroy()
    })
  )

  it.live("stages can watch both directions", () =>
    Effect.gen(function* () {
      const backend = yield* switching("x")
      const upstream = yield* upstreamTo(backend.port)
      const log: Array<string> = []
      const tap = (name: string): BodyObserver => ({
        data: (chunk) => log.push(`${name} ${Buffer.from(chunk).toString()}`),
        end: () => log.push(`${name} ends`)
      })
      const { port } = yield* edge((x) =>
        Effect.map(forward(upstream)(x), (answer) => {
          const { switched } = answer
          if (switched === undefined) return answer
          return {
            ...answer,
            body: observe(answer.body, tap("backend")),
            switched: {
              ...switched,
              outbound: (client) => {
                const watched = observe(client, tap("client"))
                if (isSource(watched)) switched.outbound(watched)
              }
            }
          }
        })
      )
      const client = yield* Effect.promise(() => upgraded(port, wish("x")))
      client.send("ping")
      yield* Effect.promise(() => eventually(() => backend.received.length === 1))
      backend.sockets[0]!.end("pong")
      yield* Effect.promise(() => client.until(({ ended }) => ended))
      client.socket.end()
      yield* Effect.promise(() => eventually(() => log.length === 4))
      assert.deepStrictEqual(log, ["client ping", "backend pong", "backend ends", "client ends"])
    })
  )

  const mismatches: ReadonlyArray<readonly [offered: string, requested: string, said: string]> = [
    ["other", "websocket", "request upgrade failed, backend tried other but websocket was requested"],
    ["chat/2", "chat/1, chat/3", "request upgrade failed, backend tried chat/2 but chat/1, chat/3 was requested"]
  ]
  it.live.each(mismatches)(
    "a backend that changes to %s where %s was asked for is refused",
    ([offered, requested, said]) =>
      Effect.gen(function* () {
        const backend = yield* switching(offered)
        const { port } = yield* proxyTo(backend.port)
        const [response] = yield* Effect.promise(() => new RawClient(port).send(wish(requested)).responses(1))
        assert.deepStrictEqual([response?.status, response?.body.toString()], [502, said])
        yield* Effect.promise(() => eventually(() => backend.ended() === 1 || backend.sockets[0]?.destroyed === true))
      })
  )

  it.live("one of several protocols, in any case, is agreed", () =>
    Effect.gen(function* () {
      const backend = yield* switching("WebSocket")
      const { port } = yield* proxyTo(backend.port)
      const client = yield* Effect.promise(() => upgraded(port, wish("h2c, other, websocket")))
      assert.match(client.text, /^HTTP\/1.1 101 [\s\S]*upgrade: WebSocket\r\n/)
      assert.match(backend.heads[0] ?? "", /\r\nupgrade: other, websocket\r\n/)
      client.socket.destroy()
    })
  )

  it.live("101 without a protocol, or without having been asked, is a failure", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n"))
      )
      const proxy = yield* proxyTo(port)
      const [asked] = yield* Effect.promise(() => new RawClient(proxy.port).send(wish("x")).responses(1))
      assert.strictEqual(
        asked?.body.toString(),
        "request upgrade failed, backend tried no protocol but x was requested"
      )
      const backend = yield* switching("x")
      const other = yield* proxyTo(backend.port)
      const [unasked] = yield* Effect.promise(() =>
        new RawClient(other.port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").responses(1)
      )
      assert.strictEqual(unasked?.status, 503)
    })
  )

  it.live("a backend that does not want to change answers as always, and the connection is closed", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((_, response) => {
        response.writeHead(426, { "content-type": "text/plain" })
        response.write("first ")
        setTimeout(() => response.end("x".repeat(3_000_000)), 10)
      })
      const { port, outcomes } = yield* proxyTo(portOf(backend.address()))
      const client = new RawClient(port).send(wish("websocket"))
      yield* Effect.promise(() => client.until(({ ended }) => ended))
      const [response] = parseResponses(client.received)
      assert.deepStrictEqual([response?.status, response?.body.length], [426, 3_000_006])
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => outcomes.length === 1))
      assert.deepStrictEqual(outcomes, [{ status: 426, failure: undefined }])
    })
  )

  it.live("a policy may refuse before anybody is asked", () =>
    Effect.gen(function* () {
      const { port } = yield* edge((x) => Effect.succeed(text(401, `no ${x.upgrade}`)))
      const all = yield* Effect.promise(() => new RawClient(port).send(wish("websocket")).toEnd())
      assert.match(all, /^HTTP\/1.1 401 [\s\S]*\r\n\r\nno websocket$/)
    })
  )

  it.live("h2c is no upgrade: the request is served as it is, body and all", () =>
    Effect.gen(function* () {
      const { port } = yield* edge((x) =>
        Effect.map(Effect.orDie(x.readRequestBody()), (body) => text(200, `${x.upgrade} ${body.length}`))
      )
      const post =
        "POST / HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: x\r\ncontent-length: 4\r\n\r\nbody"
      for (const [request, said] of [
        [post, "undefined 4"],
        [wish("h2c"), "undefined 0"]
      ] as const) {
        const client = new RawClient(port).send(request)
        const [response] = yield* Effect.promise(() => client.responses(1))
        assert.strictEqual(response?.body.toString(), said)
        client.socket.destroy()
      }
    })
  )

  it.live("101 from the engine for a client that did not ask is an internal error", () =>
    Effect.gen(function* () {
      const body = new Tap()
      const { port, defects } = yield* edge(() =>
        Effect.succeed({
          status: 101,
          headers: new HeaderList(),
          body,
          switched: { protocol: "x", outbound: () => {} }
        })
      )
      const [response] = yield* Effect.promise(() =>
        new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").responses(1)
      )
      assert.strictEqual(response?.status, 500)
      assert.isTrue(body.cancelled)
      assert.strictEqual(defects.length, 1)
    })
  )

  it.live("an upgrade behind a request that is still being answered waits for its turn", () =>
    Effect.gen(function* () {
      const backend = yield* switching("x")
      const upstream = yield* upstreamTo(backend.port)
      const { port } = yield* edge((x) =>
        x.upgrade === undefined ? Effect.delay(Effect.succeed(text(200, "first")), 20) : forward(upstream)(x)
      )
      const client = new RawClient(port).send(`GET / HTTP/1.1\r\nhost: a\r\n\r\n${wish("x")}early client`)
      yield* Effect.promise(() => eventually(() => backend.received.join("") === "early client"))
      assert.deepStrictEqual(client.text.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 101"])
      client.socket.destroy()
    })
  )
})
