/** TLS between real clients and a whole proxy: certificates by name, clients with certificates, and what is told of them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { as, asked, at, connected, pem, serving, showing, telling } from "./edge.ts"

const one = (route: string, tls = "") => `
gateways: { default: { port: 8443, tls: { ${showing("server")}${tls} } } }
routes: [${route}]
`

describe("a listener with TLS", () => {
  it.live("serves HTTP/1.1 behind one certificate, and says https", () =>
    Effect.gen(function* () {
      const { port, log } = yield* serving(one(telling("request.scheme + \" \" + request.uri")))
      const client = yield* connected(port)
      assert.strictEqual(client.socket.authorized, true)
      assert.strictEqual(client.socket.alpnProtocol, "http/1.1")
      assert.strictEqual(client.socket.getProtocol(), "TLSv1.3")
      const first = yield* Effect.promise(() => client.ask("localhost", "/a"))
      assert.strictEqual(`${first.status} ${first.body}`, "200 https https://localhost/a")
      const second = yield* Effect.promise(() => client.ask("localhost", "/b"))
      assert.strictEqual(second.body, "https https://localhost/b")
      yield* Effect.sleep(50)
      assert.include(log.join(""), "tls.sni=localhost")
    })
  )

  it.live("asks for a certificate, and tells rules whose it is", () =>
    Effect.gen(function* () {
      const route = telling("string(source.subjectAltNames) + source.subjectCn + \" \" + source.subject + \" \" + source.issuer")
      const { port } = yield* serving(one(telling("source.subjectAltNames[0] + \" \" + source.subjectCn + \" \" + source.subject + \" \" + source.issuer"), `, root: ${at("authority.pem")}`))
      assert.strictEqual(
        yield* asked(port, "localhost", as("client")),
        "200 client.example subject.example CN=subject.example CN=authority"
      )
      assert.strictEqual(yield* asked(port, "localhost"), "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED")
      void route; void pem
    })
  )
})
