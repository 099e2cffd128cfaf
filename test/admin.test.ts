/** The management servers of a running gateway, as an operator, a probe, a scraper and a hostile web page meet them. */
import { execFile, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import { adminList } from "../src/main/admin/endpoints.ts"
import { type Headgate, type StartOptions, start } from "../src/main/library.ts"
import { type Received, type Sent, send } from "./client.ts"
import { eventually } from "./http/raw-client.ts"
import { nowhere, origin } from "./origin.ts"

const direct = (more = "") => `
gateways: { default: { port: 8080 } }
routes:
  - name: hello
    policies: { directResponse: { status: 200, body: hello } }
${more}`

interface Open {
  readonly gateway: Headgate
  readonly lines: Array<string>
  readonly admin: (path: string, sent?: Sent) => Effect.Effect<Received>
  readonly ask: (sent?: Sent) => Effect.Effect<Received>
}

const opened = (text = direct(), options: StartOptions = {}): Effect.Effect<Open, never, Scope.Scope> =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const gateway = yield* Effect.orDie(
      start(text, { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line), ...options })
    )
    return {
      gateway,
      lines,
      admin: (path, sent) => Effect.promise(() => send(gateway.ports.admin!, { path, ...sent })),
      ask: (sent) => Effect.promise(() => send(gateway.port(8080)!, sent))
    }
  })

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-admin-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

describe("methods", () => {
  const allowed: ReadonlyArray<readonly [path: string, methods: ReadonlyArray<string>]> = [
    ["/", ["GET", "HEAD"]],
    ["/config_dump", ["GET", "HEAD"]],
    ["/endpoints", ["GET", "HEAD"]],
    ["/config_problems", ["GET", "HEAD"]],
    ["/config.schema.json", ["GET", "HEAD"]],
    ["/trace-event.schema.json", ["GET", "HEAD"]],
    ["/memory", ["GET", "HEAD"]],
    ["/debug/graph", ["GET", "HEAD"]],
    ["/logging", ["POST"]],
    ["/quitquitquit", ["POST"]]
  ]
  it.live("each path takes its methods, and refuses all others with 405 and what it takes", () =>
    Effect.gen(function* () {
      const { admin } = yield* opened()
      for (const [path, methods] of allowed)
        for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
          const { status, headers } = yield* admin(path, { method })
          assert.strictEqual(status, methods.includes(method) ? 200 : 405, `${method} ${path}`)
          if (status === 405) assert.strictEqual(headers["allow"], methods.join(", "))
        }
      for (const method of ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
        assert.strictEqual((yield* admin("/debug/trace", { method })).status, 405, method)
      for (const path of ["/nothing", "/config_dump/x", "/debug", "/debug/trace/x", "/%2e%2e/config_dump"])
        assert.strictEqual((yield* admin(path)).status, 404, path)
      assert.sameMembers(
        adminList.map(([path]) => path),
        ["/debug/trace", ...allowed.map(([path]) => path).filter((path) => path !== "/")]
      )
      const { body: index } = yield* admin("/")
      for (const [path, { method }] of adminList) assert.include(index, `<code>${method} ${path}</code>`)
    })
  )
})

