/** What a configuration says of connections, on both sides, and what becomes of it. */
import { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { vi } from "vitest"
import * as ConsoleLog from "../layers/log/console.ts"
import * as Prometheus from "../layers/metrics/prometheus.ts"
import { formatAddress } from "../spec/target.ts"
import { standard } from "../src/main/configuration/distribution.ts"
import { frontendOf } from "../src/main/configuration/frontend.ts"
import { defaultPortOptions, ports } from "../src/main/configuration/ports.ts"
import { makeSnapshot } from "../src/main/configuration/snapshot.ts"
import { start } from "../src/main/library.ts"
import { type UpstreamOptions, Upstreams, withDefaults } from "../src/services/upstreams.ts"
import { send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { eventually, RawClient } from "./http/raw-client.ts"
import { origin } from "./origin.ts"

const running = (configuration: string) =>
  Effect.map(start(configuration, { ephemeral: true, host: "127.0.0.1" }), (gateway) => ({
    port: gateway.port(8080)!,
    reload: gateway.reload
  }))

const frontend = (policies: string, route = "policies: { directResponse: { status: 200 } }") => `
gateways: { default: { port: 8080 } }
frontendPolicies: ${policies}
routes: [{ ${route} }]
`

describe("frontendPolicies", () => {
  it.live("http.maxBufferSize bounds what policies read where they do not say themselves", () =>
    Effect.gen(function* () {
      const backend = yield* origin({ body: "four" })
      const route = (buffer: string) => `policies: { buffer: ${buffer} }, backends: [{ host: "${backend.address}" }]`
      const { port, reload } = yield* running(frontend("{ http: { maxBufferSize: 3 } }", route("{ request: {} }")))
      const status = (body: string) => Effect.promise(async () => (await send(port, { method: "POST", body })).status)
      assert.deepStrictEqual([yield* status("abc"), yield* status("abcd")], [200, 413])
      yield* reload(frontend("{ http: { maxBufferSize: 3 } }", route("{ request: { maxBytes: 5 } }")))
      assert.deepStrictEqual([yield* status("abcde"), yield* status("abcdef")], [200, 413])
      yield* reload(frontend("{ http: { maxBufferSize: 3 } }", route("{ response: {} }")))
      assert.strictEqual(yield* status("abcdef"), 502)
      yield* reload(frontend("{}", route("{ request: {}, response: {} }")))
      assert.strictEqual(yield* status("abcdef"), 200)
    })
  )

  it.live("http.http1MaxHeaders bounds the header lines of a request", () =>
    Effect.gen(function* () {
      const { port } = yield* running(frontend("{ http: { http1MaxHeaders: 3 } }"))
      const status = (lines: number) =>
        Effect.promise(async () => {
          const client = new RawClient(port).send(`GET / HTTP/1.1\r\nhost: a\r\n${"x: y\r\n".repeat(lines - 1)}\r\n`)
          const [answer] = await client.responses(1)
          client.socket.destroy()
          return answer?.status
        })
      assert.deepStrictEqual([yield* status(3), yield* status(4)], [200, 431])
    })
  )

  it.live("http.http1IdleTimeout closes connections that wait for too long, http.maxConnectionDuration old ones", () =>
    Effect.gen(function* () {
      for (const http of ["{ http1IdleTimeout: 50ms }", "{ maxConnectionDuration: 50ms }"]) {
        const { port } = yield* running(frontend(`{ http: ${http} }`))
        const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        yield* Effect.promise(() => client.until(({ ended, closed }) => ended || closed))
        assert.match(client.text, /^HTTP\/1.1 200 /)
        client.socket.destroy()
      }
    })
  )

  it.live("http.http1HeaderTimeout refuses a head that takes too long, a minute by default", () =>
    Effect.gen(function* () {
      const { port } = yield* running(frontend("{ http: { http1HeaderTimeout: 50ms } }"))
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nho")
      yield* Effect.promise(() => client.until(({ ended, closed }) => ended || closed))
      assert.match(client.text, /^HTTP\/1.1 408 /)
      client.socket.destroy()
      const headTimeout = (http: Parameters<typeof frontendOf>[0]["http"]) =>
        frontendOf({ http, tls: undefined, tcp: undefined, policies: {}, path: [] }).limits.headTimeout
      const http = { maxBufferSize: 1, paths: "normalised", http1HeaderCase: "lowercase" } as const
      assert.strictEqual(headTimeout(undefined), 60_000)
      assert.strictEqual(headTimeout({ ...http, http1IdleTimeout: 600_000 }), 60_000)
      assert.strictEqual(headTimeout({ ...http, http1IdleTimeout: 10_000 }), 10_000)
      assert.strictEqual(headTimeout({ ...http, http1IdleTimeout: 10_000, http1HeaderTimeout: 20_000 }), 20_000)
    })
  )

  it.live(
    "the connections of clients are probed as tcp.keepalives says, and as those to backends where it says nothing",
    () =>
      Effect.gen(function* () {
        const probed = yield* Effect.acquireRelease(
          Effect.sync(() => vi.spyOn(Socket.prototype, "setKeepAlive")),
          (spy) => Effect.sync(() => spy.mockRestore())
        )
        for (const [policies, calls] of [
          ["{ tcp: { keepalives: { time: 20s, interval: 10s, retries: 4 } } }", [[true, 20_000, 10_000, 4]]],
          ["{ tcp: { keepalives: { enabled: false } } }", []],
          ["{ tcp: { keepalives: {} } }", [[true, 180_000, 180_000, 9]]],
          ["{}", [[true, 180_000, 180_000, 9]]]
        ] as const) {
          const { port } = yield* running(frontend(policies))
          probed.mockClear()
          yield* Effect.promise(async () => {
            const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            await client.responses(1)
            client.socket.destroy()
          })
          assert.deepStrictEqual(probed.mock.calls as ReadonlyArray<unknown>, calls)
        }
      })
  )
})

/** What is opened for a configuration, and the graphs of its routes. */
const compiled = (text: string) =>
  Effect.gen(function* () {
    const opened: Array<readonly [target: string, options: UpstreamOptions]> = []
    const recording = Layer.succeed(Upstreams, {
      open: (target, options) =>
        Effect.sync(() => {
          opened.push([formatAddress(target), options])
          return { send: () => Effect.die("nothing is sent") }
        }),
      openChosen: (options) =>
        Effect.sync(() => {
          opened.push(["chosen", options])
          return { pseudonym: "nobody", at: () => ({ send: () => Effect.die("nothing is sent") }) }
        }),
      openStreams: (target, options) =>
        Effect.sync(() => {
          opened.push([formatAddress(target), options])
          return { connect: Effect.die("nothing is sent"), idleTimeout: undefined }
        })
    })
    const quiet = ConsoleLog.layer({ filter: "off", format: "text", write: () => {}, now: () => 0 })
    const services = Layer.provideMerge(ports(defaultPortOptions), Layer.merge(quiet, Prometheus.layer()))
    const snapshot = yield* makeSnapshot(standard, { name: "config.yaml", text, env: {} }, Math.random).pipe(
      Effect.provide(Layer.merge(services, recording))
    )
    yield* Scope.close(snapshot.scope, Exit.void)
    return { opened, snapshot }
  })

/** What a backend is opened with. */
const openedWith = (config: string, backend = "{ host: 'backend.example:80' }") =>
  Effect.map(
    compiled(`config: ${config}\ngateways: { default: { port: 8080 } }\nroutes: [{ backends: [${backend}] }]`),
    ({ opened }) => opened.map(([, options]) => options)
  )

describe("connection policies", () => {
  const gateway = "gateways: { default: { port: 8080 } }"
  /** Everywhere where something is called, with a policy of connections in force there that allows so many milliseconds. */
  const places: Readonly<Record<string, string>> = {
    "beside a reference": `routes: [{ backends: [{ host: "a:1", policies: { tcp: { connectTimeout: 7ms } } }] }]`,
    "of a named backend": `
routes: [{ backends: [{ backend: /b }] }]
backends: [{ name: b, host: "a:1", policies: { tcp: { connectTimeout: 7ms } } }]`,
    "beside a reference, before those of a named backend": `
routes: [{ backends: [{ backend: /b, policies: { tcp: { connectTimeout: 7ms } } }] }]
backends: [{ name: b, host: "a:1", policies: { tcp: { connectTimeout: 9ms, keepalives: { enabled: false } } } }]`,
    "targeted at a gateway": `
routes: [{ backends: [{ host: "a:1" }] }]
policies:
- name: { name: p, namespace: n }
  target: { gateway: { gatewayName: default, gatewayNamespace: default } }
  policy: { tcp: { connectTimeout: 7ms } }`,
    "of MCP servers": `
routes: [{ backends: [{ mcp: { targets: [{ name: t, mcp: { host: "http://a:1/mcp" } }] }, policies: { tcp: { connectTimeout: 7ms } } }] }]`,
    "of an MCP server, before those of its backend": `
routes:
- backends:
  - mcp: { targets: [{ name: t, mcp: { host: "http://a:1/mcp" }, policies: { tcp: { connectTimeout: 7ms } } }] }
    policies: { tcp: { connectTimeout: 9ms } }`,
    "of an MCP server that is a named backend, where those of its own backend have no say": `
routes:
- backends:
  - mcp: { targets: [{ name: t, mcp: { backend: /b, path: /mcp } }] }
    policies: { tcp: { connectTimeout: 9ms } }
backends: [{ name: b, host: "a:1", policies: { tcp: { connectTimeout: 7ms } } }]`,
    "of an API that becomes an MCP server": `
routes:
- backends:
  - mcp: { targets: [{ name: t, openapi: { host: "a:1", schema: '{"openapi":"3.0.0","paths":{}}' } }] }
    policies: { tcp: { connectTimeout: 7ms } }`,
    "of a provider of models": `
routes:
- backends:
  - ai: { name: m, provider: { openAI: {} }, hostOverride: "a:1", policies: { tcp: { connectTimeout: 7ms } } }
    policies: { tcp: { connectTimeout: 9ms, keepalives: { enabled: false } } }`,
    "of a backend of models": `
routes:
- backends:
  - { ai: { name: m, provider: { openAI: {} }, hostOverride: "a:1" }, policies: { tcp: { connectTimeout: 7ms } } }`,
    "of a webhook": `
llm:
  port: 8080
  models: [{ name: "*", provider: mock }]
  guardrails:
    request: [{ webhook: { target: { host: "a:1", policies: { tcp: { connectTimeout: 7ms } } } } }]`,
    "of a webhook that is a named backend": `
llm:
  port: 8080
  models: [{ name: "*", provider: mock }]
  guardrails:
    request: [{ webhook: { target: { backend: /b, policies: { tcp: { connectTimeout: 7ms } } } } }]
backends: [{ name: b, host: "a:1" }]`
  }

  for (const [place, text] of Object.entries(places))
    it.effect(`hold for the connections ${place}`, () =>
      Effect.gen(function* () {
        const { opened } = yield* compiled(text.includes("llm:") ? text : `${gateway}\n${text}`)
        const all = opened.map(([target, { connectTimeout, probes }]) => [target, connectTimeout, probes])
        const probes = { time: 180_000, interval: 180_000, retries: 9 }
        // A named backend is opened by itself as well, for whoever else may call it.
        const own = all.filter(([, connectTimeout]) => connectTimeout !== 10_000)
        assert.deepStrictEqual(own, [["a:1", 7, probes]])
      })
    )

  it.live("http.idleTimeout cuts an answer that stands still, and counts it", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((_, response) => {
        response.writeHead(200, { "content-length": "9" })
        response.write("one")
      })
      const gateway = yield* start(
        `
gateways: { default: { port: 8080 } }
routes:
- backends: [{ host: "127.0.0.1:${portOf(backend.address())}", policies: { http: { version: HTTP/1.1, idleTimeout: 50ms } } }]
`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      const client = new RawClient(gateway.port(8080)!).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(({ ended, closed }) => ended || closed))
      assert.match(client.text, /^HTTP\/1.1 200 .*\r\n\r\none$/s)
      client.socket.destroy()
      const counted = yield* Effect.promise(() => send(gateway.ports.stats!, { path: "/metrics" }))
      assert.include(counted.body, 'headgate_upstream_idle_timeouts_total{silent="backend"} 1')
    })
  )

  it.effect("http.idleTimeout of nothing is told, with its place", () =>
    Effect.gen(function* () {
      const problems = yield* compiled(
        `${gateway}\nroutes: [{ backends: [{ host: "a:1", policies: { http: { idleTimeout: 0s } } }] }]`
      ).pipe(
        Effect.flip,
        Effect.map(({ problems }) => problems)
      )
      assert.deepStrictEqual(
        problems.map(({ line, path, message }) => [line, path, message]),
        [[2, "routes[0].backends[0].policies.http.idleTimeout", "expected a time limit of more than 0"]]
      )
    })
  )

  it.effect("are in the graph, as what the call reads, and no request runs through them", () =>
    Effect.gen(function* () {
      const { snapshot } = yield* compiled(`${gateway}
routes:
- policies: { backendTLS: { hostname: b.example } }
  backends: [{ host: "a:1", policies: { tcp: { connectTimeout: 7ms } } }]`)
      const [graph] = snapshot.graphs()
      assert.deepStrictEqual(
        graph?.nodes.filter(({ kind }) => kind === "connection").map(({ id, path, position }) => [id, path, position]),
        [
          ["connection backendTLS", "routes[0].policies.backendTLS", "config.yaml:3:27"],
          ["connection tcp", "routes[0].backends[0].policies.tcp", "config.yaml:4:46"]
        ]
      )
      assert.deepStrictEqual(
        graph?.edges.filter(({ from }) => from.startsWith("connection")),
        ["backendTLS", "tcp"].map((name) => ({
          from: `connection ${name}`,
          to: "backend call",
          kind: "data" as const,
          label: "connection"
        }))
      )
    })
  )
})

