/** Backends behind an HTTP proxy: plain requests in absolute form, everything else through tunnels, and proxies that refuse. */
import type { Server } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import { start } from "../../src/main/library.ts"
import type { UpstreamOptions, UpstreamTunnel } from "../../src/services/upstreams.ts"
import { send } from "../client.ts"
import { nowhere, origin } from "../origin.ts"
import { tcpBackend, upstreamRequest, upstreamTo } from "./edge.ts"
import { certificate, listening, proxy, secure } from "./forward-proxy.ts"
import { eventually } from "./raw-client.ts"

/** What a gateway with one route answers. */
const asked = (policies: string, host: string, sent: Parameters<typeof send>[1] = {}, rest = "") =>
  Effect.scoped(
    Effect.gen(function* () {
      const gateway = yield* start(
        `gateways: { default: { port: 8080 } }\nroutes: [{ policies: { ${policies} }, backends: [{ host: "${host}" }] }]\n${rest}`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      return yield* Effect.promise(() => send(gateway.port(8080)!, sent))
    })
  )

describe("a backend behind a proxy", () => {
  it.live(
    "is asked for in absolute form, under the address that the configuration says, whatever the client says",
    () =>
      Effect.gen(function* () {
        const backend = yield* origin({ body: "from the backend" })
        const { port, asked: heads, lines } = yield* proxy()
        const answer = yield* asked(`backendTunnel: { proxy: { host: "localhost:${port}" } }`, backend.address, {
          method: "POST",
          path: "/a?b=1",
          headers: { host: "elsewhere.example", "proxy-authorization": "Basic of-the-client" },
          body: "hello"
        })
        assert.deepStrictEqual([answer.status, answer.body], [200, "from the backend"])
        assert.isUndefined(heads[0]?.headers["proxy-authorization"])
        assert.strictEqual(heads[0]?.headers.host, backend.address)
        assert.deepStrictEqual(lines(), [`POST http://${backend.address}/a?b=1`])
        assert.deepStrictEqual(
          backend.received.map(({ path, body, headers }) => [path, body, headers.host]),
          [["/a?b=1", "hello", backend.address]]
        )
        yield* asked(`backendTunnel: { proxy: { host: "localhost:${port}" } }`, backend.address, {
          method: "OPTIONS",
          path: "*"
        })
        assert.deepStrictEqual(lines(), [`OPTIONS http://${backend.address}`])
      })
  )

  it.live("is reached through a tunnel where the mode says so, and keeps the name that the client asked for", () =>
    Effect.gen(function* () {
      const backend = yield* origin(({ body }) => ({ body: `got ${body.length}` }))
      const { port, lines, open } = yield* proxy()
      const gateway = yield* start(
        `
gateways: { default: { port: 8080 } }
routes: [{ policies: { backendTunnel: { proxy: { host: "localhost:${port}" }, mode: connect } }, backends: [{ host: "${backend.address}" }] }]
`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      const body = "x".repeat(3_000_000)
      for (const sent of [{ body, method: "POST" }, {}, { body: "", method: "PUT" }]) {
        const headers = { host: "named.example" }
        const answer = yield* Effect.promise(() => send(gateway.port(8080)!, { ...sent, headers }))
        assert.deepStrictEqual([answer.status, answer.body], [200, `got ${sent.body?.length ?? 0}`])
      }
      assert.deepStrictEqual(
        backend.received.map(({ headers }) => headers.host),
        ["named.example", "named.example", "named.example"]
      )
      // The tunnel is kept like any connection.
      assert.deepStrictEqual(lines(), [`CONNECT ${backend.address}`])
      assert.strictEqual(open.size, 1)
    })
  )

  it.live("speaks TLS inside the tunnel, also where the proxy itself does", () =>
    Effect.gen(function* () {
      const port = yield* listening(
        createSecureServer(secure, (incoming, response) => {
          response.end(`secret ${incoming.url}`)
        }) as unknown as Server
      )
      for (const tls of [false, true]) {
        const { port: at, lines, open } = yield* proxy({ tls })
        const trust = `backendTLS: { root: "${certificate}" }`
        const tunnel = `backendTunnel: { proxy: { host: "localhost:${at}" }${tls ? `, policies: { ${trust} }` : ""} }`
        const answer = yield* asked(`${trust}, ${tunnel}`, `localhost:${port}`, { path: "/x" })
        assert.deepStrictEqual([answer.status, answer.body], [200, "secret /x"])
        assert.deepStrictEqual(lines(), [`CONNECT localhost:${port}`])
        // With the configuration its connections are gone.
        yield* Effect.promise(() => eventually(() => open.size === 0))
        const stranger = yield* asked(`backendTLS: {}, ${tunnel}`, `localhost:${port}`)
        assert.strictEqual(stranger.status, 503)
        assert.match(stranger.body, /^upstream call failed: tls: /)
      }
    })
  )

  it.live("is reached by who shows the key of the proxy, which neither the backend nor a stranger learns", () =>
    Effect.gen(function* () {
      const backend = yield* origin({ body: "ok" })
      for (const mode of ["auto", "connect"]) {
        for (const [key, authorization] of [
          ["word", "Bearer word"],
          [
            `{ value: dXNlcjp3b3Jk, location: { header: { name: Proxy-Authorization, prefix: "Basic " } } }`,
            "Basic dXNlcjp3b3Jk"
          ]
        ]) {
          const { port } = yield* proxy({ authorization: authorization! })
          const tunnel = (policies: string) =>
            `backendTunnel: { proxy: { host: "localhost:${port}" }, mode: ${mode}${policies} }`
          const answer = yield* asked(tunnel(`, policies: { backendAuth: { key: ${key} } }`), backend.address)
          assert.deepStrictEqual([answer.status, answer.body], [200, "ok"])
          const refused = yield* asked(tunnel(""), backend.address)
          assert.deepStrictEqual(
            [refused.status, refused.body],
            [503, "upstream call failed: tunnel: the proxy requires authentication"]
          )
        }
      }
      assert.lengthOf(backend.received, 4)
      for (const { headers } of backend.received) assert.isUndefined(headers["proxy-authorization"])
    })
  )

  it.live("may be behind a proxy that is a backend of the file, with the policies that it has there", () =>
    Effect.gen(function* () {
      const backend = yield* origin({ body: "ok" })
      const { port, lines } = yield* proxy({ tls: true, authorization: "Bearer word" })
      const answer = yield* asked(
        "backendTunnel: { proxy: { backend: /proxy }, mode: connect }",
        backend.address,
        {},
        `backends: [{ name: proxy, host: "localhost:${port}", policies: { backendTLS: { root: "${certificate}" }, backendAuth: { key: word } } }]`
      )
      assert.deepStrictEqual([answer.status, answer.body], [200, "ok"])
      assert.deepStrictEqual(lines(), [`CONNECT ${backend.address}`])
    })
  )

  it.live("changes its protocol inside a tunnel, whatever the mode", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) => {
        socket.once("data", () => {
          socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n")
          socket.pipe(socket)
        })
      })
      const { port: at, lines } = yield* proxy()
      const upstream = yield* upstreamTo(port, { tunnel: tunnelOver(at) })
      const answer = yield* upstream.send(upstreamRequest({ upgrade: "echo" }))
      assert.strictEqual(answer.switched?.protocol, "echo")
      assert.deepStrictEqual(lines(), [`CONNECT 127.0.0.1:${port}`])
    })
  )

  it.live("is not called where the proxy does not let it through, and the refusal says which of them it was", () =>
    Effect.gen(function* () {
      const { port: gone } = { port: yield* nowhere }
      const { port } = yield* proxy()
      const tunnel = `backendTunnel: { proxy: { host: "localhost:${port}" }, mode: connect }`
      const closed = yield* asked(tunnel, `127.0.0.1:${gone}`)
      assert.deepStrictEqual([closed.status, closed.body.slice(0, 27)], [503, "upstream call failed: reset"])
      const nobody = yield* asked(`backendTunnel: { proxy: { host: "localhost:${gone}" } }`, "backend.example:80")
      assert.deepStrictEqual([nobody.status, nobody.body.split(": ")[1]], [503, "connection refused"])
      // The name of the backend is for the proxy to know.
      const unknown = yield* asked(`backendTunnel: { proxy: { host: "localhost:${port}" } }`, "no-such-name.invalid:80")
      assert.strictEqual(unknown.status, 502)
    })
  )
})

