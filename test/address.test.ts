/** Where a gateway listens: what the file says of it, what the program says that opens it, and what a reload changes. */
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type StartOptions, start } from "../src/main/library.ts"
import { initialize, mcpHeaders, mcpOrigin } from "./attack/mcp-origin.ts"
import { send } from "./client.ts"
import { nowhere } from "./origin.ts"

const answers = 'routes: [{ policies: { directResponse: { status: 200, body: "here" } } }]\n'
const silent = "config: { adminAddr: off, statsAddr: off, readinessAddr: off }\n"
const at = (address: string | undefined, port = 8080, routes = answers) =>
  `${silent}gateways: { default: { port: ${port}${address === undefined ? "" : `, address: "${address}"`} } }\n${routes}`

const accepts = (port: number, host: string) =>
  Effect.promise(
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, host, () => {
          socket.destroy()
          resolve(true)
        }).on("error", () => resolve(false))
      })
  )

/** Which of three addresses of this machine take connections. */
const reachable = (port: number) =>
  Effect.map(
    Effect.forEach(["127.0.0.1", "127.0.0.2", "::1"], (host) =>
      Effect.map(accepts(port, host), (accepted) => (accepted ? [host] : []))
    ),
    (hosts) => hosts.flat()
  )

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-address-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const open = (text: string, options: StartOptions = {}) => start(text, { ephemeral: true, ...options })

describe("the address of a gateway", () => {
  it.live.each([
    [undefined, ["127.0.0.1", "127.0.0.2", "::1"]],
    ["::", ["127.0.0.1", "127.0.0.2", "::1"]],
    ["0.0.0.0", ["127.0.0.1", "127.0.0.2"]],
    ["localhost", ["127.0.0.1", "::1"]],
    ["127.0.0.2", ["127.0.0.2"]],
    ["::1", ["::1"]]
  ] as const)("%s", ([address, hosts]) =>
    Effect.gen(function* () {
      const gateway = yield* open(at(address))
      assert.deepStrictEqual(yield* reachable(gateway.port(8080)!), [...hosts])
    })
  )

  it.live("of a bind, too", () =>
    Effect.gen(function* () {
      const gateway = yield* open(`${silent}binds: [{ port: 8080, address: "127.0.0.2", listeners: [{ ${answers} }] }]`)
      assert.deepStrictEqual(yield* reachable(gateway.port(8080)!), ["127.0.0.2"])
    })
  )

  it.live("a socket serves requests, has no port, and goes with the gateway", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "gateway.sock")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const gateway = yield* open(at(`unix:${path}`))
          assert.isUndefined(gateway.port(8080))
          const { status, body } = yield* Effect.promise(() => send(path, { headers: { host: "any.example" } }))
          assert.deepStrictEqual([status, body], [200, "here"])
        })
      )
      assert.isFalse(existsSync(path))
    })
  )

  it.live("one that cannot be had names its setting, and nothing stays open", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "none", "gateway.sock")
      const other = yield* Effect.flip(open(at("192.0.2.1"), { ephemeral: false }))
      const socket = yield* Effect.flip(open(at(`unix:${path}`)))
      assert.deepStrictEqual(
        [other.message, socket.message],
        [
          "cannot listen on 192.0.2.1:8080: this machine has no such address; change gateways.default.address or gateways.default.port",
          `cannot listen on unix:${path}: its folder does not exist; change gateways.default.address`
        ]
      )
    })
  )

  it.live("one on loopback protects MCP servers behind it from pages under names of their own", () =>
    Effect.gen(function* () {
      const backend = `routes: [{ backends: [{ mcp: { targets: [{ name: t, mcp: { host: "http://127.0.0.1:${yield* mcpOrigin}/mcp" } }] } }] }]`
      const statuses = (address: string, host: string) =>
        Effect.gen(function* () {
          const port = (yield* open(at(address, 8080, backend))).port(8080)!
          const ask = (origin: Readonly<Record<string, string>>) =>
            Effect.promise(() =>
              send(port, {
                method: "POST",
                path: "/mcp",
                headers: { ...mcpHeaders, host, ...origin },
                body: JSON.stringify(initialize)
              })
            )
          return [(yield* ask({})).status, (yield* ask({ origin: "https://evil.example" })).status]
        })
      for (const address of ["localhost", "127.0.0.1"]) {
        assert.deepStrictEqual(yield* statuses(address, "localhost"), [200, 403])
        assert.deepStrictEqual(yield* statuses(address, "evil.example"), [403, 403])
      }
      assert.deepStrictEqual(yield* statuses("0.0.0.0", "evil.example"), [200, 200])
    })
  )
})

