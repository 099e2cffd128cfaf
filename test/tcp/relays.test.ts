/** Connections that are passed on as they are, between real sockets and through a whole proxy. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect as connectTls } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { traceProblems } from "../../src/main/testing.ts"
import { type TraceEvent, watch } from "../../src/main/trace.ts"
import { eventually } from "../http/raw-client.ts"
import { nowhere } from "../origin.ts"
import { at, pem, showing } from "../tls/edge.ts"
import { backend, client, greeting, proxy } from "./edge.ts"

const tcp = (backends: string, more = "") => `
gateways: { default: { port: 7000, protocol: TCP } }
tcpRoutes: [{ name: db, backends: [${backends}] }]
${more}
`
const host = (port: number, more = "") => `{ host: "127.0.0.1:${port}"${more} }`
const until = (holds: () => boolean) => Effect.promise(() => eventually(holds))
const shown = { cert: pem("server.pem"), key: pem("server.key") }

/** A folder for sockets, which goes with the test. */
const rooms = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "relays-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  ),
  (folder) => ({ folder, path: (name: string) => join(folder, name) })
)

/** Leaves the file of a socket behind. */
const leaving = 'require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))'

/** A client that speaks TLS: what it is told up to the end, after it has said something. */
const toldOverTls = (port: number, servername: string, said: string) =>
  Effect.promise(
    () =>
      new Promise<string>((resolve) => {
        let text = ""
        const socket = connectTls({ port, host: "127.0.0.1", servername, rejectUnauthorized: false }, () =>
          socket.write(said)
        )
        socket
          .setEncoding("latin1")
          .on("data", (chunk: string) => {
            text += chunk
            if (text.endsWith(said)) socket.end()
          })
          .on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"))
          .on("close", () => resolve(text))
      })
  )

