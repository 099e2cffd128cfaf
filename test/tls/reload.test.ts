/** TLS whose files and configuration change under open connections: who may stay, stays, and nobody else. */
import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { type AddressInfo, connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { freePorts } from "../free-ports.ts"
import { httpBackend, portOf } from "../http/edge.ts"
import { as, asked, at, connected, client as connecting, logged, pem, serving, showing } from "./edge.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-tls-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** As a renewer writes it: whole, in the place of the one before. */
const put = (from: string, to: string) => {
  copyFileSync(at(from), `${to}.new`)
  renameSync(`${to}.new`, to)
}

const gateway = (tls: string, body = "a") => `
gateways: { default: { port: 8443, tls: { ${tls} } } }
routes: [{ policies: { directResponse: { status: 200, body: ${body} } } }]
`

const trusting = (authority: string, more = "") => `${showing("server")}, root: ${at(`${authority}.pem`)}${more}`

/** A relay that keeps what clients send behind their first packet, until it is told to let it go. */
const holdingAfterHello = (port: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const ready = Promise.withResolvers<void>()
        const released = Promise.withResolvers<void>()
        const relay = createServer((socket) => {
          const onward = connect(port, "127.0.0.1")
          let first = true
          socket.on("data", (bytes) => {
            if (first) onward.write(bytes)
            else {
              ready.resolve()
              void released.promise.then(() => onward.write(bytes))
            }
            first = false
          })
          onward.on("data", (bytes) => socket.write(bytes))
          for (const [each, other] of [
            [socket, onward],
            [onward, socket]
          ] as const)
            each.on("error", () => {}).on("close", () => other.destroy())
        })
        await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve))
        return { relay, letGo: { ready: ready.promise, now: released.resolve } }
      }),
      ({ relay }) => Effect.sync(() => relay.close())
    ),
    ({ relay, letGo }) => ({ relayPort: (relay.address() as AddressInfo).port, letGo })
  )

describe("files of TLS that are replaced", () => {
  it.live("a certificate holds for new connections, and those that are open stay", () =>
    Effect.gen(function* () {
      const own = yield* folder
      const [cert, key] = [join(own, "cert.pem"), join(own, "key.pem")]
      put("server.pem", cert)
      put("server.key", key)
      const { port, log } = yield* serving(gateway(`cert: ${cert}, key: ${key}`))
      const before = yield* connected(port)
      const shown = () =>
        Effect.map(connected(port), ({ socket }) => socket.getPeerX509Certificate()?.subjectAltName ?? "")
      assert.include(yield* shown(), "server")
      put("renewed.pem", cert)
      yield* logged(
        log,
        /warn\tproxy\tcertificates cannot be used: .*it is not the key of the certificate in .*; those before stay/
      )
      assert.include(yield* shown(), "server")
      put("renewed.key", key)
      yield* logged(log, /info\tproxy\tcertificates were replaced; new connections use them/)
      assert.include(yield* shown(), "renewed")
      const { body } = yield* Effect.promise(() => before.ask("localhost"))
      assert.strictEqual(body, "a")
      writeFileSync(cert, "nothing")
      yield* logged(log, /it holds no certificate in PEM form; those before stay/)
      assert.include(yield* shown(), "renewed")
    })
  )

  it.live("clients that new authorities would let in stay, others are ended with what is under way", () =>
    Effect.gen(function* () {
      const own = yield* folder
      const root = join(own, "root.pem")
      put("authority.pem", root)
      const backend = yield* httpBackend(() => {})
      const { port, log } = yield* serving(`
gateways: { default: { port: 8443, tls: { ${showing("server")}, root: ${root} } } }
routes:
- { matches: [{ path: { exact: /slow } }], backends: [{ host: "127.0.0.1:${portOf(backend.address())}" }] }
- { policies: { directResponse: { status: 200, body: a } } }
`)
      const client = yield* connected(port, as("client"))
      const busy = yield* connected(port, as("client"))
      put("both-authorities.pem", root)
      yield* logged(log, /certificates were replaced/)
      const { body } = yield* Effect.promise(() => client.ask("localhost"))
      assert.strictEqual(body, "a")
      const asking = busy.ask("localhost", "/slow").catch(({ code }) => code)
      put("other-authority.pem", root)
      yield* Effect.promise(() => Promise.all([client.closed, busy.closed]))
      assert.include(["closed", "ECONNRESET"], yield* Effect.promise(() => asking))
      yield* logged(log, /connections that would not be admitted any more were ended.* connections=2/)
      yield* logged(log, /http\.path=\/slow .*its connection is not admitted any more/)
      assert.include(["closed", "ECONNRESET", "EPIPE"], yield* asked(port, "localhost", as("client")))
    })
  )
})