describe("config.backend and config.dns", () => {
  const probes = { time: 180_000, interval: 180_000, retries: 9 }
  const standardly = {
    connectTimeout: 10_000,
    idleTimeout: 90_000,
    maxConnections: undefined,
    probes,
    addresses: "v4 first"
  } as const

  it.effect("decide how backends are opened", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* openedWith("{}"), [standardly])
      const backend =
        "{ connectTimeout: 1s, poolIdleTimeout: 2s, poolMaxSize: 3, keepalives: { time: 4s, interval: 5s, retries: 6 } }"
      assert.deepStrictEqual(yield* openedWith(`{ backend: ${backend} }`), [
        {
          ...standardly,
          connectTimeout: 1000,
          idleTimeout: 2000,
          maxConnections: 3,
          probes: { time: 4000, interval: 5000, retries: 6 }
        }
      ])
      assert.deepStrictEqual(yield* openedWith("{ backend: { keepalives: { enabled: false } } }"), [
        { ...standardly, probes: "none" }
      ])
    })
  )

  it.effect("leave alone what a backend says for itself", () =>
    Effect.gen(function* () {
      const seen: Array<UpstreamOptions> = []
      const nobody = { send: () => Effect.die("nothing is sent") }
      const { open, openChosen } = withDefaults(
        {
          open: (_, options) =>
            Effect.sync(() => {
              seen.push(options)
              return nobody
            }),
          openChosen: (options) =>
            Effect.sync(() => {
              seen.push(options)
              return { pseudonym: "nobody", at: () => nobody }
            }),
          openStreams: () => Effect.die("nothing is opened")
        },
        { connectTimeout: 1, idleTimeout: 2, maxConnections: 3, probes: "none", addresses: "v6" }
      )
      const tls = { hostname: "a.example", verify: "chain" } as const
      const own = { tls, connectTimeout: 10, idleTimeout: 20, maxConnections: 30, probes, addresses: "all" } as const
      const target = { kind: "tcp", host: "a", port: 1, tls: true } as const
      yield* Effect.scoped(open(target, own))
      yield* Effect.scoped(open(target, { tls, connectTimeout: undefined }))
      yield* Effect.scoped(openChosen({ tls, connectTimeout: undefined }))
      assert.deepStrictEqual(seen, [
        own,
        { tls, connectTimeout: 1, idleTimeout: 2, maxConnections: 3, probes: "none", addresses: "v6" },
        { tls, connectTimeout: 1, idleTimeout: 2, maxConnections: 3, probes: "none", addresses: "v6" }
      ])
    })
  )

  it.effect("lookupFamily chooses the addresses of a name", () =>
    Effect.gen(function* () {
      const addresses = (config: string) => Effect.map(openedWith(config), ([options]) => options?.addresses)
      assert.strictEqual(yield* addresses("{ dns: { lookupFamily: All } }"), "all")
      assert.strictEqual(yield* addresses("{ dns: { lookupFamily: V4Preferred }, enableIpv6: false }"), "v4 first")
      assert.strictEqual(yield* addresses("{ dns: { lookupFamily: V4Only } }"), "v4")
      assert.strictEqual(yield* addresses("{ dns: { lookupFamily: V6Only } }"), "v6")
      assert.strictEqual(yield* addresses("{ dns: {}, enableIpv6: false }"), "v4")
    })
  )

  /** A server that answers every request as an MCP server does the first one. */
  const server = httpBackend((request, response) => {
    request.resume()
    const result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "a", version: "1" } }
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }))
  })

  /** One address as a host, and as an MCP server. */
  const hostAndServer = (settings: string, address: string) => `
config: ${settings}
gateways: { default: { port: 8080 } }
routes:
  - { matches: [{ path: { exact: /host } }], backends: [{ host: "${address}" }] }
  - backends: [{ mcp: { targets: [{ name: a, mcp: { host: "http://${address}/mcp" } }] } }]
`

  /** How both answer. */
  const statusesAt = (port: number) =>
    Effect.gen(function* () {
      const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "b", version: "1" } }
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
      return yield* Effect.forEach(["/host", "/mcp"], (path) =>
        Effect.promise(async () => (await send(port, { method: "POST", path, headers, body })).status)
      )
    })

  const statuses = (settings: string, address: string) =>
    Effect.flatMap(running(hostAndServer(settings, address)), ({ port }) => statusesAt(port))

  it.live("lookupFamily reaches what was opened before it changed", () =>
    Effect.gen(function* () {
      const address = `localhost:${portOf((yield* server).address())}`
      const { port, reload } = yield* running(hostAndServer("{ dns: { lookupFamily: V4Only } }", address))
      assert.deepStrictEqual(yield* statusesAt(port), [200, 200])
      yield* reload(hostAndServer("{ dns: { lookupFamily: V6Only } }", address))
      assert.deepStrictEqual(yield* statusesAt(port), [503, 503])
      yield* reload(hostAndServer("{ dns: { lookupFamily: V4Only } }", address))
      assert.deepStrictEqual(yield* statusesAt(port), [200, 200])
    })
  )

  it.live("lookupFamily decides how a name is reached: that of a host, and that of an MCP server", () =>
    Effect.gen(function* () {
      const address = `localhost:${portOf((yield* server).address())}`
      // The server has no address of IPv6.
      assert.deepStrictEqual(yield* statuses("{ dns: { lookupFamily: V4Only } }", address), [200, 200])
      assert.deepStrictEqual(yield* statuses("{ dns: { lookupFamily: V6Only } }", address), [503, 503])
    })
  )

  it.live(
    "a host and an MCP server of one address share connections, but for poolMaxSize, which no session counts for",
    () =>
      Effect.gen(function* () {
        for (const [settings, most] of [
          ["{}", 1],
          ["{ backend: { poolMaxSize: 5 } }", 2]
        ] as const) {
          const one = yield* server
          let connections = 0
          one.on("connection", () => connections++)
          const address = `127.0.0.1:${portOf(one.address())}`
          assert.deepStrictEqual(yield* statuses(settings, address), [200, 200])
          assert.strictEqual(connections, most)
        }
      })
  )

  it.live("poolMaxSize makes requests wait for a connection, and poolIdleTimeout closes what nobody uses", () =>
    Effect.gen(function* () {
      const held: Array<() => void> = []
      const backend = yield* httpBackend((_, response) => {
        held.push(() => response.end("here"))
      })
      let connections = 0
      let open = 0
      backend.on("connection", (socket) => {
        connections++
        open++
        socket.on("close", () => open--)
      })
      const { port } = yield* running(`
config: { backend: { poolMaxSize: 1, poolIdleTimeout: 1500ms } }
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ host: "127.0.0.1:${portOf(backend.address())}" }] }]
`)
      const answers = [send(port), send(port)]
      for (let i = 0; i < 2; i++) {
        yield* Effect.promise(() => eventually(() => held.length === 1))
        held.pop()?.()
      }
      for (const answer of answers) assert.strictEqual((yield* Effect.promise(() => answer)).body, "here")
      assert.strictEqual(connections, 1)
      yield* Effect.promise(() => eventually(() => open === 0))
    })
  )
})
