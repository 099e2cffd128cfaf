/** A session of TLS is resumed where it was made and nowhere else: on resumption nobody verifies the client, or asks for its certificate. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { as, at, connected, serving, showing } from "./edge.ts"

const authority = at("authority.pem")
const both = (mode: string, root = authority, certificate = "server", body = "a") => `
gateways:
  default:
    port: 8443
    listeners:
    - { name: wild, hostname: "*.a.example", tls: { ${showing(certificate)}, root: ${root}, clientCertificates: ${mode} } }
    - { name: any, tls: { ${showing("server")} } }
routes:
- { gateways: default, policies: { directResponse: { status: 200, body: ${body} } } }
`

type Version = "TLSv1.2" | "TLSv1.3"
const ofVersion = (version: Version, servername: string) => ({
  ...as("client"),
  servername,
  minVersion: version,
  maxVersion: version
})

/** A ticket of a first connection. */
const ticket = (port: number, version: Version, servername: string) =>
  Effect.gen(function* () {
    const client = yield* connected(port, ofVersion(version, servername))
    yield* Effect.promise(() => client.ask(servername))
    const session = client.session()
    if (session === undefined) return assert.fail("no ticket was given")
    assert.isFalse(client.socket.isSessionReused())
    client.socket.destroy()
    return session
  })

const isResumed = (port: number, version: Version, servername: string, session: Buffer) =>
  Effect.gen(function* () {
    const client = yield* connected(port, { ...ofVersion(version, servername), session })
    const { status } = yield* Effect.promise(() => client.ask(servername))
    assert.strictEqual(status, 200)
    const reused = client.socket.isSessionReused()
    client.socket.destroy()
    return reused
  })

describe.each(["TLSv1.3", "TLSv1.2"] as const)("a session of %s", (version) => {
  it.live("is resumed under the name of its first handshake alone", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(both("required"))
      const session = yield* ticket(port, version, "x.a.example")
      assert.isTrue(yield* isResumed(port, version, "x.a.example", session))
      assert.isFalse(yield* isResumed(port, version, "y.a.example", session))
    })
  )

  it.live("is resumed at no other listener, of the same certificate", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(both("required"))
      const session = yield* ticket(port, version, "any.example")
      assert.isTrue(yield* isResumed(port, version, "any.example", session))
      assert.isFalse(yield* isResumed(port, version, "x.a.example", session))
    })
  )

  it.live.each([
    ["what it does not depend on", both("required", authority, "server", "b"), true],
    ["the mode of client certificates", both("optional"), false],
    ["client certificates that are not asked for any more", both("none"), false],
    ["the authorities of client certificates", both("required", at("both-authorities.pem")), false],
    ["the certificate of the listener", both("required", authority, "renewed"), false]
  ] as const)("after a reload that changes %s", ([, changed, resumed]) =>
    Effect.gen(function* () {
      const { port, gateway } = yield* serving(both("required"))
      const session = yield* ticket(port, version, "x.a.example")
      yield* gateway.reload(changed)
      assert.strictEqual(yield* isResumed(port, version, "x.a.example", session), resumed)
    })
  )

  it.live("still says whose it is", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(
        both("required").replace("body: a", 'bodyExpression: "source.subjectAltNames[0]"')
      )
      const session = yield* ticket(port, version, "x.a.example")
      const client = yield* connected(port, { ...ofVersion(version, "x.a.example"), session })
      const { body } = yield* Effect.promise(() => client.ask("x.a.example"))
      assert.isTrue(client.socket.isSessionReused())
      assert.strictEqual(body, "client.example")
    })
  )
})
