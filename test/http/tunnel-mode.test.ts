/** Tunnels that end in the gateway itself: what is in them is a connection to another of its ports. */
import { connect as connectHttp2 } from "node:http2"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { client as overTls, pem, serving, showing } from "../tls/edge.ts"
import { tcpBackend } from "./edge.ts"
import { eventually, parseResponses, RawClient } from "./raw-client.ts"

const ask = (destination: string, more = "") => `CONNECT ${destination} HTTP/1.1\r\nhost: ${destination}\r\n${more}\r\n`
const get = (more = "") => `GET /inner HTTP/1.1\r\nhost: inner.example\r\n${more}\r\n`
const established = "HTTP/1.1 200 OK\r\n\r\n"
const telling = (expression: string) =>
  `[{ policies: { directResponse: { status: 200, bodyExpression: '${expression}' } } }]`

const inTunnels = (inner: string, more = "") => `
frontendPolicies: { connect: { mode: tunnel }${more} }
binds:
- port: 8080
  listeners: [{ routes: ${telling('"outer"')} }]
${inner}
`
const plain = inTunnels(`- port: 9000
  mode: internal
  listeners: [{ routes: ${telling('source.connectHeaders["x-team"] + " " + request.path')} }]
`)
const wait = (client: RawClient, holds: (text: string) => boolean) =>
  Effect.promise(() => client.until(({ text }) => holds(text)))
const end = (client: RawClient) => Effect.promise(() => client.toEnd())

/** A socket at whose other end an inner port is. */
const tunnelTo = (port: number, inner: number) =>
  Effect.gen(function* () {
    const client = new RawClient(port).send(ask(`any.example:${inner}`))
    yield* wait(client, (text) => text === established)
    client.socket.removeAllListeners("data")
    return client.socket
  })

