/** TLS between real clients and a whole proxy: certificates by name, clients with certificates, and what is told of them. */
import { connect as connectPlain } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { watching } from "../../src/main/trace.ts"
import { send } from "../client.ts"
import { as, asked, at, connected, logged, pem, serving, showing, telling } from "./edge.ts"

const one = (route: string, more = "") => `
gateways: { default: { port: 8443, tls: { ${showing("server")}${more} } } }
routes: [${route}]
`

const trusting = `, root: ${at("authority.pem")}`

describe("a listener with TLS", () => {
  it.live("serves HTTP/1.1 behind one certificate, keeps the connection, and says https", () =>
    Effect.gen(function* () {
      const { port, log } = yield* serving(one(telling('request.scheme + " " + request.uri')))
      const client = yield* connected(port)
      assert.isTrue(client.socket.authorized)
      assert.strictEqual(client.socket.alpnProtocol, "http/1.1")
      assert.strictEqual(client.socket.getProtocol(), "TLSv1.3")
      const answers = yield* Effect.promise(async () => [
        await client.ask("localhost", "/a"),
        await client.ask("localhost", "/b")
      ])
      assert.deepStrictEqual(
        answers.map(({ status, body }) => `${status} ${body}`),
        ["200 https https://localhost/a", "200 https https://localhost/b"]
      )
      yield* logged(log, /http\.path=\/b .*tls\.sni=localhost/)
    })
  )

  it.live("a redirect keeps https", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(one("{ policies: { requestRedirect: { path: { full: /new }, status: 301 } } }"))
      const client = yield* connected(port)
      const { head } = yield* Effect.promise(() => client.ask("localhost", "/old"))
      assert.match(head, /^location: https:\/\/localhost\/new$/im)
    })
  )

  it.live("is there for llm and mcp sections and for binds as well", () =>
    Effect.gen(function* () {
      const tls = `tls: { ${showing("server")} }`
      const model = yield* serving(`llm: { port: 8443, ${tls}, models: [{ name: "*", provider: mock }] }`)
      assert.match(yield* asked(model.port, "localhost", {}, "/v1/models"), /^200 .*"object":"list"/)
      const bound = yield* serving(
        `binds: [{ port: 8443, listeners: [{ protocol: HTTPS, ${tls}, routes: [${telling('"bound"')}] }] }]`
      )
      assert.strictEqual(yield* asked(bound.port, "localhost"), "200 bound")
    })
  )

  it.live("whoever speaks no TLS is closed without an answer", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(one(telling('"no"')))
      for (const bytes of ["GET / HTTP/1.1\r\nhost: a\r\n\r\n", "\x16\x03\x01\x00\x05\x02aaaa", "\x16\x02"]) {
        const received = yield* Effect.promise(
          () =>
            new Promise<string>((resolve) => {
              let text = ""
              const socket = connectPlain(port, "127.0.0.1")
              socket.on("data", (chunk) => {
                text += chunk.toString("latin1")
              })
              socket.on("error", () => {})
              socket.on("close", () => resolve(text))
              socket.write(Buffer.from(bytes, "latin1"))
            })
        )
        assert.strictEqual(received, "")
      }
      assert.strictEqual(yield* asked(port, "localhost"), "200 no")
    })
  )

  it.live("handshakes that fail are counted, and the log says why where it is asked to", () =>
    Effect.gen(function* () {
      const listeners = `listeners: [{ hostname: localhost, tls: { ${showing("server")}${trusting} } }]`
      const { port, log, gateway } = yield* serving(`gateways: { default: { port: 8443, ${listeners} } }`)
      yield* asked(port, "localhost")
      yield* asked(port, "localhost", { servername: "elsewhere.example" })
      yield* asked(port, "localhost", { ...as("client"), ALPNProtocols: ["h3"] })
      for (const line of [
        /handshake failed bind=bind\/8443 src\.addr=127\.0\.0\.1:\d+ error="ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE"/,
        /error="nobody is served under the name that it asks for"/,
        /error="ERR_SSL_NO_APPLICATION_PROTOCOL"/
      ])
        yield* logged(log, line)
      const { body } = yield* Effect.promise(() => send(gateway.ports.stats!, { path: "/metrics" }))
      assert.match(body, /^headgate_connections_refused_total\{bind="bind\/8443",reason="TLS"\} 3$/m)
    })
  )

  it.live("a handshake that takes too long is ended, whether it has begun or not", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(
        `frontendPolicies: { tls: { handshakeTimeout: 1s } }\n${one(telling('"in time"'))}`
      )
      const client = yield* connected(port)
      const ended = (begun: string) =>
        new Promise<void>((resolve) => {
          const socket = connectPlain(port, "127.0.0.1", () => socket.write(Buffer.from(begun, "latin1")))
          socket.on("error", () => {})
          socket.on("close", () => resolve())
          socket.resume()
        })
      yield* Effect.promise(() => Promise.all(["", "\x16\x03\x01\x02\x00\x01"].map(ended)))
      // Whose handshake was over has all the time of HTTP.
      const { body } = yield* Effect.promise(() => client.ask("localhost"))
      assert.strictEqual(body, "in time")
    })
  )
})

