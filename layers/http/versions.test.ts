import { readFileSync } from "node:fs"
import { createSecureServer } from "node:http2"
import { connect } from "node:net"
import { join } from "node:path"
import { createServer as createTlsServer, type TLSSocket } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { UpstreamOptions, UpstreamTls, Version } from "../../src/services/upstreams.ts"
import { httpBackend, portOf, upstreamRequest, upstreamTo } from "../../test/http/edge.ts"
import { eventually } from "../../test/http/raw-client.ts"
import { http2Backend } from "../../test/http2/backend.ts"

const fixture = (name: string) => readFileSync(join(import.meta.dirname, "../../test/http/fixtures", name), "utf8")
const [cert, key] = [fixture("localhost.cert.pem"), fixture("localhost.key.pem")]

/** A backend with TLS that answers with the version that it was asked in, and counts its connections. */
const secureBackend = (allowHTTP1: boolean, alpn?: ReadonlyArray<string>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const offered: Array<ReadonlyArray<string>> = []
        const sockets = new Set<TLSSocket>()
        const server = createSecureServer(
          {
            key,
            cert,
            allowHTTP1,
            ALPNCallback: ({ protocols }) => {
              offered.push(protocols)
              return (alpn ?? (allowHTTP1 ? ["h2", "http/1.1"] : ["h2"])).find((one) => protocols.includes(one))
            }
          },
          (request, response) => {
            response.setHeader("x-version", request.httpVersion)
            response.end()
          }
        )
        server.on("secureConnection", (socket: TLSSocket) => sockets.add(socket))
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return { server, offered, sockets }
      }),
      ({ server, sockets }) =>
        Effect.sync(() => {
          for (const socket of sockets) socket.destroy()
          server.close()
        })
    ),
    ({ server, offered, sockets }) => ({ port: portOf(server.address()), offered, sockets })
  )

const to = (port: number, tls: Partial<UpstreamTls>, options: UpstreamOptions = {}) =>
  upstreamTo(
    { kind: "tcp", host: "localhost", port, tls: true },
    { tls: { root: cert, verify: "everything", ...tls }, ...options }
  )

/** In which versions calls that prefer one were sent, one after the other. */
const spoken = (upstream: Effect.Success<ReturnType<typeof to>>, ...preferred: ReadonlyArray<Version | undefined>) =>
  Effect.forEach(preferred, (version) =>
    Effect.map(upstream.send(upstreamRequest({ version })), ({ headers }) => headers.get("x-version"))
  )