describe("CONNECT by tunnel", () => {
  it.live("enters an internal port, whose bytes may come with the CONNECT itself, cut anywhere", () =>
    Effect.gen(function* () {
      const { port, log, gateway } = yield* serving(plain, 8080)
      assert.isUndefined(gateway.port(9000))
      const bytes = `${ask("any.example:9000", "x-team: blue\r\n")}${get()}${get("connection: close\r\n")}`
      for (const at of [bytes.length, 20, bytes.indexOf("GET"), bytes.indexOf("GET") + 3, bytes.lastIndexOf("GET")]) {
        const client = new RawClient(port).send(bytes.slice(0, at))
        yield* Effect.promise(() => new Promise(setImmediate))
        client.send(bytes.slice(at))
        yield* end(client)
        assert.isTrue(client.text.startsWith(established), client.text)
        const answers = parseResponses(client.received.subarray(established.length))
        assert.deepStrictEqual(
          answers.map(({ status, body }) => `${status} ${body}`),
          ["200 blue /inner", "200 blue /inner"]
        )
      }
      yield* Effect.promise(() => eventually(() => log.some((line) => / tunnel=any\.example:9000/.test(line))))
    })
  )

  it.live("is taken on a connection that has served requests, and behind a pipelined one", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(plain, 8080)
      const outer = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
      for (const pipelined of [true, false]) {
        const client = new RawClient(port).send(pipelined ? "" : outer)
        if (!pipelined) {
          yield* wait(client, (text) => text.endsWith("outer"))
          client.send(outer)
          yield* wait(client, (text) => text.endsWith("outer") && text.split("outer").length === 3)
        }
        client.send(`${pipelined ? outer : ""}${ask("a.example:9000", "x-team: red\r\n")}`)
        yield* wait(client, (text) => text.endsWith(established))
        for (const _ of [1, 2, 3]) {
          const before = client.text.length
          client.send(get())
          yield* wait(client, (text) => text.length > before && text.endsWith("red /inner"))
        }
        client.send(get("connection: close\r\n"))
        yield* end(client)
      }
    })
  )

  it.live("has TLS in it, of HTTP/1.1 and of HTTP/2, also where the connection itself has TLS", () =>
    Effect.gen(function* () {
      const inner = `- port: 9443
  mode: internal
  listeners: [{ protocol: HTTPS, tls: { ${showing("server")} }, routes: ${telling("request.scheme + destination.hostname")} }]
- port: 8443
  listeners: [{ protocol: HTTPS, tls: { ${showing("server")} }, routes: [] }]
`
      const { port, gateway, log } = yield* serving(inTunnels(inner), 8080)
      for (const secured of [false, true]) {
        for (const alpn of ["http/1.1", "h2"]) {
          const outer = secured ? yield* tunnelInTls(gateway.port(8443)!, 9443) : yield* tunnelTo(port, 9443)
          if (alpn === "http/1.1") {
            const client = yield* Effect.promise(() => overTls(0, { socket: outer }))
            for (const _ of [1, 2]) {
              const { body } = yield* Effect.promise(() => client.ask("localhost"))
              assert.strictEqual(body, "httpslocalhost")
            }
            client.socket.destroy()
          } else assert.strictEqual(yield* Effect.promise(() => askHttp2(outer)), "httpslocalhost")
        }
      }
      const told = () => log.filter((line) => / http\.version=HTTP\/2 .* tunnel=any\.example:9443/.test(line)).length
      yield* Effect.promise(() => eventually(() => told() === 2))
    })
  )

  it.live("passes TCP on, one direction ended before the other", () =>
    Effect.gen(function* () {
      const backend = yield* tcpBackend((socket) => {
        socket.on("data", (bytes) => socket.write(bytes.toString("latin1").toUpperCase()))
        socket.on("end", () => socket.end("BYE"))
      })
      const inner = `- port: 9000
  mode: internal
  listeners: [{ protocol: TCP, tcpRoutes: [{ backends: [{ host: "127.0.0.1:${backend.port}" }] }] }]
`
      const { port, log } = yield* serving(inTunnels(inner), 8080)
      for (const before of [0, 2]) {
        const client = new RawClient(port)
        for (let n = 1; n <= before; n++) {
          client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
          yield* wait(client, (text) => text.split("outer").length === n + 1)
        }
        client.send(`${ask("db.example:9000")}early`)
        yield* wait(client, (text) => text.endsWith("EARLY"))
        client.send(" late")
        yield* wait(client, (text) => text.endsWith(" LATE"))
        client.socket.end()
        yield* end(client)
        assert.isTrue(client.text.endsWith(`${established}EARLY LATEBYE`), client.text)
      }
      yield* Effect.promise(() => eventually(() => log.some((line) => /tunnel=db\.example:9000 protocol=/.test(line))))
    })
  )

  it.live("passes on the end of a client that has nothing to say behind its CONNECT", () =>
    Effect.gen(function* () {
      const backend = yield* tcpBackend((socket) => {
        socket.resume().on("end", () => socket.end("BYE"))
      })
      const inner = `- port: 9000
  mode: internal
  listeners: [{ protocol: TCP, tcpRoutes: [{ backends: [{ host: "127.0.0.1:${backend.port}" }] }] }]
- port: 9001
  mode: internal
  listeners: [{ routes: [] }]
- port: 8443
  listeners: [{ protocol: HTTPS, tls: { ${showing("server")} }, routes: [] }]
`
      const { port, gateway } = yield* serving(inTunnels(inner), 8080)
      const client = new RawClient(port)
      client.socket.end(ask("a:9000"))
      yield* end(client)
      assert.strictEqual(client.text, `${established}BYE`)
      const said = (inner: number) => Effect.promise(() => saidInTls(gateway.port(8443)!, ask(`a:${inner}`)))
      assert.strictEqual(yield* said(9000), `${established}BYE`)
      assert.strictEqual(yield* said(9001), established)
    })
  )

  it.live("has TLS in it, and HTTP/2 without, on a connection that has served requests, and in another tunnel", () =>
    Effect.gen(function* () {
      const inner = `- port: 9443
  mode: internal
  listeners: [{ protocol: HTTPS, tls: { ${showing("server")} }, routes: ${telling("request.scheme")} }]
- port: 9000
  mode: internal
  listeners: [{ routes: ${telling("request.scheme")} }]
`
      const { port } = yield* serving(inTunnels(inner), 8080)
      const tunnelAfter = (before: number, ...through: ReadonlyArray<number>) =>
        Effect.gen(function* () {
          const client = new RawClient(port)
          for (let n = 1; n <= before; n++) {
            client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            yield* wait(client, (text) => text.split("outer").length === n + 1)
          }
          for (const [n, each] of through.entries()) {
            client.send(ask(`any.example:${each}`))
            yield* wait(client, (text) => text.split(established).length === n + 2)
          }
          client.socket.removeAllListeners("data")
          return client.socket
        })
      for (const before of [0, 2])
        for (const way of [[], [8080]]) {
          const secured = yield* tunnelAfter(before, ...way, 9443)
          assert.strictEqual(yield* Effect.promise(() => askHttp2(secured)), "https")
          const plain = yield* tunnelAfter(before, ...way, 9000)
          assert.strictEqual(yield* Effect.promise(() => askHttp2(plain, (socket) => socket)), "http")
        }
    })
  )

  it.live("takes an internal port without a number for all others, and two tunnels in each other but no third", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(
        inTunnels(`- mode: internal
  listeners: [{ routes: ${telling('source.connectHeaders["x-at"]')} }]
`),
        8080
      )
      const at = (n: number) => ask(`any.example:${n}`, `x-at: "${n}"\r\n`)
      const client = new RawClient(port).send(at(7) + at(8) + get("connection: close\r\n"))
      yield* end(client)
      assert.match(client.text, /^(HTTP\/1\.1 200 OK\r\n\r\n){2}HTTP\/1\.1 200 [\s\S]*"8"$/)
      const deeper = new RawClient(port).send(at(7) + at(8080) + at(9) + get())
      yield* end(deeper)
      assert.match(deeper.text, /^(HTTP\/1\.1 200 OK\r\n\r\n){2}HTTP\/1\.1 508 [\s\S]*too many tunnels in tunnels$/)
    })
  )

  it.live("to nowhere, and to a port of one address alone, is 404; what stands behind it is nobody's", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(
        inTunnels(`- port: 9000
  address: 127.0.0.1
  listeners: [{ routes: [] }]
`),
        8080
      )
      for (const inner of [9000, 9001]) {
        const client = new RawClient(port).send(`${ask(`127.0.0.1:${inner}`)}${get()}`)
        yield* end(client)
        assert.deepStrictEqual(
          parseResponses(client.received).map(({ status, body }) => `${status} ${body}`),
          ["404 bind not found"]
        )
      }
    })
  )

  it.live("is all that a port with tunnelProtocol connect serves", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(
        `
binds:
- port: 8080
  tunnelProtocol: connect
  listeners: [{ routes: [] }]
- port: 9000
  mode: internal
  listeners: [{ routes: ${telling('"inner"')} }]
`,
        8080
      )
      const refused = new RawClient(port).send(get())
      yield* end(refused)
      assert.match(refused.text, /^HTTP\/1\.1 405 [\s\S]*allow: CONNECT\r\n/)
      const client = new RawClient(port).send(`${ask("a:9000")}${get()}${ask("a:9000")}`)
      yield* end(client)
      // In it CONNECT is what it is anywhere else.
      assert.match(client.text, /inner[\s\S]*HTTP\/1\.1 405 /)
    })
  )

  it.live("asks the connection policies of both ports, and the newest ones of a reload", () =>
    Effect.gen(function* () {
      const text = (inside: string) =>
        inTunnels(
          `- port: 9000
  mode: internal
  listeners: [{ routes: ${telling('"in"')} }]
`,
          `, networkAuthorization: { rules: ['${inside}'] }`
        )
      const { port, gateway } = yield* serving(
        text('!has(source.connectHeaders) || source.connectHeaders["x-key"] == "k"'),
        8080
      )
      const denied = new RawClient(port).send(`${ask("a:9000", "x-key: other\r\n")}${get()}`)
      yield* end(denied)
      assert.strictEqual(denied.text, established)
      const client = new RawClient(port).send(`${ask("a:9000", "x-key: k\r\n")}${get()}`)
      yield* wait(client, (text) => text.endsWith("in"))
      yield* gateway.reload(text("!has(source.connectHeaders)"))
      yield* end(client)
    })
  )

  it.live("ends with a drain of the gateway, and with its client", () =>
    Effect.gen(function* () {
      const inner = yield* Effect.scoped(
        Effect.gen(function* () {
          const { port } = yield* serving(plain, 8080)
          const client = new RawClient(port).send(`${ask("a:9000", "x-team: t\r\n")}${get()}`)
          yield* wait(client, (text) => text.endsWith("t /inner"))
          return client
        })
      )
      yield* end(inner)
    })
  )
})