const named = (more = "") => `
gateways:
  default:
    port: 8443
    listeners:
    - { name: exact, hostname: elsewhere.example, tls: { ${showing("elsewhere")} } }
    - { name: wild, hostname: "*.a.example", tls: { ${showing("server")}, root: ${at("authority.pem")} } }
${more}
routes:
- { gateways: default/exact, policies: { directResponse: { status: 200, body: exact } } }
- { gateways: default/wild, policies: { directResponse: { status: 200, body: wild } } }
`
const other = `    - { name: other, tls: { ${showing("renewed")} } }`
const otherRoute = "- { gateways: default/other, policies: { directResponse: { status: 200, body: other } } }"

const shownFor = (port: number, servername: string, options = {}) =>
  Effect.map(
    connected(port, { servername, ...options }),
    ({ socket }) => socket.getPeerX509Certificate()?.subjectAltName ?? ""
  )

describe("listeners with names", () => {
  it.live("a certificate is shown for the name that is asked for: exact, wildcard, else that of any name", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(named(other) + otherRoute)
      assert.strictEqual(yield* shownFor(port, "elsewhere.example"), "DNS:elsewhere.example")
      assert.strictEqual(yield* shownFor(port, "ELSEWHERE.example"), "DNS:elsewhere.example")
      assert.include(yield* shownFor(port, "x.a.example", as("client")), "DNS:*.a.example")
      assert.include(yield* shownFor(port, "localhost"), "renewed")
      assert.include(yield* shownFor(port, ""), "renewed")
    })
  )

  it.live("without one for any name, a client that asks for another, or for none, is closed", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(named())
      assert.strictEqual(yield* asked(port, "elsewhere.example", { servername: "elsewhere.example" }), "200 exact")
      for (const servername of ["localhost", ""])
        assert.include(["closed", "ECONNRESET"], yield* asked(port, "elsewhere.example", { servername }))
    })
  )

  it.live("who was let in to one is served by no other: 421, and the connection stays", () =>
    Effect.gen(function* () {
      const { port, log } = yield* serving(named(other) + otherRoute)
      const client = yield* connected(port, { servername: "elsewhere.example" })
      const answers = yield* Effect.promise(async () => {
        const found: Array<string> = []
        for (const host of ["elsewhere.example", "b.a.example", "localhost", "elsewhere.example"]) {
          const { status, body } = await client.ask(host)
          found.push(`${status} ${body}`)
        }
        return found
      })
      assert.deepStrictEqual(answers, ["200 exact", "421 misdirected request", "421 misdirected request", "200 exact"])
      yield* logged(log, /http\.status=421.*misdirected request/)
    })
  )

  it.live("a host that none of them has is 404", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(named())
      assert.strictEqual(
        yield* asked(port, "nobody.example", { servername: "elsewhere.example" }),
        "404 route not found"
      )
    })
  )
})