describe("a connection to a TCP listener", () => {
  it.live("is passed on in both directions, and each end of it by itself", () =>
    Effect.gen(function* () {
      const db = yield* backend((socket) => socket.write("ready:"))
      const { port, log, metrics } = yield* proxy(tcp(host(db.port)))
      const one = yield* client(port)
      yield* Effect.promise(() => one.until(({ text }) => text === "ready:"))
      one.send("ask")
      yield* until(() => db.seen[0]!.text() === "ask")
      one.socket.end()
      yield* until(() => db.seen[0]!.ended())
      assert.isFalse(one.ended)
      db.seen[0]!.socket.end("late")
      yield* Effect.promise(() => one.until(({ ended }) => ended))
      assert.strictEqual(one.text, "ready:late")
      yield* until(() => log.some((line) => line.includes("request")))
      assert.match(
        log.find((line) => line.includes("\trequest"))!,
        new RegExp(
          `gateway=default/default listener=default route=default/db endpoint=127\\.0\\.0\\.1:${db.port} src\\.addr=127\\.0\\.0\\.1:\\d+ protocol=tcp tcp\\.received_bytes=3 tcp\\.sent_bytes=10 duration=\\d+ms\\n$`
        )
      )
      const counted = yield* metrics
      const labels = `{bind="bind/7000",gateway="default/default",listener="default",protocol="tcp"}`
      assert.include(counted, `headgate_downstream_connections_total${labels} 1`)
      assert.include(counted, `headgate_downstream_connections${labels} 0`)
      assert.include(counted, `headgate_downstream_received_bytes_total${labels} 3`)
      assert.include(counted, `headgate_downstream_sent_bytes_total${labels} 10`)
    })
  )

  it.live("that one side resets is reset for the other one", () =>
    Effect.gen(function* () {
      const db = yield* backend((socket) => socket.write("ready"))
      const { port, log } = yield* proxy(tcp(host(db.port)))
      const one = yield* client(port)
      yield* Effect.promise(() => one.until(({ text }) => text === "ready"))
      one.socket.resetAndDestroy()
      yield* until(() => db.seen[0]!.closed())
      assert.strictEqual(db.seen[0]!.broken(), "ECONNRESET")
      const two = yield* client(port)
      yield* Effect.promise(() => two.until(({ text }) => text === "ready"))
      db.seen[1]!.socket.resetAndDestroy()
      yield* Effect.promise(() => two.until(({ closed }) => closed))
      assert.isTrue(two.reset)
      yield* until(() => log.filter((line) => line.includes("\trequest")).length === 2)
      assert.isTrue(log.some((line) => line.includes('error="the client has broken the connection off: ECONNRESET"')))
      assert.isTrue(log.some((line) => line.includes("the backend has broken") && line.includes("UpstreamFailure")))
    })
  )

  it.live("whose receiver takes nothing does not pile up, and everything comes once it does", () =>
    Effect.gen(function* () {
      const size = 16 * 1024 * 1024
      const db = yield* backend((socket) => {
        socket.pause()
        socket.write(Buffer.alloc(size, 98))
      })
      const { port } = yield* proxy(tcp(host(db.port)))
      const one = yield* client(port)
      one.socket.pause()
      one.send(Buffer.alloc(size, 97))
      yield* until(() => db.seen.length === 1)
      const { socket } = db.seen[0]!
      // What the system keeps on the way is some megabytes; the rest stays with who sends.
      let before = -1
      yield* until(() => {
        const stays = one.socket.writableLength === before && before > 0
        before = one.socket.writableLength
        return stays
      })
      assert.isAbove(one.socket.writableLength, size / 4)
      assert.isAbove(socket.writableLength, size / 4)
      one.socket.resume()
      yield* Effect.promise(() => one.until(() => one.size === size))
      assert.isAbove(one.socket.writableLength, size / 4)
      socket.resume()
      yield* until(() => socket.bytesRead === size)
    })
  )

  it.live("tries another endpoint where one does not take it, and tells what no endpoint takes", () =>
    Effect.gen(function* () {
      const db = yield* backend(greeting("db"))
      const gone = yield* nowhere
      const { port, log } = yield* proxy(`
gateways: { default: { port: 7000, protocol: TCP } }
tcpRoutes: [{ backends: [{ service: { name: default/db, port: 5432 } }] }]
services:
- { hostname: db, endpoints: [{ address: "127.0.0.1:${gone}" }, { address: "127.0.0.1:${db.port}" }] }
`)
      for (let each = 0; each < 12; each++) {
        const one = yield* client(port)
        one.send("x")
        yield* Effect.promise(() => one.until(({ text }) => text === "db:x"))
      }
      assert.isFalse(log.some((line) => line.includes("error=")))
    })
  )

  it.live("nobody takes is closed, and the log says why", () =>
    Effect.gen(function* () {
      const gone = yield* nowhere
      const { port, log } = yield* proxy(tcp(host(gone)))
      const one = yield* client(port)
      yield* Effect.promise(() => one.until(({ closed, ended }) => closed || ended))
      yield* until(() => log.some((line) => line.includes("\trequest")))
      assert.match(log.at(-1)!, /error="upstream call failed: connection refused: ECONNREFUSED" reason=UpstreamFailure/)
    })
  )

  it.live("goes to the backends of its route by their weights", () =>
    Effect.gen(function* () {
      const [a, b, c] = [yield* backend(greeting("a")), yield* backend(greeting("b")), yield* backend(greeting("c"))]
      const { port } = yield* proxy(
        tcp([host(a.port, ", weight: 3"), host(b.port), host(c.port, ", weight: 0")].join())
      )
      for (let each = 0; each < 60; each++) {
        const one = yield* client(port)
        yield* Effect.promise(() => one.until(({ text }) => text.endsWith(":")))
        one.socket.destroy()
      }
      assert.isAbove(a.seen.length, b.seen.length)
      assert.isAbove(b.seen.length, 2)
      assert.lengthOf(c.seen, 0)
    })
  )

  it.live("on which nothing moves for too long is ended", () =>
    Effect.gen(function* () {
      const db = yield* backend(greeting("db"))
      const { port, log } = yield* proxy(tcp(host(db.port), "frontendPolicies: { tcp: { idleTimeout: 200ms } }"))
      const one = yield* client(port)
      yield* Effect.promise(() => one.until(({ closed }) => closed))
      assert.strictEqual(one.text, "db:")
      yield* until(() => log.some((line) => line.includes('error="nothing has moved for too long" reason=Timeout')))
      yield* until(() => db.seen[0]!.closed())
    })
  )

  it.live("is ended as well when nothing moves for as long as its backend says", () =>
    Effect.gen(function* () {
      const db = yield* backend(greeting("db"))
      const { port } = yield* proxy(`
gateways: { default: { port: 7000, protocol: TCP } }
tcpRoutes: [{ backends: [{ backend: /db }] }]
backends: [{ name: db, host: "127.0.0.1:${db.port}", policies: { http: { idleTimeout: 200ms } } }]
`)
      const one = yield* client(port)
      yield* Effect.promise(() => one.until(({ closed }) => closed))
      assert.strictEqual(one.text, "db:")
    })
  )

  it.live("lives on when the configuration is replaced, and new ones go by the new one", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* backend(greeting("a")), yield* backend(greeting("b"))]
      const { gateway, port } = yield* proxy(tcp(host(a.port)))
      const before = yield* client(port)
      yield* Effect.promise(() => before.until(({ text }) => text === "a:"))
      yield* Effect.orDie(gateway.reload(tcp(host(b.port))))
      const after = yield* client(port)
      yield* Effect.promise(() => after.until(({ text }) => text === "b:"))
      before.send("still")
      yield* Effect.promise(() => before.until(({ text }) => text === "a:still"))
      yield* Effect.orDie(gateway.reload("gateways: { default: { port: 7001, protocol: TCP } }\ntcpRoutes: []"))
      before.send("!")
      yield* Effect.promise(() => before.until(({ text }) => text === "a:still!"))
    })
  )

  it.live("is cut when its configuration has been replaced for as long as that may last", () =>
    Effect.gen(function* () {
      const db = yield* backend(greeting("db"))
      const settings = "config: { reloadTerminationDeadline: 300ms }"
      const { gateway, port, log } = yield* proxy(tcp(host(db.port), settings))
      const one = yield* client(port)
      yield* Effect.promise(() => one.until(({ text }) => text === "db:"))
      yield* Effect.orDie(gateway.reload(tcp(host(db.port, ", weight: 2"), settings)))
      yield* Effect.promise(() => one.until(({ closed }) => closed))
      yield* until(() => log.some((line) => line.includes('error="its configuration was replaced"')))
    })
  )

  it.live("is let in by the rules of connections, and ended when others would not let it in", () =>
    Effect.gen(function* () {
      const db = yield* backend(greeting("db"))
      const rules = (address: string) =>
        tcp(
          host(db.port),
          `frontendPolicies: { networkAuthorization: { rules: [{ deny: 'source.address == "${address}"' }] } }`
        )
      const { gateway, port, log } = yield* proxy(rules("127.0.0.2"))
      const refused = yield* client(port, "127.0.0.2")
      yield* Effect.promise(() => refused.until(({ closed, ended }) => closed || ended))
      const one = yield* client(port)
      yield* Effect.promise(() => one.until(({ text }) => text === "db:"))
      assert.lengthOf(db.seen, 1)
      yield* Effect.orDie(gateway.reload(rules("127.0.0.1")))
      yield* Effect.promise(() => one.until(({ closed }) => closed))
      yield* until(() => log.some((line) => line.includes('error="its connection is not admitted any more"')))
      assert.isTrue(log.some((line) => line.includes("\trefused") && line.includes("127.0.0.2")))
      assert.lengthOf(
        log.filter((line) => line.includes("\trequest")),
        1
      )
    })
  )

  it.live("is what a watcher of the next request sees", () =>
    Effect.gen(function* () {
      const db = yield* backend(greeting("db"))
      const { gateway, port } = yield* proxy(
        tcp(host(db.port), `frontendPolicies: { networkAuthorization: { rules: [{ allow: 'true' }] } }`)
      )
      const events: Array<TraceEvent> = []
      const stream = yield* Effect.orDie(watch(`127.0.0.1:${gateway.ports.admin}`, {}))
      const fiber = yield* Effect.forkScoped(
        Effect.orDie(Stream.runForEach(stream, (event) => Effect.sync(() => events.push(event))))
      )
      const one = yield* client(port)
      one.send("x").socket.end()
      yield* Effect.promise(() => one.until(({ ended }) => ended))
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(traceProblems(events), [])
      assert.deepStrictEqual(
        events.map(({ message }) => ("phase" in message ? `${message.type} ${message.phase}` : message.type)),
        [
          "requestStarted",
          "policyEvent",
          "policySelection connection",
          "authorizationResult",
          "policy connection",
          "routeSelection",
          "policySelection backend",
          "backendCallStart",
          "backendCallResult",
          "policyEvent",
          "requestFinished"
        ]
      )
      assert.deepInclude(events.find(({ message }) => message.type === "routeSelection")!.message, {
        selectedRoute: "gateway/default/default/db"
      })
      assert.deepInclude(events.at(-2)!.message, { details: { received: 1, sent: 4 } })
    })
  )
})