const tunnelOver = (port: number, mode: UpstreamTunnel["mode"] = "auto"): UpstreamTunnel => ({
  proxy: { kind: "tcp", host: "127.0.0.1", port, tls: false },
  mode,
  authorization: Redacted.make("Bearer word")
})

/** What a call comes to over a proxy that says this to CONNECT. */
const said = (answer: string, options: UpstreamOptions = {}) =>
  Effect.gen(function* () {
    const heads: Array<string> = []
    const { port, sockets } = yield* tcpBackend((socket) => {
      socket.once("data", (bytes) => {
        heads.push(bytes.toString("latin1"))
        socket.write(answer)
      })
    })
    const target = { kind: "tcp", host: "2001:db8::1", port: 8443, tls: false } as const
    const upstream = yield* upstreamTo(target, { ...options, tunnel: tunnelOver(port, "connect") })
    const result = yield* Effect.result(upstream.send(upstreamRequest({ headers: new HeaderList(["x-of", "client"]) })))
    return { heads, sockets, failure: Result.isFailure(result) ? result.failure : undefined }
  })

describe("what a proxy says of a tunnel", () => {
  it.live.each([
    ["a refusal", "HTTP/1.1 403 Forbidden\r\ncontent-length: 5\r\n\r\nno no", "the proxy answered 403"],
    ["that it wants a credential", "HTTP/1.1 407 Who\r\n\r\n", "the proxy requires authentication"],
    ["that it reached nobody", "HTTP/1.1 502 Bad Gateway\r\n\r\n", "the proxy answered 502"],
    ["another protocol", "SSH-2.0-OpenSSH\r\n\r\n", "the answer of the proxy is not HTTP/1.1"],
    [
      "that it changes the protocol",
      "HTTP/1.1 101 No\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
      "the answer of the proxy is not HTTP/1.1"
    ],
    [
      "a success with words of its own",
      "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
      "the answer of the proxy is not HTTP/1.1"
    ],
    ["more than it should", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(9000)}`, "the answer of the proxy is not HTTP/1.1"],
    [
      "lines that may be read in two ways",
      "HTTP/1.1 200 OK\r\na : b\r\n\r\n",
      "the answer of the proxy is not HTTP/1.1"
    ]
  ])("%s is a failure of the connection, before anything of the request is sent", ([, answer, detail]) =>
    Effect.gen(function* () {
      const { heads, sockets, failure } = yield* said(answer!)
      assert.strictEqual(failure?.message, `upstream call failed: tunnel: ${detail}`)
      assert.strictEqual(failure?.reached, "nothing sent")
      assert.deepStrictEqual(heads, [
        "CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nhost: [2001:db8::1]:8443\r\nproxy-authorization: Bearer word\r\n\r\n"
      ])
      yield* Effect.promise(() => eventually(() => sockets.every((socket) => socket.destroyed || socket.readableEnded)))
    })
  )

  it.live("takes no longer than a connection may", () =>
    Effect.gen(function* () {
      const { failure } = yield* said("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 20", { connectTimeout: 60 })
      assert.deepStrictEqual([failure?.status, failure?.message], [504, "upstream call timeout"])
    })
  )

  it.live("is followed by the backend, however it is cut and whatever it says of a length", () =>
    Effect.gen(function* () {
      const { port } = yield* tcpBackend((socket) => {
        let heads = 0
        socket.on("data", () => {
          const answers = [
            ["HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 20", "0 OK\r\ncontent-length: 5\r\nx: ", "y\r\n\r", "\n"],
            ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r", "\nok"]
          ][heads++]
          answers?.forEach((part, index) => setTimeout(() => socket.write(part), index * 5))
        })
      })
      const upstream = yield* upstreamTo(9, { tunnel: tunnelOver(port, "connect") })
      const { status, body } = yield* upstream.send(upstreamRequest())
      assert.strictEqual(status, 200)
      assert.isDefined(body)
    })
  )

  it.live("leads to no socket of this machine", () =>
    Effect.gen(function* () {
      const upstream = yield* upstreamTo({ kind: "unix", path: "/nowhere" }, { tunnel: tunnelOver(yield* nowhere) })
      const result = yield* Effect.result(upstream.send(upstreamRequest()))
      assert.isTrue(Result.isFailure(result))
    })
  )
})

describe("a proxy that is configured wrongly", () => {
  const refusals: Readonly<Record<string, readonly [tunnel: string, backends: string, problem: string]>> = {
    "is named and not there": [
      "{ proxy: { backend: /prxy } }",
      "[{ name: proxy, host: 'a:1' }]",
      "there is no backend /prxy; did you mean /proxy?"
    ],
    "is no host": [
      "{ proxy: { backend: /proxy } }",
      "[{ name: proxy, mcp: { targets: [{ name: t, mcp: { host: 'http://a/mcp' } }] } }]",
      "expected a backend that is a host"
    ],
    "is behind another one": [
      "{ proxy: { host: 'a:1' }, policies: { backendTunnel: { proxy: { host: 'b:1' } } } }",
      "[]",
      "a proxy is not reached through another one"
    ],
    "is behind itself": [
      "{ proxy: { backend: /proxy } }",
      "[{ name: proxy, host: 'a:1', policies: { backendTunnel: { proxy: { backend: /proxy } } } }]",
      "a proxy is not reached through another one"
    ],
    "is shown a key that it does not look for": [
      "{ proxy: { host: 'a:1' }, policies: { backendAuth: { key: { value: k, location: { cookie: { name: c } } } } } }",
      "[]",
      "a proxy is shown one key, in authorization"
    ],
    "is to be shown the token of the client": [
      "{ proxy: { host: 'a:1' }, policies: { backendAuth: { passthrough: {} } } }",
      "[]",
      "a proxy is shown one key, in authorization"
    ],
    "has policies of requests": [
      "{ proxy: { host: 'a:1' }, policies: { requestHeaderModifier: { remove: [x-a] } } }",
      "[]",
      "requestHeaderModifier of a proxy is not available yet"
    ]
  }
  for (const [name, [tunnel, backends, problem]] of Object.entries(refusals))
    it.live(`${name}: it is refused at start`, () =>
      Effect.gen(function* () {
        const text = `gateways: { default: { port: 8080 } }\nroutes: [{ policies: { backendTunnel: ${tunnel} }, backends: [{ host: "b:1" }] }]\nbackends: ${backends}\n`
        const result = yield* Effect.result(start(text, { ephemeral: true, host: "127.0.0.1" }))
        assert.isTrue(Result.isFailure(result))
        if (Result.isFailure(result)) assert.include(String(result.failure), problem)
      })
    )
})