describe("client certificates", () => {
  const who = telling('has(source.subject) ? source.subjectAltNames.join(",") + " " + source.subject : "nobody"')
  const known = "200 client.example CN=subject.example"
  const required = "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"
  /** A client that is turned away after its own handshake sees the end of the connection. */
  const turnedAway = ["closed", "ECONNRESET", "EPIPE"]

  it.live.each([
    ["root asks for one", trusting, known, [required]],
    ["required is the same", `${trusting}, clientCertificates: required`, known, [required]],
    ["optional takes one", `${trusting}, clientCertificates: optional`, known, ["200 nobody"]],
    ["none does not ask", `${trusting}, clientCertificates: none`, "200 nobody", ["200 nobody"]],
    ["nor is anybody asked without root", "", "200 nobody", ["200 nobody"]]
  ] as const)("%s", ([, tls, withOne, without]) =>
    Effect.gen(function* () {
      const { port } = yield* serving(one(who, tls))
      assert.strictEqual(yield* asked(port, "localhost", as("client")), withOne)
      assert.include(without, yield* asked(port, "localhost"))
      assert.strictEqual(yield* asked(port, "localhost", { ...as("client"), maxVersion: "TLSv1.2" }), withOne)
    })
  )

  it.live.each(["required", "optional"])("one that is not valid is turned away where it is %s", (mode) =>
    Effect.gen(function* () {
      const { port, log, gateway } = yield* serving(one(who, `${trusting}, clientCertificates: ${mode}`))
      for (const stranger of ["expired", "workload"]) {
        assert.include(turnedAway, yield* asked(port, "localhost", as(stranger)))
        assert.include(turnedAway, yield* asked(port, "localhost", { ...as(stranger), maxVersion: "TLSv1.2" }))
      }
      yield* logged(
        log,
        /a client certificate is not valid bind=bind\/8443 src\.addr=127\.0\.0\.1:\d+ error="CERT_HAS_EXPIRED"/
      )
      const { body } = yield* Effect.promise(() => send(gateway.ports.stats!, { path: "/metrics" }))
      assert.match(body, /^headgate_connections_refused_total\{bind="bind\/8443",reason="ClientCertificate"\} 4$/m)
      // One line a second tells of all of them.
      assert.isBelow(log.filter((line) => line.includes("client certificate")).length, 4)
    })
  )

  it.live("expressions read all of it, a name that looks like two is one, and the log says who it was", () =>
    Effect.gen(function* () {
      const fields = ["subject", "subjectCn", "issuer", "spiffeId"].map((field) => `source.${field}`)
      const identity = ["trustDomain", "namespace", "serviceAccount"].map((field) => `source.identity.${field}`)
      const all = [...fields, ...identity, 'source.subjectAltNames.join(",")', "source.certificate"]
      const { port, log } = yield* serving(
        one(telling(`[${all.join(", ")}].join("|")`), `, root: ${at("workload.pem")}`)
      )
      const subject = "O=Shop, CN=cart\\, CN=admin"
      assert.strictEqual(
        yield* asked(port, "localhost", as("workload")),
        `200 ${[
          subject,
          "cart, CN=admin",
          subject,
          "spiffe://cluster.local/ns/shop/sa/cart",
          "cluster.local",
          "shop",
          "cart",
          "spiffe://cluster.local/ns/shop/sa/cart,cart.example",
          pem("workload.pem")
        ].join("|")}`
      )
      yield* logged(log, /src\.identity=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/cart/)
    })
  )

  it.live("networkAuthorization reads it before there is any request", () =>
    Effect.gen(function* () {
      const rules = `frontendPolicies: { networkAuthorization: { rules: ['"client.example" in source.subjectAltNames'] } }`
      const { port } = yield* serving(`${rules}\n${one(who, trusting)}`)
      assert.strictEqual(yield* asked(port, "localhost", as("client")), known)
      assert.include(turnedAway, yield* asked(port, "localhost", as("client-renewed")))
    })
  )

  it.live("a trace tells it with the request", () =>
    Effect.gen(function* () {
      const { port, gateway } = yield* serving(one(who, trusting))
      const events = yield* Effect.promise(() => watching(gateway))
      yield* asked(port, "localhost", as("client"))
      const found = yield* Effect.promise(async () => {
        for await (const { message } of events)
          if (message.type === "requestSnapshot") return message.requestState.source
        return undefined
      })
      assert.deepInclude(found, {
        serverName: "localhost",
        subject: "CN=subject.example",
        issuer: "CN=authority",
        subjectAltNames: ["client.example"]
      })
    })
  )

  it.live("rules decide by it", () =>
    Effect.gen(function* () {
      const rules = `{ policies: { authorization: { rules: ['"client.example" in source.subjectAltNames'] }, directResponse: { status: 200, body: in } } }`
      const { port } = yield* serving(one(rules, `${trusting}, clientCertificates: optional`))
      assert.strictEqual(yield* asked(port, "localhost", as("client")), "200 in")
      assert.strictEqual(yield* asked(port, "localhost", as("client-renewed")), "403 authorization failed")
      assert.strictEqual(yield* asked(port, "localhost"), "403 authorization failed")
    })
  )
})