describe("a socket of the machine", () => {
  it.live("takes connections, and is where they are passed on to", () =>
    Effect.gen(function* () {
      const { path } = yield* rooms
      const db = yield* backend(greeting("db"), undefined, path("db"))
      // One that nobody serves any more.
      spawnSync(process.execPath, ["-e", leaving, path("in")])
      const text = (more: string) => `
gateways: { default: { port: 7000, address: "unix:${path("in")}", protocol: TCP } }
tcpRoutes: [{ name: db, backends: [{ host: "unix:${path("db")}" ${more} }] }]
`
      const { gateway, log } = yield* proxy(text(""))
      const asked = Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            let said = ""
            const socket = connect(path("in"), () => socket.end("hello"))
            socket.setEncoding("latin1").on("data", (chunk: string) => {
              said += chunk
            })
            socket.on("close", () => resolve(said)).on("error", () => {})
          })
      )
      assert.strictEqual(yield* asked, "db:hello")
      yield* Effect.orDie(gateway.reload(text(", weight: 2")))
      assert.strictEqual(yield* asked, "db:hello")
      assert.lengthOf(db.seen, 2)
      yield* until(() => log.some((line) => line.includes(`endpoint=unix:${path("db")}`)))
    })
  )

  it.live("carries requests in and out as well", () =>
    Effect.gen(function* () {
      const { path } = yield* rooms
      yield* backend(
        (socket) => socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nup")),
        undefined,
        path("up")
      )
      yield* proxy(`
gateways: { default: { port: 7000, address: "unix:${path("in")}" } }
routes: [{ backends: [{ host: "unix:${path("up")}" }] }]
`)
      const answered = Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            let said = ""
            const socket = connect(path("in"), () =>
              socket.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            )
            socket.setEncoding("latin1").on("data", (chunk: string) => {
              said += chunk
            })
            socket.on("close", () => resolve(said)).on("error", () => {})
          })
      )
      assert.match(yield* answered, /^HTTP\/1\.1 200 [\s\S]*up$/)
    })
  )
})

