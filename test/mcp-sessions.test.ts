/** MCP sessions of whole processes: who can go on with one, for how long, and what a reload does to it. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { nowhere } from "./origin.ts"
import { startFixture } from "./outside/mcp/fixture-http.ts"
import { root, startHeadgate, until } from "./program.ts"

const key = "5e".repeat(32)
const other = "d0".repeat(32)

const fixture = Effect.acquireRelease(Effect.promise(startFixture), ({ close }) => Effect.promise(close))

const overHttp = (port: number) => `{ name: f, mcp: { host: "http://127.0.0.1:${port}/mcp" } }`
const overStdio = `{ name: f, stdio: { cmd: "${process.execPath}", args: ["${join(root, "test/outside/mcp/fixture-stdio.ts")}"] } }`

// Listeners of the same name are the same listener on every replica, whatever their ports.
const configuration = (target: string, config = "{}", listener = 8080) => `
config: ${config}
gateways: { default: { port: ${listener} } }
mcp: { targets: [${target}] }`

const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }

const initialize = async (port: number, path = "/mcp"): Promise<string> => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })
  const { status, headers: answered } = await send(port, { method: "POST", path, headers, body })
  assert.strictEqual(status, 200)
  return String(answered["mcp-session-id"])
}

/** The status of a call in a session, and what the tool said. */
const call = async (port: number, session: string, path = "/mcp") => {
  const params = { name: "test_simple_text", arguments: {} }
  const { status, body } = await send(port, {
    method: "POST",
    path,
    headers: { ...headers, "mcp-session-id": session },
    body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params })
  })
  return { status, body }
}

const started = (text: string, env: Readonly<Record<string, string>> = {}) =>
  start(text, { ephemeral: true, host: "127.0.0.1", env })

const portOf = (text: string, env: Readonly<Record<string, string>> = {}) =>
  Effect.map(started(text, env), (gateway) => gateway.port(8080)!)

const program = (text: string, env: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.promise(() => startHeadgate(["-c", text], env)),
    (one) => Effect.promise(() => one[Symbol.asyncDispose]())
  )

describe("a session id of one process in another", () => {
  it.live("is good with the same SESSION_KEY: the target's own session goes on", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const [one, two] = [yield* nowhere, yield* nowhere]
      // The environment wins over the configuration.
      const texts = [
        configuration(overHttp(server.port), `{ session: { key: "${key}" } }`, one),
        configuration(overHttp(server.port), "{}", two)
      ]
      yield* Effect.forEach(texts, (text) => program(text, { SESSION_KEY: ` ${other}\n` }), { concurrency: 2 })
      yield* Effect.promise(async () => {
        const session = await initialize(one)
        const there = await call(two, session)
        assert.strictEqual(there.status, 200)
        assert.include(there.body, "This is a simple text response for testing.")
        assert.strictEqual((await call(one, session)).status, 200)
        const targetSessions = new Set(server.seen.map((seen) => seen["mcp-session-id"]).filter(Boolean))
        assert.strictEqual(targetSessions.size, 1)
        // Nobody reads out of it what the target's session is.
        for (const target of targetSessions)
          assert.notInclude(Buffer.from(session, "base64").toString(), String(target))
      })
    })
  )

  it.live("is good with the same config.session.key, and worthless with another key or none", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const text = (config: string) => configuration(overHttp(server.port), config)
      const one = yield* portOf(text(`{ session: { key: "${key}" } }`))
      const same = yield* portOf(text(`{ session: { key: "${key.toUpperCase()}" } }`))
      const another = yield* portOf(text(`{ session: { key: "${other}" } }`))
      const none = yield* portOf(text("{}"))
      yield* Effect.promise(async () => {
        const session = await initialize(one)
        assert.strictEqual((await call(same, session)).status, 200)
        for (const port of [another, none])
          assert.deepStrictEqual(await call(port, session), { status: 404, body: "mcp: session not found" })
        const tampered = `${session.startsWith("A") ? "B" : "A"}${session.slice(1)}`
        assert.strictEqual((await call(one, tampered)).status, 404)
      })
    })
  )

  it.live("is worthless when the target is a child of the first process", () =>
    Effect.gen(function* () {
      const [one, two] = [
        yield* portOf(configuration(overStdio), { SESSION_KEY: key }),
        yield* portOf(configuration(overStdio), { SESSION_KEY: key })
      ]
      yield* Effect.promise(async () => {
        const session = await initialize(one)
        assert.strictEqual((await call(one, session)).status, 200)
        assert.strictEqual((await call(two, session)).status, 404)
      })
    })
  )

  it.live("is worthless for another set of targets", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const target = overHttp(server.port)
      const env = { SESSION_KEY: key }
      const one = yield* portOf(configuration(target), env)
      const more = yield* portOf(configuration(`${target}, ${target.replace("name: f", "name: g")}`), env)
      yield* Effect.promise(async () => {
        assert.strictEqual((await call(more, await initialize(one))).status, 404)
      })
    })
  )
})

