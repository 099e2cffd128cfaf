/** A listener that has an authority shows a certificate for whatever name it is asked for, which real clients verify. */
import { X509Certificate } from "node:crypto"
import { checkServerIdentity } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { authorityOf } from "../../layers/tls/authority.ts"
import type { ListenerTls } from "../../src/services/listener-tls.ts"
import { asked, at, connected, pem, serving } from "./edge.ts"

const gateway = (hostname = "") => `
gateways:
  default:
    port: 8443
    listeners: [{ ${hostname}tls: { mode: dynamicCa, cert: ${at("issuer.pem")}, key: ${at("issuer.key")} } }]
routes: [{ policies: { directResponse: { status: 200, bodyExpression: request.host } } }]
`
const trusting = { ca: pem("issuer.pem"), checkServerIdentity }

describe("mode dynamicCa", () => {
  it.live("clients that trust the authority verify each name", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(gateway())
      for (const name of ["a.example", "b.a.example", `${"long-label-".repeat(5)}.${"long-label-".repeat(5)}.example`])
        assert.strictEqual(yield* asked(port, name, { ...trusting, servername: name }), `200 ${name}`)
      assert.strictEqual(yield* asked(port, "a.example", { servername: "a.example" }), "SELF_SIGNED_CERT_IN_CHAIN")
      const client = yield* connected(port, { ...trusting, servername: "a.example" })
      const shown = client.socket.getPeerX509Certificate()!
      assert.strictEqual(shown.subjectAltName, "DNS:a.example")
      assert.isFalse(shown.ca)
      assert.deepStrictEqual(shown.keyUsage, ["1.3.6.1.5.5.7.3.1"])
      assert.isBelow(shown.validToDate.getTime() - Date.now(), 8 * 24 * 3_600_000)
    })
  )

  it.live("a client that asks for no name gets one for the address that it has reached", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(gateway())
      assert.strictEqual(yield* asked(port, "127.0.0.1", { ...trusting, servername: "" }), "200 127.0.0.1")
    })
  )

  it.live("none is issued for names that the listener does not have, and sessions end with the name", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(gateway('hostname: "*.a.example", '))
      assert.strictEqual(
        yield* asked(port, "x.a.example", { ...trusting, servername: "x.a.example" }),
        "200 x.a.example"
      )
      assert.include(
        ["closed", "ECONNRESET"],
        yield* asked(port, "b.example", { ...trusting, servername: "b.example" })
      )
    })
  )
})

const authority = (certificate: string, key: string) =>
  authorityOf({ certificate, key: Redacted.make(key) } as ListenerTls)

describe("what an authority issues", () => {
  it("has the name in the form of its kind, is signed by it, and is renewed before it ends", () => {
    const issuer = authority(pem("issuer.pem"), pem("issuer.key"))
    const now = Date.UTC(2026, 10, 22)
    for (const [name, shown] of [
      ["a.example", "DNS:a.example"],
      ["127.0.0.1", "IP Address:127.0.0.1"],
      ["::1", "IP Address:0:0:0:0:0:0:0:1"],
      ["fe80::1:2%eth0", "IP Address:FE80:0:0:0:0:0:1:2"],
      ["::ffff:192.0.2.1", "IP Address:0:0:0:0:0:FFFF:C000:201"]
    ] as const) {
      const { cert, key, until } = issuer.issue(name, now)
      const issued = new X509Certificate(cert)
      assert.strictEqual(issued.subjectAltName, shown)
      assert.isTrue(issued.verify(new X509Certificate(pem("issuer.pem")).publicKey))
      assert.isTrue(issued.checkIssued(new X509Certificate(pem("issuer.pem"))))
      assert.include(cert, pem("issuer.pem").trim())
      assert.include(key, "PRIVATE KEY")
      assert.isBelow(until, issued.validToDate.getTime())
      assert.isAbove(until, now)
    }
    const serials = [1, 2].map(() => new X509Certificate(issuer.issue("a.example", now).cert).serialNumber)
    assert.notStrictEqual(serials[0], serials[1])
  })
})