describe("a TLS listener", () => {
  const routed = (listeners: string, routes: string) => `
gateways: { default: { port: 7000, listeners: [${listeners}] } }
tcpRoutes: [${routes}]
`
  it.live("ends TLS and passes on what is in it, beside one of HTTPS and one that ends none", () =>
    Effect.gen(function* () {
      const [plain, secure, other] = [
        yield* backend(greeting("plain")),
        yield* backend(greeting("secure"), shown),
        yield* backend(greeting("other"), shown)
      ]
      const { gateway, port, log } = yield* proxy(`${routed(
        `{ name: ended, hostname: ended.test, protocol: TLS, tls: { ${showing("server")} } },
         { name: passed, hostname: "*.test", protocol: TLS },
         { name: web, hostname: web.test, protocol: HTTPS, tls: { ${showing("server")} } }`,
        `{ name: ended, gateways: default/ended, backends: [${host(plain.port)}] },
         { name: one, gateways: default/passed, hostnames: [one.test], backends: [${host(secure.port)}] },
         { name: any, gateways: default/passed, backends: [${host(other.port)}] }`
      )}
routes: [{ gateways: default/web, policies: { directResponse: { status: 200, body: web } } }]
`)
      assert.strictEqual(yield* toldOverTls(port, "ended.test", "hello"), "plain:hello")
      assert.strictEqual(yield* toldOverTls(port, "one.test", "hello"), "secure:hello")
      assert.strictEqual(yield* toldOverTls(port, "two.test", "hello"), "other:hello")
      assert.strictEqual(yield* toldOverTls(port, "elsewhere.example", "hello"), "ECONNRESET")
      yield* until(() => log.filter((line) => line.includes("\trequest")).length === 3)
      assert.isTrue(log.some((line) => /listener=passed .*tls\.sni=one\.test protocol=tls/.test(line)))
      assert.isDefined(gateway.port(7000))
      const web = yield* Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            let text = ""
            const socket = connectTls({ port, host: "127.0.0.1", servername: "web.test", rejectUnauthorized: false })
            socket.write("GET / HTTP/1.1\r\nhost: web.test\r\nconnection: close\r\n\r\n")
            socket.setEncoding("latin1").on("data", (chunk: string) => {
              text += chunk
            })
            socket.on("close", () => resolve(text)).on("error", () => {})
          })
      )
      assert.match(web, /^HTTP\/1\.1 200 [\s\S]*web$/)
    })
  )

  it.live("leads to a backend that is spoken to with TLS by a policy", () =>
    Effect.gen(function* () {
      const db = yield* backend(greeting("db"), shown)
      const { port } = yield* proxy(
        tcp(host(db.port, `, policies: { backendTLS: { root: ${at("authority.pem")}, hostname: localhost } }`))
      )
      const one = yield* client(port)
      one.send("x").socket.end()
      yield* Effect.promise(() => one.until(({ ended }) => ended))
      assert.strictEqual(one.text, "db:x")
      assert.strictEqual(db.seen[0]!.text(), "x")
    })
  )
})
