/** CONNECT: tunnels through a whole proxy, by raw clients to servers of bytes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { tcpBackend } from "./edge.ts"
import { eventually, parseResponses, RawClient } from "./raw-client.ts"

const serving = (configuration: string) =>
  Effect.gen(function* () {
    const log: Array<string> = []
    const gateway = yield* start(configuration, {
      ephemeral: true,
      host: "127.0.0.1",
      log: (line) => log.push(line)
    })
    return { gateway, log, port: gateway.port(8080)! }
  })

const connects = (mode: string, rest: string) => `
gateways: { default: { port: 8080 } }
frontendPolicies: { connect: { mode: ${mode} } }
${rest}
`
const ask = (destination: string, more = "") => `CONNECT ${destination} HTTP/1.1\r\nhost: ${destination}\r\n${more}\r\n`
const established = /^HTTP\/1\.1 200 OK\r\n(?:[a-z-]+: [^\r]*\r\n)*\r\n/

/** Says what it is told, in capitals, and ends when its client does. */
const shouting = tcpBackend((socket) => {
  socket.on("data", (bytes) => socket.write(bytes.toString("latin1").toUpperCase()))
  socket.on("end", () => socket.end("BYE"))
})
const over = (client: RawClient) => Effect.promise(() => client.toEnd())

describe("CONNECT", () => {
  it.live("is refused unless somebody wants it", () =>
    Effect.gen(function* () {
      for (const configuration of [connects("deny", "routes: []"), "gateways: { default: { port: 8080 } }"]) {
        const { port } = yield* serving(configuration)
        const client = new RawClient(port).send(ask("a.example:443"))
        yield* over(client)
        assert.match(client.text, /^HTTP\/1\.1 405 [\s\S]*method not allowed$/)
      }
    })
  )

  it.live(
    "by route makes a tunnel to its backend: bytes in the same packet, both directions, one ended before the other",
    () =>
      Effect.gen(function* () {
        const backend = yield* shouting
        const { port, log } = yield* serving(
          connects("route", `routes: [{ backends: [{ host: "127.0.0.1:${backend.port}" }] }]`)
        )
        const client = new RawClient(port).send(`${ask("anything.example:9")}early`)
        yield* Effect.promise(() => client.until(({ text }) => text.endsWith("EARLY")))
        assert.match(client.text, established)
        assert.notMatch(client.text, /content-length|transfer-encoding/i)
        client.send(" and late")
        yield* Effect.promise(() => client.until(({ text }) => text.endsWith(" AND LATE")))
        client.socket.end()
        yield* over(client)
        assert.match(client.text, /EARLY AND LATEBYE$/)
        yield* Effect.promise(() =>
          eventually(() => log.some((line) => /http\.method=CONNECT .*http\.status=200/.test(line)))
        )
      })
  )

  it.live("by route goes where a dynamic backend is told, and policies of the route decide", () =>
    Effect.gen(function* () {
      const backend = yield* shouting
      const { port } = yield* serving(
        connects(
          "route",
          `
routes:
- policies: { authorization: { rules: ['request.method == "CONNECT" && request.host.startsWith("127.0.0.1:") && request.path == "/"'] } }
  backends: [{ dynamic: {} }]`
        )
      )
      const allowed = new RawClient(port).send(`${ask(`127.0.0.1:${backend.port}`)}hi`)
      yield* Effect.promise(() => allowed.until(({ text }) => text.endsWith("HI")))
      allowed.socket.destroy()
      const denied = new RawClient(port).send(
        `${ask(`localhost:${backend.port}`)}GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n`
      )
      yield* over(denied)
      // What stands behind it is nobody's request.
      assert.deepStrictEqual(
        parseResponses(denied.received).map(({ status }) => status),
        [403]
      )
    })
  )

  it.live("to nobody is 503, and the connection closes", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(connects("route", `routes: [{ backends: [{ dynamic: {} }] }]`))
      const client = new RawClient(port).send(ask("127.0.0.1:1"))
      yield* over(client)
      assert.match(client.text, /^HTTP\/1\.1 503 /)
    })
  )

  it.live("leads to no model, and to no answer of a route itself", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(
        connects(
          "route",
          `
routes:
- hostnames: [model.example]
  backends: [{ ai: { name: m, provider: { openAI: {} } } }]
- hostnames: [direct.example]
  policies: { directResponse: { status: 200, body: hello } }`
        )
      )
      for (const host of ["model.example", "direct.example"]) {
        const client = new RawClient(port).send(ask(`${host}:80`))
        yield* over(client)
        assert.match(client.text, /^HTTP\/1\.1 500 /, host)
      }
      const nobody = new RawClient(port).send(ask("other.example:80"))
      yield* over(nobody)
      assert.match(nobody.text, /^HTTP\/1\.1 404 /)
    })
  )

  it.live.each([
    ["/", "a path"],
    ["http://a.example:80/", "the absolute form"],
    ["a.example", "no port"],
    ["a.example:", "an empty port"],
    ["a.example:0", "port 0"],
    ["a.example:65536", "too large a port"],
    ["a.example:80a", "no number"],
    ["user@a.example:80", "a user"],
    ["a.example:80/x", "a path behind it"],
    [":80", "no host"],
    ["[::1:80", "half an address"],
    ["*", "the asterisk"]
  ])("%s is no destination: %s", ([destination]) =>
    Effect.gen(function* () {
      const { port } = yield* serving(connects("route", `routes: [{ backends: [{ dynamic: {} }] }]`))
      const client = new RawClient(port).send(`CONNECT ${destination} HTTP/1.1\r\nhost: a.example\r\n\r\n`)
      yield* over(client)
      assert.match(client.text, /^HTTP\/1\.1 400 /)
    })
  )

  it.live("with a body, or without a host, is malformed", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(connects("route", `routes: [{ backends: [{ dynamic: {} }] }]`))
      for (const request of [
        "CONNECT a.example:80 HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx",
        "CONNECT a.example:80 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "CONNECT a.example:80 HTTP/1.1\r\n\r\n"
      ]) {
        const client = new RawClient(port).send(request)
        yield* over(client)
        assert.match(client.text, /^HTTP\/1\.1 400 /, request)
      }
    })
  )

  it.live("a client that does not read makes the backend wait", () =>
    Effect.gen(function* () {
      let written = 0
      const backend = yield* tcpBackend((socket) => {
        const chunk = Buffer.alloc(65_536)
        const pour = () => {
          while (written < 400_000_000 && socket.write(chunk)) written += chunk.length
        }
        socket.on("drain", pour).on("error", () => {})
        pour()
      })
      const { port } = yield* serving(
        connects("route", `routes: [{ backends: [{ host: "127.0.0.1:${backend.port}" }] }]`)
      )
      const client = new RawClient(port).send(ask("a.example:1"))
      yield* Effect.promise(() => client.until(({ size }) => size > 100_000))
      client.socket.pause()
      let before = -1
      let same = 0
      const stands = () => {
        same = written === before ? same + 1 : 0
        before = written
        return same > 40
      }
      yield* Effect.promise(() => eventually(stands))
      assert.isBelow(written, 100_000_000)
      client.socket.destroy()
    })
  )
})
