/** `backendTLS` between a whole proxy and real servers: who is trusted, what is shown, and certificates that change meanwhile. */
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { createServer as createHttps } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createServer, type TLSSocket, type TlsOptions } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { graphsOf } from "../src/main/configuration/offline.ts"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { eventually } from "./http/raw-client.ts"

const fixtures = join(import.meta.dirname, "http/fixtures/tls")
const at = (name: string) => join(fixtures, name)
const pem = (name: string) => readFileSync(at(name), "utf8")
const shown = (name: string) => ({ cert: pem(`${name}.pem`), key: pem(`${name}.key`) })

/** What a server has seen of a connection. */
interface Seen {
  readonly servername: string | false | null
  readonly alpn: string | false | null
  readonly client: string | undefined
  readonly resumed: boolean
}

/** A server that answers one request after the other on each connection. */
const tlsBackend = (options: TlsOptions) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const seen: Array<Seen> = []
      const sockets = new Set<TLSSocket>()
      const server = createServer({ requestCert: true, rejectUnauthorized: false, ...options }, (socket) => {
        sockets.add(socket)
        const { servername, alpnProtocol: alpn } = socket as TLSSocket & { readonly servername: string | false | null }
        const client = socket.getPeerCertificate()?.subjectaltname
        seen.push({ servername, alpn, client, resumed: socket.isSessionReused() })
        socket.on("error", () => {})
        socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"))
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return { server, seen, sockets, port: portOf(server.address()) }
    }),
    ({ server, sockets }) =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      })
  )

const config = (host: string, policy: string) => `
gateways: { default: { port: 8080 } }
routes:
- backends: [{ host: "${host}", policies: { backendTLS: ${policy} } }]
`

const proxy = (text: string, log?: (line: string) => void) =>
  Effect.map(start(text, { ephemeral: true, host: "127.0.0.1", log }), (gateway) => {
    const port = gateway.port(8080)!
    return Effect.promise(async () => {
      const { status, body } = await send(port)
      return `${status} ${body}`
    })
  })

const trusting = `root: ${at("authority.pem")}`
const asClient = (name: string) => `cert: ${at(`${name}.pem`)}, key: ${at(`${name}.key`)}`
const ok = "200 ok"
const failed = (detail: string) => `503 upstream call failed: tls: ${detail}`
const untrusted = "the certificate of the backend comes from an authority that is not trusted"
const otherName = failed("the certificate of the backend is for another name (ERR_TLS_CERT_ALTNAME_INVALID)")
const withClients = { requestCert: true, rejectUnauthorized: true, ca: pem("authority.pem") }

/** What a server shows and asks for, what the policy says, and what comes of it. */
const handshakes: Readonly<
  Record<
    string,
    {
      readonly server?: TlsOptions
      readonly host?: string
      readonly policy: string
      readonly answer: string | RegExp
      readonly seen?: Partial<Seen>
    }
  >