describe("whom the admin interface believes", () => {
  it.live("a page that made its name resolve to loopback is refused, by its host header", () =>
    Effect.gen(function* () {
      const { gateway, admin } = yield* opened()
      const port = gateway.ports.admin
      for (const host of [
        "evil.example",
        `evil.example:${port}`,
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1"
      ])
        for (const [method, path] of [
          ["GET", "/config_dump"],
          ["POST", "/quitquitquit"],
          ["POST", "/debug/trace"]
        ] as const)
          assert.strictEqual((yield* admin(path, { method, headers: { host } })).status, 403, `${host} ${path}`)
      for (const host of [
        "localhost",
        `localhost:${port}`,
        "LOCALHOST",
        "127.0.0.1",
        `127.0.0.1:${port}`,
        "127.1.2.3",
        "[::1]",
        `[::1]:${port}`
      ])
        assert.strictEqual((yield* admin("/config_dump", { headers: { host } })).status, 200, host)
    })
  )

  it.live("a page of another origin may not use a browser of this machine to change anything", () =>
    Effect.gen(function* () {
      const { gateway, admin } = yield* opened()
      const own = `http://127.0.0.1:${gateway.ports.admin}`
      const post = (headers: Readonly<Record<string, string>>) =>
        Effect.map(admin("/logging", { method: "POST", headers }), ({ status }) => status)
      for (const origin of [
        "http://evil.example",
        "null",
        "https://127.0.0.1",
        `http://localhost:${gateway.ports.admin}`
      ])
        assert.strictEqual(yield* post({ origin }), 403, origin)
      for (const site of ["cross-site", "same-site"])
        assert.strictEqual(yield* post({ "sec-fetch-site": site }), 403, site)
      assert.strictEqual(yield* post({ origin: own, "sec-fetch-site": "same-origin" }), 200)
      assert.strictEqual(yield* post({ "sec-fetch-site": "none" }), 200)
      // What a page may load, it may not read.
      const { headers } = yield* admin("/config_dump", { headers: { origin: "http://evil.example" } })
      assert.notProperty(headers, "access-control-allow-origin")
    })
  )

  it.live("curl works as anyone types it", () =>
    Effect.gen(function* () {
      const { gateway } = yield* opened()
      const curl = (...args: ReadonlyArray<string>) =>
        Effect.promise(async () => (await promisify(execFile)("curl", ["-sS", ...args])).stdout)
      const port = gateway.ports.admin
      assert.strictEqual(yield* curl("-XPOST", `127.0.0.1:${port}/logging`), "current log level is info\n")
      assert.include(yield* curl(`http://localhost:${port}/config_dump`), '"binds"')
    })
  )
})

describe("/logging", () => {
  it.live("tells the filter, adds to it, and goes back to the start", () =>
    Effect.gen(function* () {
      const { admin } = yield* opened(direct("config: { logging: { level: [warn, 'proxy=info'] } }"))
      const post = (query: string) => admin(`/logging${query}`, { method: "POST" })
      const level = (query: string) => Effect.map(post(query), ({ body }) => body)
      assert.strictEqual(yield* level(""), "current log level is warn,proxy=info\n")
      assert.strictEqual(yield* level("?level=debug"), "current log level is debug,proxy=info\n")
      assert.strictEqual(
        yield* level("?level=proxy:trace,request=off"),
        "current log level is debug,request=off,proxy=trace\n"
      )
      assert.strictEqual(yield* level(""), "current log level is debug,request=off,proxy=trace\n")
      assert.strictEqual(
        yield* level("?reset&level=request%3Dwarn"),
        "current log level is warn,request=warn,proxy=info\n"
      )
      assert.strictEqual(yield* level("?reset=1"), "current log level is warn,proxy=info\n")
      for (const wrong of ["loud", "a=b=c", "=info", "info;debug", ""]) {
        const { status, body, headers } = yield* post(`?level=${encodeURIComponent(wrong)}`)
        if (wrong === "") continue
        assert.strictEqual(status, 400, wrong)
        assert.isTrue(body.startsWith(`Invalid level provided: ${wrong}\nusage: `), body)
        assert.match(String(headers["content-type"]), /^text\/plain/)
      }
      assert.strictEqual(yield* level(""), "current log level is warn,proxy=info\n")
    })
  )

  it.live("what it says holds from the next line on", () =>
    Effect.gen(function* () {
      const { admin, ask, lines } = yield* opened()
      const access = () => lines.filter((line) => line.includes("\trequest ")).length
      yield* ask()
      yield* Effect.promise(() => eventually(() => access() === 1))
      yield* admin("/logging?level=request=warn", { method: "POST" })
      yield* ask()
      yield* admin("/logging?reset", { method: "POST" })
      yield* ask()
      yield* Effect.promise(() => eventually(() => access() === 2))
    })
  )
})