/** The same behind TLS. */
const tunnelInTls = (port: number, inner: number) =>
  Effect.promise(
    () =>
      new Promise<TLSSocket>((resolve, reject) => {
        const socket = connectTls({ port, host: "127.0.0.1", servername: "localhost", ca: pem("authority.pem") })
        socket.once("error", reject).once("data", () => resolve(socket))
        socket.write(ask(`any.example:${inner}`))
      })
  )

/** Everything that comes back for bytes with the end right behind them. */
const saidInTls = (port: number, bytes: string) =>
  new Promise<string>((resolve, reject) => {
    let text = ""
    const options = { port, host: "127.0.0.1", servername: "localhost", ca: pem("authority.pem"), allowHalfOpen: true }
    const socket = connectTls(options, () => socket.end(bytes))
    socket
      .on("data", (chunk: Buffer) => {
        text += chunk.toString("latin1")
      })
      .on("end", () => resolve(text))
      .on("error", reject)
  })

const secure = (socket: RawClient["socket"]): RawClient["socket"] =>
  connectTls({ socket, servername: "localhost", ca: pem("authority.pem"), ALPNProtocols: ["h2"] })

const askHttp2 = (socket: RawClient["socket"], over = secure) =>
  new Promise<string>((resolve, reject) => {
    const scheme = over === secure ? "https" : "http"
    const session = connectHttp2(`${scheme}://localhost`, { createConnection: () => over(socket) })
    session.once("error", reject)
    let text = ""
    session
      .request({ ":path": "/" })
      .on("data", (bytes: Buffer) => {
        text += bytes.toString()
      })
      .on("end", () => {
        session.destroy()
        resolve(text)
      })
      .on("error", reject)
  })