> = {
  "an authority of one's own is trusted": {
    policy: `{ ${trusting} }`,
    answer: ok,
    seen: { servername: "localhost", alpn: "http/1.1", client: undefined }
  },
  "without one only those of the system are": {
    policy: "{}",
    answer: failed(`${untrusted} (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`)
  },
  "no other authority is": {
    policy: `{ root: ${at("other-authority.pem")} }`,
    answer: failed(`${untrusted} (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`)
  },
  "an address is verified as an address, and asked for by no name": {
    host: "127.0.0.1",
    policy: `{ ${trusting} }`,
    answer: ok,
    seen: { servername: false }
  },
  "hostname is asked for and verified": {
    policy: `{ ${trusting}, hostname: one.a.example }`,
    answer: ok,
    seen: { servername: "one.a.example" }
  },
  "another hostname is refused": { policy: `{ ${trusting}, hostname: a.example }`, answer: otherName },
  "another host is refused": { server: shown("elsewhere"), policy: `{ ${trusting} }`, answer: otherName },
  "subjectAltNames stand in for the name that is asked for": {
    policy: `{ ${trusting}, hostname: b.example, subjectAltNames: [c.example, "spiffe://a.example/server"] }`,
    answer: ok,
    seen: { servername: "b.example" }
  },
  "an address is one of subjectAltNames": { policy: `{ ${trusting}, subjectAltNames: [127.0.0.1] }`, answer: ok },
  "a name of none of subjectAltNames is refused, though it is the host": {
    policy: `{ ${trusting}, subjectAltNames: [c.example, "spiffe://a.example/other"] }`,
    answer: otherName
  },
  "the common name is no alternative name": {
    policy: `{ ${trusting}, subjectAltNames: [subject.example] }`,
    answer: otherName
  },
  "what has expired is refused": {
    server: shown("expired"),
    policy: `{ ${trusting} }`,
    answer: failed("the certificate of the backend has expired (CERT_HAS_EXPIRED)")
  },
  "insecureHost asks for no name": {
    server: shown("elsewhere"),
    policy: `{ ${trusting}, insecureHost: true }`,
    answer: ok
  },
  "insecureHost asks for a trusted chain": {
    policy: "{ insecureHost: true }",
    answer: failed(`${untrusted} (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`)
  },
  "insecure asks for nothing": {
    server: shown("expired"),
    policy: "{ insecure: true, hostname: b.example }",
    answer: ok
  },
  "a certificate of the client is shown where it is asked for": {
    server: { ...shown("server"), ...withClients },
    policy: `{ ${trusting}, ${asClient("client")} }`,
    answer: ok,
    seen: { client: "DNS:client.example" }
  },
  "a server that wants a certificate is told of as such": {
    server: { ...shown("server"), ...withClients },
    policy: `{ ${trusting} }`,
    answer: failed("the backend asks for a client certificate (ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED)")
  },
  "alpn is offered as it is written": {
    server: { ...shown("server"), ALPNProtocols: ["other"] },
    policy: `{ ${trusting}, alpn: [other, http/1.1] }`,
    answer: ok,
    seen: { alpn: "other" }
  },
  "a server that speaks none of the protocols is told of as such": {
    server: { ...shown("server"), ALPNProtocols: ["h2"] },
    policy: `{ ${trusting} }`,
    answer: failed("the backend speaks none of the protocols of alpn (ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL)")
  },
  "no protocol may be offered": { policy: `{ ${trusting}, alpn: [] }`, answer: ok, seen: { alpn: false } },
  "keyExchangeGroups are offered": {
    server: { ...shown("server"), ecdhCurve: "P-384" },
    policy: `{ ${trusting}, keyExchangeGroups: [X25519_MLKEM768, P-384] }`,
    answer: ok
  },
  "no other group is": {
    server: { ...shown("server"), ecdhCurve: "P-384", minVersion: "TLSv1.3" },
    policy: `{ ${trusting}, keyExchangeGroups: [X25519] }`,
    answer: /^503 upstream call failed: (?:tls: \w|reset)/
  }
}