describe("what the process runs with", () => {
  it.live("/memory tells the documented parts", () =>
    Effect.gen(function* () {
      const { admin } = yield* opened()
      const { body, headers } = yield* admin("/memory")
      assert.strictEqual(headers["content-type"], "application/json")
      const memory = JSON.parse(body)
      assert.deepStrictEqual(Object.keys(memory), [
        "captured_at_unix_ms",
        "capture_mode",
        "allocation_stats",
        "pprof",
        "allocator",
        "cgroup",
        "smaps"
      ])
      assert.deepStrictEqual(Object.keys(memory.allocation_stats), ["allocated", "freed", "allocations", "frees"])
      assert.isAtLeast(memory.allocator.stats.rss, 10_000_000)
      assert.isAtMost(Math.abs(memory.captured_at_unix_ms - Date.now()), 10_000)
    })
  )

  it.live("/config_dump has the documented shape", () =>
    Effect.gen(function* () {
      const { admin } = yield* opened(`
gateways:
  default:
    port: 8080
    cors: { allowOrigins: ["*"] }
  other: { port: 8081, listeners: [{ name: api, hostname: "*.example.com" }] }
backends:
  - name: named
    host: 127.0.0.1:9
routes:
  - name: api
    hostnames: [api.example]
    matches: [{ path: { exact: /v1 }, method: GET }]
    policies: { timeout: { requestTimeout: 5s } }
    backends:
      - backend: /named
        weight: 3
      - host: 127.0.0.1:10
        policies: { requestHeaderModifier: { set: { x-a: "1" } } }
  - gateways: other/api
    policies: { directResponse: { status: 204 } }
`)
      const dump = JSON.parse((yield* admin("/config_dump")).body)
      for (const key of ["binds", "listeners", "routes", "backends", "workloads", "services", "policies"])
        if (key !== "listeners") assert.property(dump, key)
      assert.deepStrictEqual(
        dump.binds.map((bind: { key: string }) => bind.key),
        ["bind/8080", "bind/8081"]
      )
      const listener = dump.binds[0].listeners["gateway/default"]
      assert.deepInclude(listener, { key: "gateway/default", gatewayName: "default", hostname: "*", protocol: "HTTP" })
      assert.deepInclude(dump.binds[1].listeners["gateway/other/api"], {
        hostname: "*.example.com",
        listenerName: "api"
      })
      const route = listener.routes["gateway/default/default/api"]
      assert.deepInclude(route, { name: "api", namespace: "default", hostnames: ["api.example"] })
      assert.deepStrictEqual(route.inlinePolicies, { timeout: { requestTimeout: 5000 } })
      assert.deepStrictEqual(
        route.backends.map(({ weight, backend }: { weight: number; backend: string }) => [weight, backend]),
        [
          [3, "/named"],
          [1, "/gateway/default/default/api/backend1"]
        ]
      )
      assert.deepStrictEqual(route.backends[1].inlinePolicies, { requestHeaderModifier: { set: { "x-a": "1" } } })
      assert.deepStrictEqual(dump.policies[0].policy, {
        traffic: { phase: "gateway", cors: { ...dump.policies[0].policy.traffic.cors, allowOrigins: ["*"] } }
      })
      assert.deepStrictEqual(dump.workloads, [])
      assert.deepStrictEqual(dump.services, [])
      assert.strictEqual(dump.config.adminAddr, "localhost:15000")
      assert.property(dump.version, "version")
    })
  )

  it.live("/debug/graph is the graph of every route, as data and as a drawing", () =>
    Effect.gen(function* () {
      const { admin } = yield* opened(`
gateways: { default: { port: 8080, cors: { allowOrigins: ["*"] } } }
routes:
  - name: upload
    policies:
      buffer: { request: { maxBytes: 1Ki, failureMode: failOpen }, response: {} }
      apiKey: { mode: strict, keys: [{ key: sealed }] }
    backends: [{ host: "127.0.0.1:9" }]
  - name: gone
    policies: { directResponse: { status: 410 } }
`)
      const graphs: ReadonlyArray<{
        route: string
        nodes: ReadonlyArray<{
          id: string
          label: string
          policy: string | null
          position: string | null
          failMode: string | null
        }>
        edges: ReadonlyArray<{ from: string; to: string; kind: string }>
      }> = JSON.parse((yield* admin("/debug/graph")).body)
      assert.deepStrictEqual(
        graphs.map(({ route }) => route),
        ["gateway/default/default/upload", "gateway/default/default/gone"]
      )
      for (const { nodes, edges } of graphs) {
        const ids = new Set(nodes.map(({ id }) => id))
        assert.strictEqual(ids.size, nodes.length)
        for (const { from, to } of edges) assert.isTrue(ids.has(from) && ids.has(to), `${from} to ${to}`)
        // Everything can be reached from the request, and the response from everything.
        const reach = (start: string, next: (id: string) => ReadonlyArray<string>) => {
          const found = new Set([start])
          for (const id of found) for (const each of next(id)) found.add(each)
          return found
        }
        const control = edges.filter(({ kind }) => kind !== "data")
        const onward = reach("request", (id) => control.flatMap(({ from, to }) => (from === id ? [to] : [])))
        const back = reach("response", (id) => control.flatMap(({ from, to }) => (to === id ? [from] : [])))
        assert.deepStrictEqual([...onward].sort(), [...ids].sort())
        assert.deepStrictEqual([...back].sort(), [...ids].sort())
      }
      const [upload] = graphs
      const stages = upload!.nodes
        .filter(({ policy }) => policy !== null)
        .map(({ label, failMode }) => [label, failMode])
      assert.deepStrictEqual(stages, [
        ["cors", "failClosed"],
        ["apiKey", "failClosed"],
        ["buffer.limits", "failOpen"],
        ["buffer", "failOpen"],
        ["buffer.response", "failClosed"]
      ])
      assert.strictEqual(upload!.nodes.find(({ label }) => label === "apiKey")?.position, "<inline>:7:15")

      const { body, headers } = yield* admin("/debug/graph?format=mermaid")
      assert.match(String(headers["content-type"]), /^text\/plain/)
      assert.strictEqual(body.match(/^flowchart TD$/gm)?.length, 1)
      assert.strictEqual(body.match(/^ {2}subgraph /gm)?.length, 2)
      assert.match(body, /r0n0\(\["request"\]\)/)
      assert.notInclude(body, "sealed")
    })
  )
})