describe("the version of HTTP that a backend is spoken to in", () => {
  it.live("is what calls prefer, and that alone is offered", () =>
    Effect.gen(function* () {
      const backend = yield* secureBackend(true)
      const upstream = yield* to(backend.port, {})
      assert.deepStrictEqual(yield* spoken(upstream, undefined, "2", "1.1", "2"), ["1.1", "2.0", "1.1", "2.0"])
      assert.deepStrictEqual(backend.offered, [["http/1.1"], ["h2"]])
    })
  )
  it.live("is what the policy says, whatever calls prefer and protocols are offered besides", () =>
    Effect.gen(function* () {
      const backend = yield* secureBackend(true)
      const two = yield* to(backend.port, {}, { version: "2" })
      assert.deepStrictEqual(yield* spoken(two, "1.1", "2"), ["2.0", "2.0"])
      const one = yield* to(backend.port, { alpn: ["h2", "http/1.1"] }, { version: "1.1" })
      assert.deepStrictEqual(yield* spoken(one, "1.1", "2"), ["1.1", "1.1"])
      assert.deepStrictEqual(backend.offered, [["h2"], ["http/1.1"]])
    })
  )
  it.live("is what the backend chooses where both are offered; one connection finds out, for all who wait", () =>
    Effect.gen(function* () {
      const alpn = ["h2", "http/1.1"]
      const both = (upstream: Effect.Success<ReturnType<typeof to>>) =>
        Effect.all([spoken(upstream, "1.1"), spoken(upstream, "2"), spoken(upstream, "1.1")], {
          concurrency: "unbounded"
        })
      const backend = yield* secureBackend(true)
      assert.deepStrictEqual(yield* both(yield* to(backend.port, { alpn })), [["2.0"], ["2.0"], ["2.0"]])
      assert.deepStrictEqual(backend.offered, [alpn])
      const old = yield* secureBackend(true, ["http/1.1"])
      const upstream = yield* to(old.port, { alpn })
      assert.deepStrictEqual(yield* both(upstream), [["1.1"], ["1.1"], ["1.1"]])
      assert.deepStrictEqual(yield* spoken(upstream, "1.1", "2"), ["1.1", "1.1"])
      assert.isAtMost(old.sockets.size, 3)
    })
  )
  it.live("is no reason to send what nobody waits for any more, once it is another one than was expected", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      let answer = () => {}
      const server = createTlsServer({ key, cert, ALPNProtocols: ["http/1.1"] }, (socket) => {
        socket
          .on("error", () => {})
          .on("data", (bytes: Buffer) => {
            asked.push(bytes.toString("latin1").split(" ")[1]!)
            answer = () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
          })
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
        () => Effect.sync(() => server.close())
      )
      const { send } = yield* to(portOf(server.address()), { alpn: ["h2", "http/1.1"] }, { maxConnections: 1 })
      const call = (pathAndQuery: string) =>
        Effect.forkChild(send(upstreamRequest({ pathAndQuery })), { startImmediately: true })
      const first = yield* call("/first")
      const second = yield* call("/second")
      yield* Effect.promise(() => eventually(() => asked.length === 1))
      yield* Fiber.interrupt(second)
      const third = yield* call("/third")
      answer()
      yield* Fiber.join(first)
      yield* Effect.promise(() => eventually(() => asked.length === 2))
      answer()
      assert.deepStrictEqual(asked, ["/first", "/third"])
      assert.strictEqual((yield* Fiber.join(third)).status, 200)
    })
  )
  it.live("is found out anew when the backend has become another one", () =>
    Effect.gen(function* () {
      const alpn: Array<string> = ["http/1.1"]
      const backend = yield* secureBackend(true, alpn)
      const upstream = yield* to(backend.port, { alpn: ["h2", "http/1.1"] })
      const change = (protocol: string) =>
        Effect.promise(async () => {
          alpn[0] = protocol
          const all = [...backend.sockets]
          backend.sockets.clear()
          await Promise.all(all.map((socket) => new Promise((resolve) => socket.once("close", resolve).destroy())))
        })
      const found = Effect.retry(spoken(upstream, "1.1"), { times: 3 })
      assert.deepStrictEqual(yield* found, ["1.1"])
      yield* change("h2")
      assert.deepStrictEqual(yield* found, ["2.0"])
      yield* change("http/1.1")
      assert.deepStrictEqual(yield* found, ["1.1"])
    })
  )
  it.live("is none of a backend that does not agree to it", () =>
    Effect.gen(function* () {
      const server = createTlsServer({ key, cert }, (socket) => socket.on("error", () => {}))
      yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const { send } = yield* to(portOf(server.address()), {}, { version: "2" })
      const failure = yield* Effect.flip(send(upstreamRequest()))
      assert.strictEqual(failure.message, "upstream call failed: protocol: the backend does not speak HTTP/2")
      const old = yield* secureBackend(true, ["http/1.1"])
      const other = yield* to(old.port, {}, { version: "2" })
      const refused = yield* Effect.flip(other.send(upstreamRequest()))
      assert.match(refused.message, /speaks none of the protocols of alpn/)
    })
  )
  it.live("is HTTP/1.1 for what leaves HTTP, whatever else is spoken", () =>
    Effect.gen(function* () {
      const backend = yield* http2Backend((stream) => {
        stream.respond({ ":status": 200 })
        stream.end()
      })
      const upgrading = yield* httpBackend((_, response) => response.end("no"))
      const { send } = yield* upstreamTo(portOf(upgrading.address()), { version: "2" })
      assert.strictEqual((yield* send(upstreamRequest({ upgrade: "websocket" }))).status, 200)
      const plain = yield* upstreamTo(backend.port)
      assert.strictEqual((yield* plain.send(upstreamRequest({ version: "2" }))).status, 200)
    })
  )
  it.live("is HTTP/1.1 for what leaves HTTP with a backend that would choose the other one", () =>
    Effect.gen(function* () {
      const backend = yield* secureBackend(true)
      const upstream = yield* to(backend.port, { alpn: ["h2", "http/1.1"] })
      const upgraded = Effect.map(upstream.send(upstreamRequest({ upgrade: "websocket" })), ({ headers }) =>
        headers.get("x-version")
      )
      assert.deepStrictEqual(
        [yield* upgraded, yield* spoken(upstream, "1.1"), yield* upgraded],
        ["1.1", ["2.0"], "1.1"]
      )
    })
  )
  it.live("passes through tunnels, with and without TLS inside", () =>
    Effect.gen(function* () {
      const plain = yield* http2Backend((stream) => {
        stream.respond({ ":status": 200, "x-version": "2.0" })
        stream.end()
      })
      const secure = yield* secureBackend(true)
      const asked: Array<string | undefined> = []
      const proxy = yield* httpBackend(() => {})
      proxy.on("connect", ({ url }, client) => {
        asked.push(url)
        const way = connect(Number(url?.split(":").at(-1)), "127.0.0.1")
        way.on("error", () => client.destroy())
        client.on("error", () => way.destroy())
        // The backend's first words may come with the answer of the proxy.
        way.once("data", (first: Buffer) => {
          client.write(Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\n\r\n"), first]))
          way.pipe(client)
        })
        if (url?.endsWith(`:${secure.port}`) === true) {
          client.write("HTTP/1.1 200 OK\r\n\r\n")
          way.removeAllListeners("data")
          way.pipe(client)
        }
        client.pipe(way)
      })
      for (const mode of ["auto", "connect"] as const) {
        const tunnel = {
          proxy: { kind: "tcp", host: "127.0.0.1", port: portOf(proxy.address()), tls: false },
          mode
        } as const
        const inside = yield* upstreamTo(plain.port, { tunnel })
        assert.deepStrictEqual(yield* spoken(inside, "2", "2"), ["2.0", "2.0"])
        const secured = yield* to(secure.port, { alpn: ["h2", "http/1.1"] }, { tunnel })
        assert.deepStrictEqual(yield* spoken(secured, "1.1", "2"), ["2.0", "2.0"])
      }
      assert.deepStrictEqual(asked, [
        `127.0.0.1:${plain.port}`,
        `localhost:${secure.port}`,
        `127.0.0.1:${plain.port}`,
        `localhost:${secure.port}`
      ])
    })
  )
  it.live("does not multiply the connections that there may be", () =>
    Effect.gen(function* () {
      const backend = yield* secureBackend(true)
      const upstream = yield* to(backend.port, {}, { maxConnections: 1 })
      assert.deepStrictEqual(yield* spoken(upstream, "1.1", "2", "1.1", "2"), ["1.1", "2.0", "1.1", "2.0"])
      assert.strictEqual(backend.offered.length, 4)
    })
  )
})