describe("TLS in a configuration that is replaced", () => {
  it.live("each request of a connection is served by the newest one", () =>
    Effect.gen(function* () {
      const { port, gateway: running } = yield* serving(gateway(trusting("authority"), "first"))
      const client = yield* connected(port, as("client"))
      const bodies: Array<string> = []
      for (const body of ["first", "second", "third"]) {
        yield* running.reload(gateway(trusting("authority"), body))
        bodies.push((yield* Effect.promise(() => client.ask("localhost"))).body)
      }
      assert.deepStrictEqual(bodies, ["first", "second", "third"])
    })
  )

  it.live.each([
    ["other authorities", trusting("other-authority"), [true, true]],
    ["more authorities", trusting("both-authorities", ", clientCertificates: optional"), [false, false]],
    ["a certificate that is required", trusting("authority"), [false, true]],
    ["no certificate that is asked for", showing("server"), [false, false]]
  ] as const)("%s: who would not be let in is ended", ([, tls, ended]) =>
    Effect.gen(function* () {
      const { port, gateway: running } = yield* serving(
        gateway(trusting("authority", ", clientCertificates: optional"))
      )
      const clients = [yield* connected(port, as("client")), yield* connected(port)]
      for (const each of clients) yield* Effect.promise(() => each.ask("localhost"))
      yield* running.reload(gateway(tls))
      for (const [index, each] of clients.entries()) {
        if (ended[index]) yield* Effect.promise(() => each.closed)
        else assert.strictEqual((yield* Effect.promise(() => each.ask("localhost"))).status, 200)
      }
    })
  )

  it.live("authorities are the same however their file is laid out, and whatever else is in it", () =>
    Effect.gen(function* () {
      const own = yield* folder
      const root = join(own, "root.pem")
      writeFileSync(root, `# ours\n${pem("authority.pem").replace(/^/gm, "  ")}${pem("client.key")}`)
      const { port, gateway: running } = yield* serving(gateway(trusting("authority")))
      const client = yield* connected(port, as("client"))
      yield* running.reload(gateway(`${showing("server")}, root: ${root}`))
      assert.strictEqual((yield* Effect.promise(() => client.ask("localhost"))).status, 200)
      assert.strictEqual(yield* asked(port, "localhost", as("client")), "200 a")
    })
  )

  it.live("whoever is still in the handshake has to meet what is newest", () =>
    Effect.gen(function* () {
      const { port, gateway: running } = yield* serving(gateway(trusting("authority")))
      const { relayPort, letGo } = yield* holdingAfterHello(port)
      const asking = connecting(relayPort, as("client")).then(({ ask }) => ask("localhost"))
      const outcome = asking.then(({ status }) => status).catch(({ code }) => code)
      yield* Effect.promise(() => letGo.ready)
      yield* running.reload(gateway(trusting("other-authority")))
      letGo.now()
      assert.include(["closed", "ECONNRESET", "EPIPE"], yield* Effect.promise(() => outcome))
    })
  )

  it.live("a name that nobody serves any more ends its connections", () =>
    Effect.gen(function* () {
      const named = (hostname: string) =>
        `gateways: { default: { port: 8443, listeners: [{ hostname: ${hostname}, tls: { ${showing("server")} } }] } }\nroutes: [{ policies: { directResponse: { status: 200 } } }]`
      const { port, gateway: running } = yield* serving(named("localhost"))
      const client = yield* connected(port)
      yield* running.reload(named("elsewhere.example"))
      yield* Effect.promise(() => client.closed)
    })
  )

  it.live(
    "a port that takes up TLS, or gives it up, is the same port, and a configuration that is refused changes nothing",
    () =>
      Effect.gen(function* () {
        const [port = 0] = yield* Effect.promise(() => freePorts(1))
        const own = (tls: string) => gateway(tls).replace("8443", String(port))
        const plain = own("").replace(", tls: {  }", "")
        const running = yield* start(plain, { host: "127.0.0.1", env: { ...off } })
        const plainly = () => Effect.promise(async () => (await send(port)).body)
        assert.strictEqual(yield* plainly(), "a")
        yield* running.reload(own(showing("server")))
        assert.strictEqual(yield* asked(port, "localhost"), "200 a")
        const refused = yield* Effect.flip(running.reload(own(`cert: ${at("server.pem")}, key: ${at("client.key")}`)))
        assert.include(refused.message, "it is not the key of the certificate")
        assert.strictEqual(yield* asked(port, "localhost"), "200 a")
        yield* running.reload(plain)
        assert.strictEqual(yield* plainly(), "a")
      })
  )
})

const off = { ADMIN_ADDR: "off", STATS_ADDR: "off", READINESS_ADDR: "off" }