describe("addresses", () => {
  const settings = (admin: string) =>
    `config: { adminAddr: "${admin}", statsAddr: off, readinessAddr: off }\n${direct()}`
  const dump = (to: number | string) => Effect.promise(async () => (await send(to, { path: "/config_dump" })).status)
  const open = (port: number, host: string) =>
    Effect.promise(
      () =>
        new Promise<boolean>((resolve) => {
          const socket = connect(port, host, () => {
            socket.destroy()
            resolve(true)
          }).on("error", () => resolve(false))
        })
    )

  it.live("off: nothing listens, and the proxy answers", () =>
    Effect.gen(function* () {
      const { gateway, ask } = yield* opened(settings("off"))
      assert.deepStrictEqual(gateway.ports, { admin: undefined, stats: undefined, readiness: undefined })
      assert.strictEqual((yield* ask()).body, "hello")
    })
  )

  it.live("unix: a stale socket makes way, any other file does not", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "admin.sock")
      // A socket file whose process is gone.
      const dying = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`
      spawnSync(process.execPath, ["-e", dying])
      assert.isTrue(existsSync(path))
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* opened(settings(`unix:${path}`))
          assert.strictEqual(yield* dump(path), 200)
        })
      )
      writeFileSync(path, "precious")
      const failed = yield* Effect.flip(start(settings(`unix:${path}`), { ephemeral: true }))
      assert.strictEqual(
        failed.message,
        `cannot listen on unix:${path}: there is a file that is no socket; change config.adminAddr`
      )
    })
  )

  it.live("localhost: both loopbacks, and no other address", () =>
    Effect.gen(function* () {
      const { gateway } = yield* opened(settings("localhost:15000"))
      assert.isTrue(yield* open(gateway.ports.admin!, "127.0.0.1"))
      assert.isTrue(yield* open(gateway.ports.admin!, "::1"))
      assert.isFalse(yield* open(gateway.ports.admin!, "127.0.0.2"))
    })
  )

  it.live("an address that others can reach is allowed, with a warning, and takes any host", () =>
    Effect.gen(function* () {
      const { admin, lines } = yield* opened(settings("0.0.0.0:15000"))
      assert.strictEqual((yield* admin("/config_dump", { headers: { host: "proxy.internal" } })).status, 200)
      assert.isTrue(lines.some((line) => line.includes("\twarn\tproxy\tthe admin interface has no authentication")))
    })
  )

  it.live("the environment wins over the file", () =>
    Effect.gen(function* () {
      const { gateway } = yield* opened(settings("localhost:15000"), { env: { ADMIN_ADDR: "off" } })
      assert.isUndefined(gateway.ports.admin)
    })
  )

  it.live("a name is no address", () =>
    Effect.gen(function* () {
      const failed = yield* Effect.flip(start(settings("example.com:15000")))
      assert.match(failed.message, /^<inline>:1:22: config\.adminAddr: /)
    })
  )

  it.live("a busy address names its setting", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<ReturnType<typeof createServer>>((resolve) => {
              const server = createServer().listen(port, "127.0.0.1", () => resolve(server))
            })
        ),
        (server) => Effect.promise(() => new Promise((resolve) => server.close(resolve)))
      )
      for (const setting of ["adminAddr", "statsAddr", "readinessAddr"]) {
        const settings = { adminAddr: "off", statsAddr: "off", readinessAddr: "off", [setting]: `127.0.0.1:${port}` }
        const failed = yield* Effect.flip(start(`config: ${JSON.stringify(settings)}`))
        assert.strictEqual(
          failed.message,
          `cannot listen on 127.0.0.1:${port}: another process uses this address; change config.${setting}`
        )
      }
    })
  )
})

describe("readiness", () => {
  it.live("is told on its own address, to GET alone", () =>
    Effect.gen(function* () {
      const { gateway } = yield* opened()
      const probe = (path: string, method = "GET") =>
        Effect.promise(() => send(gateway.ports.readiness!, { path, method }))
      const { status, body } = yield* probe("/healthz/ready")
      assert.deepStrictEqual([status, body], [200, "ready\n"])
      for (const method of ["POST", "HEAD", "DELETE"]) {
        const refused = yield* probe("/healthz/ready", method)
        assert.deepStrictEqual([refused.status, refused.headers["allow"], refused.body], [405, "GET", ""])
      }
      for (const path of ["/", "/healthz", "/config_dump"]) assert.strictEqual((yield* probe(path)).status, 404)
    })
  )
})

describe("metrics", () => {
  it.live("count requests by the documented labels, and durations in the documented buckets", () =>
    Effect.gen(function* () {
      const backend = yield* origin({ status: 201, body: "made" })
      const { gateway, ask } = yield* opened(`
gateways: { default: { port: 8080 } }
routes:
  - name: api
    ruleName: first
    matches: [{ path: { pathPrefix: /api } }]
    backends: [{ host: "${backend.address}" }]
  - name: gone
    matches: [{ path: { exact: /gone } }]
    policies: { directResponse: { status: 410 } }
`)
      yield* ask({ path: "/api", method: "POST" })
      yield* ask({ path: "/api", method: "POST" })
      yield* ask({ path: "/gone" })
      yield* ask({ path: "/nowhere" })
      const scrape = (path: string, method = "GET") =>
        Effect.promise(() => send(gateway.ports.stats!, { path, method }))
      const { status, headers, body } = yield* scrape("/metrics")
      assert.strictEqual(status, 200)
      assert.match(String(headers["content-type"]), /^text\/plain/)
      const labels = (line: string) =>
        Object.fromEntries([...line.matchAll(/(\w+)="([^"]*)"/g)].map((m) => [m[1], m[2]]))
      const samples = (name: string) =>
        body
          .split("\n")
          .filter((line) => line.startsWith(`headgate_${name}{`) || line.startsWith(`headgate_${name} `))
          .map((line) => ({ labels: labels(line), value: Number(line.split(" ").at(-1)) }))
      const place = { bind: "bind/8080", gateway: "default/default", listener: "default" }
      const routed = {
        protocol: "http",
        method: "POST",
        status: "201",
        reason: "Upstream",
        ...place,
        route: "default/api",
        route_rule: "first"
      }
      assert.deepStrictEqual(
        samples("requests_total").sort(
          (a, b) => b.value - a.value || (a.labels["status"]! < b.labels["status"]! ? -1 : 1)
        ),
        [
          { labels: { backend: "gateway/default/default/api/backend0", ...routed }, value: 2 },
          {
            labels: {
              ...routed,
              backend: "unknown",
              method: "GET",
              status: "404",
              reason: "NotFound",
              route: "unknown",
              route_rule: "unknown"
            },
            value: 1
          },
          {
            labels: {
              ...routed,
              backend: "unknown",
              method: "GET",
              status: "410",
              reason: "DirectResponse",
              route: "default/gone",
              route_rule: "unknown"
            },
            value: 1
          }
        ]
      )
      const bounds = (name: string) =>
        samples(`${name}_bucket`)
          .filter(({ labels }) => labels["route"] === "default/api")
          .map(({ labels }) => labels["le"])
      assert.deepStrictEqual(bounds("request_duration_seconds"), [
        "0.001",
        "0.005",
        "0.01",
        "0.025",
        "0.05",
        "0.1",
        "0.25",
        "0.5",
        "1",
        "2.5",
        "5",
        "10",
        "30",
        "80",
        "+Inf"
      ])
      assert.deepStrictEqual(
        bounds("request_processing_seconds"),
        ["0.00005", "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.05", "0.25", "+Inf"].map(
          (b) => (b === "0.00005" ? "0.00005" : b)
        )
      )
      assert.deepStrictEqual(
        samples("response_bytes_total").map(({ value }) => value),
        [8, 0, 15]
      )
      assert.deepStrictEqual(samples("config_synchronized"), [{ labels: {}, value: 1 }])
      assert.strictEqual(samples("build_info")[0]?.value, 1)
      assert.deepStrictEqual(
        samples("stage_runs_total").map(({ labels, value }) => [labels["node"], labels["phase"], value]),
        [["directResponse", "route", 1]]
      )
      assert.deepStrictEqual(samples("stage_duration_seconds_count"), [
        { labels: { phase: "route", policy: "directResponse", node: "directResponse" }, value: 1 }
      ])
      const described = readFileSync(join(import.meta.dirname, "../spec/generated/reference/metrics.md"), "utf8")
      for (const [, name] of body.matchAll(/^# HELP (\S+)/gm)) assert.include(described, `\`${name}\``)
      for (const name of ["event_loop_lag_seconds", "process_memory_bytes"]) assert.isNotEmpty(samples(name), name)

      assert.strictEqual((yield* scrape("/stats/prometheus")).status, 200)
      assert.strictEqual((yield* scrape("/metrics", "POST")).status, 200)
      assert.strictEqual((yield* scrape("/")).status, 404)
    })
  )

  it.live("families that the configuration removes are gone", () =>
    Effect.gen(function* () {
      const { gateway, ask } = yield* opened(
        direct(
          "config: { metrics: { remove: [requests, headgate_response_bytes_total, build_info, event_loop_lag_seconds] } }"
        )
      )
      yield* ask()
      const { body } = yield* Effect.promise(() => send(gateway.ports.stats!, { path: "/metrics" }))
      for (const gone of [
        "headgate_requests_total",
        "headgate_response_bytes_total",
        "headgate_build_info",
        "headgate_event_loop_lag_seconds"
      ])
        assert.notInclude(body, gone)
      assert.include(body, "headgate_request_duration_seconds")
    })
  )
})

describe("/quitquitquit", () => {
  it.live("asks for a graceful end", () =>
    Effect.gen(function* () {
      const { gateway, admin } = yield* opened()
      const asked = yield* Effect.forkChild(gateway.shutdownRequested)
      const { status, body } = yield* admin("/quitquitquit", { method: "POST" })
      assert.deepStrictEqual([status, body], [200, "shutdown now\n"])
      yield* Effect.timeout(Fiber.join(asked), "2 seconds")
    })
  )
})