describe("a reload that changes the address", () => {
  it.live("narrows and widens it, on the port that it has", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const gateway = yield* start(at(undefined, port))
      for (const [address, hosts] of [
        ["localhost", ["127.0.0.1", "::1"]],
        ["127.0.0.1", ["127.0.0.1"]],
        ["127.0.0.2", ["127.0.0.2"]],
        ["0.0.0.0", ["127.0.0.1", "127.0.0.2"]],
        [undefined, ["127.0.0.1", "127.0.0.2", "::1"]]
      ] as const) {
        yield* gateway.reload(at(address, port))
        // What is not needed any more closes beside it.
        let found = yield* reachable(port)
        for (let tries = 0; tries < 200 && found.length !== hosts.length; tries++) {
          yield* Effect.sleep("10 millis")
          found = yield* reachable(port)
        }
        assert.deepStrictEqual(found, [...hosts])
      }
    })
  )

  it.live("to one that another process has changes nothing: the old one comes back", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const other = createServer()
      yield* Effect.acquireRelease(
        Effect.promise(() => once(other.listen(port, "127.0.0.2"), "listening")),
        () => Effect.sync(() => other.close())
      )
      const gateway = yield* start(at("127.0.0.1", port))
      const refusal = yield* Effect.flip(gateway.reload(at("0.0.0.0", port)))
      assert.strictEqual(
        refusal.message,
        `cannot listen on 0.0.0.0:${port}: another process uses this address; change gateways.default.address or gateways.default.port`
      )
      for (let again = 0; again < 3; again++) assert.strictEqual((yield* Effect.promise(() => send(port))).body, "here")
      assert.strictEqual(gateway.port(port), port)
    })
  )

  it.live("keeps a socket whose port has another name now", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "gateway.sock")
      const gateway = yield* open(at(`unix:${path}`, 8080))
      yield* gateway.reload(at(`unix:${path}`, 9090))
      assert.strictEqual((yield* Effect.promise(() => send(path, { headers: { host: "a" } }))).body, "here")
    })
  )
})

describe("the host that a program opens a gateway on", () => {
  const beside = `config: { adminAddr: off }\ngateways: { default: { port: 8080 } }\n${answers}`

  it.live.each([
    ["127.0.0.1", ["127.0.0.1"]],
    ["localhost", ["127.0.0.1", "::1"]],
    ["::1", ["::1"]]
  ] as const)("%s holds for listeners, metrics and readiness", ([host, hosts]) =>
    Effect.gen(function* () {
      const gateway = yield* open(beside, { host })
      for (const port of [gateway.port(8080), gateway.ports.stats, gateway.ports.readiness])
        assert.deepStrictEqual(yield* reachable(port!), [...hosts])
    })
  )

  it.live("does not hold where the file says otherwise", () =>
    Effect.gen(function* () {
      const text = `config: { adminAddr: off, statsAddr: "127.0.0.2:1", readinessAddr: "[::1]:1" }\ngateways: { default: { port: 8080, address: "127.0.0.2" } }\n${answers}`
      const gateway = yield* open(text, { host: "127.0.0.1" })
      assert.deepStrictEqual(yield* reachable(gateway.port(8080)!), ["127.0.0.2"])
      assert.deepStrictEqual(yield* reachable(gateway.ports.stats!), ["127.0.0.2"])
      assert.deepStrictEqual(yield* reachable(gateway.ports.readiness!), ["::1"])
    })
  )

  it.live("is no name", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(open(beside, { host: "proxy.internal" }))
      assert.strictEqual(message, "cannot listen on proxy.internal: it is no address; change host")
    })
  )
})