describe("a SESSION_KEY that is none", () => {
  it.effect("is an error at the start", () =>
    Effect.gen(function* () {
      for (const bad of ["", "0a", "zz".repeat(32), "0a".repeat(33)]) {
        const error = yield* Effect.flip(started(configuration(overStdio), { SESSION_KEY: bad }))
        assert.strictEqual(error.message, "SESSION_KEY: expected 32 bytes (64 hex characters)")
      }
    })
  )
})

describe("a session within its process", () => {
  const routes = (port: number, before = "") => `
gateways: { default: { port: 8080 } }
routes:
${before}
- matches: [{ path: { pathPrefix: /a } }]
  backends: [{ mcp: { targets: [${overHttp(port)}] } }]
- matches: [{ path: { pathPrefix: /b } }]
  backends: [{ mcp: { targets: [${overHttp(port)}] } }]
`

  it.live("belongs to the backend that began it, though another leads to the same server", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const gateway = yield* started(routes(server.port))
      yield* Effect.promise(async () => {
        const port = gateway.port(8080)!
        const session = await initialize(port, "/a")
        assert.strictEqual((await call(port, session, "/a")).status, 200)
        assert.strictEqual((await call(port, session, "/b")).status, 404)
      })
    })
  )

  it.live("outlives a reload that changes only what stands around its backend, and not one that changes the key", () =>
    Effect.gen(function* () {
      const gateway = yield* started(configuration(overStdio))
      const port = gateway.port(8080)!
      const session = yield* Effect.promise(() => initialize(port))
      yield* gateway.reload(configuration(overStdio, "{ mcp: { sessionTtl: 30m } }"))
      assert.strictEqual((yield* Effect.promise(() => call(port, session))).status, 200)
      yield* gateway.reload(configuration(overStdio, `{ session: { key: "${key}" } }`))
      assert.strictEqual((yield* Effect.promise(() => call(port, session))).status, 404)
    })
  )

  it.live("outlives a reload that changes how its target is called, and goes on as the new configuration says", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const teams = (count: number) => `
gateways: { default: { port: 8080 } }
mcp: { targets: [{ name: f, mcp: { backend: /fixture, path: /mcp } }] }
backends: [{ name: fixture, host: "127.0.0.1:${server.port}", policies: { requestHeaderModifier: { set: { x-team: t${count} } } } }]`
      const gateway = yield* started(teams(0))
      const port = gateway.port(8080)!
      const session = yield* Effect.promise(() => initialize(port))
      for (const count of [1, 2]) {
        yield* gateway.reload(teams(count))
        assert.strictEqual((yield* Effect.promise(() => call(port, session))).status, 200)
        assert.strictEqual(server.seen.at(-1)?.["x-team"], `t${count}`)
        assert.strictEqual(new Set(server.seen.map((seen) => seen["mcp-session-id"]).filter(Boolean)).size, 1)
      }
      // One that leads elsewhere is another backend.
      yield* gateway.reload(teams(3).replace(String(server.port), String(yield* nowhere)))
      assert.strictEqual((yield* Effect.promise(() => call(port, session))).status, 404)
    })
  )

  it.live("outlives a reload that changes which addresses of its target are called, and goes on with those", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const target = `{ name: f, mcp: { host: "http://localhost:${server.port}/mcp" } }`
      const family = (lookupFamily: string) => configuration(target, `{ dns: { lookupFamily: ${lookupFamily} } }`)
      const gateway = yield* started(family("V4Only"))
      const port = gateway.port(8080)!
      const session = yield* Effect.promise(() => initialize(port))
      const answers = []
      for (const wanted of ["V4Only", "V6Only", "V4Only"]) {
        yield* gateway.reload(family(wanted))
        answers.push((yield* Effect.promise(() => call(port, session))).status)
      }
      // The server listens on an address of IPv4 alone.
      assert.deepStrictEqual(answers, [200, 503, 200])
    })
  )

  it.live("does not depend on how its route is numbered", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const gateway = yield* started(routes(server.port))
      const port = gateway.port(8080)!
      const session = yield* Effect.promise(() => initialize(port, "/b"))
      const before = "- { matches: [{ path: { exact: /new } }], policies: { directResponse: { status: 204 } } }"
      yield* gateway.reload(routes(server.port, before))
      assert.strictEqual((yield* Effect.promise(() => call(port, session, "/b"))).status, 200)
    })
  )

  it.live("ends when nobody used it for mcp.sessionTtl", () =>
    Effect.gen(function* () {
      const gateway = yield* started(configuration(overStdio, "{ mcp: { sessionTtl: 1ms } }"))
      const port = gateway.port(8080)!
      yield* Effect.promise(async () => {
        const session = await initialize(port)
        await until("the session is over", async () => (await call(port, session)).status === 404)
      })
    })
  )
})
