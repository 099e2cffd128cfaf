/** Headers of balancers in front of real connections to a whole proxy: who the client is for rules, logs and answers. */
import { connect } from "node:net"
import { connect as connectTls } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "../http/raw-client.ts"
import { showing } from "../tls/edge.ts"
import { backend, client, greeting, proxy } from "./edge.ts"
import { signature } from "./proxy-headers.ts"

const until = (holds: () => boolean) => Effect.promise(() => eventually(holds))

const answering = (proxyProtocol: string, more = "", listener = "") => `
frontendPolicies: { proxyProtocol: { ${proxyProtocol} } ${more} }
gateways: { default: { port: 7000 ${listener} } }
routes:
- policies: { directResponse: { status: 200, bodyExpression: 'source.address + " " + string(source.port) + " " + source.rawAddress' } }
`
const v1 = "PROXY TCP4 192.0.2.7 198.51.100.1 4711 80\r\n"
const v2 = Buffer.concat([
  signature,
  Buffer.from([0x21, 0x11, 0, 12, 192, 0, 2, 7, 198, 51, 100, 1, 4711 >> 8, 4711 & 255, 0, 80])
]).toString("latin1")
const local = Buffer.concat([signature, Buffer.from([0x20, 0, 0, 0])]).toString("latin1")
const request = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"

/** The body of the answer to these packets; nothing where the connection is closed without a byte. */
const told = (port: number, ...packets: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const one = yield* client(port)
    for (const packet of packets) {
      one.send(packet)
      // So that each is read by itself, as far as that can be had.
      yield* Effect.sleep(2)
    }
    const text = yield* Effect.promise(() => one.toEnd())
    return text.slice(text.indexOf("\r\n\r\n") + 4)
  }).pipe(Effect.scoped)

describe("the PROXY protocol", () => {
  it.live("says who the client is, in the versions that are accepted, in any packets", () =>
    Effect.gen(function* () {
      const { port, log } = yield* proxy(answering("version: all"))
      const known = "192.0.2.7 4711 127.0.0.1"
      assert.strictEqual(yield* told(port, v1 + request), known)
      assert.strictEqual(yield* told(port, v2 + request), known)
      assert.strictEqual(
        yield* told(port, v2.slice(0, 5), v2.slice(5, 20), v2.slice(20) + request.slice(0, 9), request.slice(9)),
        known
      )
      assert.match(yield* told(port, local + request), /^127\.0\.0\.1 \d+ 127\.0\.0\.1$/)
      assert.match(yield* told(port, `PROXY UNKNOWN\r\n${request}`), /^127\.0\.0\.1 \d+ 127\.0\.0\.1$/)
      assert.isTrue(log.some((line) => line.includes("src.addr=192.0.2.7:4711")))
    })
  )

  it.live("is refused in any other form, without a byte, and counted", () =>
    Effect.gen(function* () {
      const { port, metrics } = yield* proxy(answering(""))
      assert.strictEqual(yield* told(port, v2 + request), "192.0.2.7 4711 127.0.0.1")
      for (const packet of [v1 + request, request, `${v2.slice(0, 12)}\x31${request}`]) {
        const one = yield* client(port)
        one.send(packet)
        yield* Effect.promise(() => one.until(({ ended, closed }) => ended || closed))
        assert.strictEqual(one.size, 0)
      }
      const counted = yield* metrics
      assert.include(counted, `headgate_connections_refused_total{bind="bind/7000",reason="ProxyProtocol"} 3`)
    })
  )

  it.live("need not be spoken where it is optional, and what it begins with is not lost", () =>
    Effect.gen(function* () {
      const { gateway, port } = yield* proxy(answering("mode: optional"))
      assert.match(yield* told(port, request), /^127\.0\.0\.1 \d+ 127\.0\.0\.1$/)
      assert.strictEqual(yield* told(port, v2 + request), "192.0.2.7 4711 127.0.0.1")
      const one = yield* client(port)
      one.send(v1 + request)
      yield* Effect.promise(() => one.until(({ ended, closed }) => ended || closed))
      assert.strictEqual(one.size, 0)
      // A reload holds for the next connection.
      yield* Effect.orDie(gateway.reload(answering("mode: optional, version: v1")))
      assert.strictEqual(yield* told(port, v1 + request), "192.0.2.7 4711 127.0.0.1")
    })
  )

  it.live("comes before the rules of connections, which are about the client and the balancer", () =>
    Effect.gen(function* () {
      const rules = (rule: string) => answering("version: all", `, networkAuthorization: { rules: ['${rule}'] }`)
      const { gateway, port } = yield* proxy(rules('source.address == "192.0.2.7" && source.rawAddress == "127.0.0.1"'))
      assert.strictEqual(yield* told(port, v1 + request), "192.0.2.7 4711 127.0.0.1")
      assert.strictEqual(yield* told(port, v1.replace("192.0.2.7", "192.0.2.8") + request), "")
      yield* Effect.orDie(gateway.reload(rules('source.rawAddress == "10.0.0.1"')))
      assert.strictEqual(yield* told(port, v1 + request), "")
    })
  )

  it.live("comes before TLS", () =>
    Effect.gen(function* () {
      const { port } = yield* proxy(answering("", "", `, tls: { ${showing("server")} }`))
      const balancer = connect(port, "127.0.0.1")
      balancer.write(v2, "latin1")
      const text = yield* Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            let text = ""
            const socket = connectTls({ socket: balancer, servername: "localhost", rejectUnauthorized: false }, () =>
              socket.write(request)
            )
            socket.setEncoding("latin1").on("data", (chunk: string) => {
              text += chunk
            })
            socket.on("close", () => resolve(text)).on("error", () => {})
          })
      )
      assert.match(text, /192\.0\.2\.7 4711 127\.0\.0\.1$/)
    })
  )

  it.live("is for those too whose connections are passed on, and is not passed on itself", () =>
    Effect.gen(function* () {
      const db = yield* backend(greeting("db"))
      const { port, log } = yield* proxy(`
frontendPolicies: { proxyProtocol: {} }
gateways: { default: { port: 7000, protocol: TCP } }
tcpRoutes: [{ backends: [{ host: "127.0.0.1:${db.port}" }] }]
`)
      const one = yield* client(port)
      one.send(`${v2}hello`).socket.end()
      yield* Effect.promise(() => one.until(({ ended }) => ended))
      assert.strictEqual(one.text, "db:hello")
      yield* until(() => log.some((line) => line.includes("src.addr=192.0.2.7:4711 protocol=tcp tcp.received_bytes=5")))
    })
  )
})