describe("backendTLS", () => {
  for (const [name, { server = shown("server"), host = "localhost", policy, answer, seen }] of Object.entries(
    handshakes
  ))
    it.live(name, () =>
      Effect.gen(function* () {
        const backend = yield* tlsBackend({ ALPNProtocols: ["http/1.1"], ...server })
        const get = yield* proxy(config(`${host}:${backend.port}`, policy))
        const answered = yield* get
        if (typeof answer === "string") assert.strictEqual(answered, answer)
        else assert.match(answered, answer)
        const [first] = backend.seen
        for (const [key, value] of Object.entries(seen ?? {}))
          assert.strictEqual(first?.[key as keyof Seen], value, key)
      })
    )

  it.live("a server that speaks no TLS is told of as such", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((_, response) => response.end("plain"))
      const get = yield* proxy(config(`localhost:${portOf(backend.address())}`, "{}"))
      assert.strictEqual(yield* get, failed("the backend speaks no TLS there (ERR_SSL_WRONG_VERSION_NUMBER)"))
    })
  )

  it.live("holds for MCP servers, for providers of models and for webhooks, each with what is written for it", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const secure = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createHttps(shown("server"), (request, response) => {
            asked.push(request.url!)
            request.resume()
            const mcp = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "a", version: "1" } }
            const answers: Readonly<Record<string, unknown>> = {
              "/mcp": { jsonrpc: "2.0", id: 1, result: mcp },
              "/request": { action: { pass: {} } }
            }
            const chat = { id: "1", object: "chat.completion", created: 1, model: "m", choices: [] }
            response.setHeader("content-type", "application/json")
            response.end(JSON.stringify(answers[request.url!] ?? chat))
          })
          await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
          return server
        }),
        (server) => Effect.sync(() => server.close().closeAllConnections())
      )
      const address = `localhost:${portOf(secure.address())}`
      const answersWith = (tls: string) =>
        Effect.gen(function* () {
          const gateway = yield* start(
            `
gateways: { default: { port: 8080 } }
routes:
- matches: [{ path: { exact: /mcp } }]
  backends: [{ mcp: { targets: [{ name: t, mcp: { host: "https://${address}/mcp" }, policies: { backendTLS: ${tls} } }] } }]
- backends:
  - ai: { name: m, provider: { openAI: {} }, hostOverride: "${address}" }
    policies:
      backendTLS: ${tls}
      ai:
        promptGuard:
          request: [{ webhook: { target: { host: "https://${address}", policies: { backendTLS: ${tls} } } } }]
`,
            { ephemeral: true, host: "127.0.0.1" }
          )
          const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "b", version: "1" } }
          const bodies = {
            "/mcp": { jsonrpc: "2.0", id: 1, method: "initialize", params },
            "/v1/chat/completions": { model: "m", messages: [{ role: "user", content: "hello" }] }
          }
          const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
          return yield* Effect.forEach(Object.entries(bodies), ([path, body]) =>
            Effect.promise(async () => {
              const sent = { method: "POST", path, headers, body: JSON.stringify(body) }
              return (await send(gateway.port(8080)!, sent)).status
            })
          )
        })
      assert.deepStrictEqual(yield* answersWith(`{ ${trusting} }`), [200, 200])
      assert.includeMembers(asked, ["/mcp", "/request", "/v1/chat/completions"])
      asked.length = 0
      const [mcp = 0, model = 0] = yield* answersWith(`{ root: ${at("other-authority.pem")} }`)
      assert.isAtLeast(Math.min(mcp, model), 500)
      assert.deepStrictEqual(asked, [])
    })
  )

  it.live("makes a server one that is at https: it may name its endpoint for messages by the whole address", () =>
    Effect.gen(function* () {
      const secure = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          let events: ServerResponse | undefined
          const server = createHttps(shown("server"), (request, response) => {
            if (request.method === "GET") {
              events = response.writeHead(200, { "content-type": "text/event-stream" })
              events.write(`event: endpoint\ndata: https://${request.headers.host}/messages\n\n`)
              return
            }
            request.resume()
            response.writeHead(202).end()
            const result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "a", version: "1" } }
            events?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`)
          })
          await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
          return server
        }),
        (server) => Effect.sync(() => server.close().closeAllConnections())
      )
      const target = `{ name: t, sse: { host: localhost, port: ${portOf(secure.address())}, path: /sse } }`
      const policies = `policies: { backendTLS: { ${trusting} } }`
      const statusOf = (backend: string) =>
        Effect.gen(function* () {
          const gateway = yield* start(
            `
gateways: { default: { port: 8080 } }
routes: [{ backends: [${backend}] }]
`,
            { ephemeral: true, host: "127.0.0.1" }
          )
          const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "b", version: "1" } }
          const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
          const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })
          const sent = { method: "POST", path: "/mcp", headers, body }
          const answer = yield* Effect.promise(() => send(gateway.port(8080)!, sent))
          return `${answer.status} ${answer.body.includes("serverInfo") ? "begun" : answer.body}`
        })
      const ofTarget = target.replace(" } }", ` }, ${policies} }`)
      assert.strictEqual(yield* statusOf(`{ mcp: { targets: [${ofTarget}] } }`), "200 begun")
      assert.strictEqual(yield* statusOf(`{ mcp: { targets: [${target}] }, ${policies} }`), "200 begun")
    })
  )

  it.effect("what cannot be used is told with its place, all at once", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "headgate-tls-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const written = (name: string, text: string) => {
        writeFileSync(join(folder, name), text)
        return join(folder, name)
      }
      const problemsOf = (policy: string) =>
        Effect.map(Effect.result(graphsOf({ name: "config.yaml", text: config("a:1", policy), env: {} })), (result) =>
          Result.isFailure(result)
            ? result.failure.problems.map(({ line, column, path, message }) =>
                `${line}:${column} ${path.replace("routes[0].backends[0].policies.backendTLS", "")}: ${message}`.replaceAll(
                  `${folder}/`,
                  ""
                )
              )
            : []
        )
      const garbled = pem("authority.pem").replace(/\n..../, "\n####")
      const open = pem("client.key").split("-----END")[0]!
      const both = `{ root: ${written("garbled.pem", `# the first\n${pem("authority.pem")}\n${garbled}`)},
        cert: ${written("none.pem", "hello")}, key: ${written("open.key", open)} }`
      const lines = pem("authority.pem").trim().split("\n").length
      assert.deepStrictEqual(yield* problemsOf(both), [
        `4:61 .root: garbled.pem:${lines + 3}: the certificate cannot be read`,
        "5:15 .cert: none.pem: it holds no certificate in PEM form",
        `5:${15 + folder.length + "/none.pem, key: ".length} .key: open.key:1: a block begins (PRIVATE KEY) that does not end`
      ])
      const only = (policy: string) =>
        Effect.map(problemsOf(policy), (all) => all.map((each) => each.replace(/^\S+ /, "")))
      assert.deepStrictEqual(yield* only(`{ root: ${join(folder, "gone.pem")} }`), [
        ".root: cannot read gone.pem: there is no such file"
      ])
      assert.deepStrictEqual(yield* only(`{ cert: ${at("client.pem")}, key: ${at("server.key")} }`), [
        `.key: ${at("server.key")}: it is not the key of the certificate in ${at("client.pem")}`
      ])
      assert.deepStrictEqual(yield* only(`{ cert: ${at("client.pem")}, key: ${at("encrypted.key")} }`), [
        `.key: ${at("encrypted.key")}:1: the private key is encrypted; write one without a passphrase`
      ])
      const two = written("two.key", `${pem("client.key")}${pem("server.key")}`)
      const [second = ""] = yield* only(`{ cert: ${at("client.pem")}, key: ${two} }`)
      assert.match(second, /^\.key: two\.key:\d+: this is a second private key$/)
      assert.deepStrictEqual(yield* only("{ spiffe: {} }"), [".spiffe: spiffe is not available yet"])
    })
  )

  it.live(
    "certificates that are replaced are used for new connections, without a reload; broken ones are told once",
    () =>
      Effect.gen(function* () {
        const folder = mkdtempSync(join(tmpdir(), "headgate-tls-"))
        yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
        /** All at once, as a secret of a cluster changes, or one after the other. */
        const put = (name: string, from: string) => {
          copyFileSync(at(from), join(folder, "new"))
          renameSync(join(folder, "new"), join(folder, name))
        }
        put("root.pem", "authority.pem")
        put("client.pem", "client.pem")
        put("client.key", "client.key")
        const backend = yield* tlsBackend({ ...shown("server"), ...withClients })
        const lines: Array<string> = []
        const policy = `{ root: ${folder}/root.pem, cert: ${folder}/client.pem, key: ${folder}/client.key }`
        const get = yield* proxy(config(`localhost:${backend.port}`, policy), (line) => void lines.push(line))
        const told = (text: string) => lines.filter((line) => line.includes(text)).length
        const wait = (text: string, times: number) =>
          Effect.promise(() => eventually(() => told(text) === times, 20_000))
        const clients = () => backend.seen.map(({ client }) => client)
        assert.deepStrictEqual([yield* get, yield* get], [ok, ok])
        assert.deepStrictEqual(clients(), ["DNS:client.example"])

        // The certificate of another key: what was there before stays.
        put("client.pem", "client-renewed.pem")
        yield* wait("it is not the key of the certificate", 1)
        assert.strictEqual(yield* get, ok)
        assert.lengthOf(clients(), 1)

        put("client.key", "client-renewed.key")
        yield* wait("certificates were replaced", 1)
        assert.deepStrictEqual([yield* get, yield* get], [ok, ok])
        assert.deepStrictEqual(clients(), ["DNS:client.example", "DNS:client-renewed.example"])
        assert.isFalse(backend.seen[1]!.resumed)

        put("root.pem", "other-authority.pem")
        yield* wait("certificates were replaced", 2)
        assert.include(yield* get, untrusted)
        put("root.pem", "make.sh")
        yield* wait("it holds no certificate in PEM form", 1)
        put("root.pem", "authority.pem")
        yield* wait("certificates were replaced", 3)
        assert.strictEqual(yield* get, ok)
        assert.strictEqual(told("cannot be used"), 2)
        assert.strictEqual(told("loaded config"), 1)
      })
  )
})
