/** A running gateway whose configuration changes under traffic: nothing is lost, nothing is mixed, and what may last, lasts. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { Agent } from "node:http"
import { createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { makeHeadgate, start } from "../src/main/library.ts"
import { registry } from "../src/pipeline/registry.ts"
import { policies } from "../stages/registry.ts"
import { type Received, send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { eventually } from "./http/raw-client.ts"
import { nowhere, origin } from "./origin.ts"
import { type KeyName, keySet, token } from "./tokens.ts"

const agent = (maxSockets: number) =>
  Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true, maxSockets })),
    (made) => Effect.sync(() => made.destroy())
  )

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-reload-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const metric = (port: number | undefined, name: string) =>
  Effect.promise(async () => {
    const { body } = await send(port!, { path: "/metrics" })
    return Number(body.match(new RegExp(`^headgate_${name} (.*)$`, "m"))?.[1])
  })

const claims = { iss: "https://issuer.example", aud: "headgate", sub: "alice", exp: 4_102_444_800 }

describe("reload", () => {
  it.live("requests that keep coming meet ten reloads: none is lost, and each is served by one configuration", () =>
    Effect.gen(function* () {
      // The backend tells which configuration sent the request to it; now and then it takes its time.
      let count = 0
      const server = yield* httpBackend((request, response) => {
        const answer = () => response.end(String(request.headers["x-generation"]))
        if (++count % 50 === 0) setTimeout(answer, 40)
        else answer()
      })
      const configuration = (generation: number) => `
gateways: { default: { port: 8080 } }
routes:
  - name: generation${generation}
    policies:
      requestHeaderModifier: { set: { x-generation: "${generation}" } }
      responseHeaderModifier: { set: { x-generation: "${generation}" } }
    backends: [{ host: "127.0.0.1:${portOf(server.address())}" }]
`
      const gateway = yield* start(configuration(0), { ephemeral: true, host: "127.0.0.1" })
      const port = gateway.port(8080)!
      const keepAlive = yield* agent(64)
      const total = 2000
      const seen = new Map<string, number>()
      const wrong: Array<Received | unknown> = []
      let inFlight = 0
      let sent = 0
      const client = async () => {
        while (sent < total) {
          sent++
          inFlight++
          try {
            const answer = await send(port, { agent: keepAlive })
            const generation = String(answer.headers["x-generation"])
            if (answer.status !== 200 || answer.body !== generation) wrong.push(answer)
            seen.set(generation, (seen.get(generation) ?? 0) + 1)
          } catch (error) {
            wrong.push(error)
          }
          inFlight--
        }
      }
      const clients = Promise.all(Array.from({ length: 64 }, client))
      const busy: Array<number> = []
      for (let generation = 1; generation <= 10; generation++) {
        yield* Effect.promise(() => eventually(() => sent >= (generation * total) / 11, 15_000))
        busy.push(inFlight)
        yield* gateway.reload(configuration(generation))
        // What is sent from now on meets the new configuration.
        const answer = yield* Effect.promise(() => send(port))
        assert.strictEqual(answer.body, String(generation))
      }
      yield* Effect.promise(() => clients)
      assert.deepStrictEqual(wrong, [])
      assert.strictEqual(
        [...seen.values()].reduce((a, b) => a + b),
        total
      )
      assert.deepStrictEqual(
        [...seen.keys()].map(Number).sort((a, b) => a - b),
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
      )
      assert.isAtLeast(Math.min(...busy), 32)
    })
  )

  it.live("an edit that is wrong is told with its place and changes nothing; the next one that is right holds", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "config.yaml")
      const route = (body: string, more = "") => `gateways: { default: { port: 8080 } }
routes:
  - policies:
      directResponse: { status: 200, body: ${body} }
${more}`
      writeFileSync(file, route("one"))
      const lines: Array<string> = []
      const gateway = yield* start({ file }, { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) })
      const says = (text: string) =>
        Effect.promise(() => eventually(() => lines.some((line) => line.includes(text)), 15_000))
      const answer = Effect.promise(async () => (await send(gateway.port(8080)!)).body)
      assert.strictEqual(yield* answer, "one")
      assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 1)

      writeFileSync(file, route("two", "      urlRewrite: { path: { prefx: /x } }\n"))
      yield* says("Failed to reload config")
      const told = lines.find((line) => line.includes("Failed to reload config"))!
      assert.match(told, /\terror\tproxy\tFailed to reload config: /)
      assert.include(told, `${file}:5:29`)
      assert.include(told, "routes[0].policies.urlRewrite.path")
      assert.strictEqual(yield* answer, "one")
      assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 0)

      // Nor does YAML that is none, or a file that is gone.
      lines.length = 0
      writeFileSync(file, "routes: [")
      yield* says("Failed to reload config")
      rmSync(file)
      yield* Effect.sleep("400 millis")
      assert.strictEqual(yield* answer, "one")

      // As editors save.
      writeFileSync(`${file}~`, route("three"))
      renameSync(`${file}~`, file)
      yield* says(`loaded config from ${file}`)
      assert.strictEqual(yield* answer, "three")
      assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 1)
    })
  )

  it.live("a document that serves nothing is refused, whatever is left of it; the next whole one holds", () =>
    Effect.gen(function* () {
      const configuration = (body: string) =>
        `gateways: { default: { port: 8080 } }\nroutes: [{ policies: { directResponse: { status: 200, body: ${body} } } }]\n`
      const file = join(yield* folder, "config.yaml")
      writeFileSync(file, configuration("first"))
      const lines: Array<string> = []
      const log = (line: string) => lines.push(line)
      const env = { STATS_ADDR: "127.0.0.1:0" }
      const gateway = yield* start({ file }, { ephemeral: true, host: "127.0.0.1", env, log })
      const body = () => Effect.promise(async () => (await send(gateway.port(8080)!)).body)
      const refusals = () => lines.filter((line) => line.includes("Failed to reload config")).length
      const texts = ["", "\n", "# nothing", "---\n", "{}", "config: {}", "routes: []", "gateways: {}", "binds: []"]
      for (const [index, text] of texts.entries()) {
        writeFileSync(file, text)
        yield* Effect.promise(() => eventually(() => refusals() === index + 1))
        assert.match(lines.at(-1)!, /Failed to reload config: .*config\.yaml:1:1: there is no listener/, text)
        assert.strictEqual(yield* body(), "first", text)
        assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 0)
      }
      writeFileSync(file, configuration("second"))
      yield* Effect.promise(() => eventually(() => lines.at(-1)!.includes("loaded config")))
      assert.strictEqual(yield* body(), "second")
      assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 1)
    })
  )

  it.live("a file in another encoding is refused, as it is at the start", () =>
    Effect.gen(function* () {
      const text = (body: string) =>
        `gateways: { default: { port: 8080 } }\nroutes: [{ policies: { directResponse: { status: 200, body: ${body} } } }]\n`
      const file = join(yield* folder, "config.yaml")
      writeFileSync(file, text("first"))
      const lines: Array<string> = []
      const log = (line: string) => lines.push(line)
      const gateway = yield* start({ file }, { ephemeral: true, host: "127.0.0.1", log })
      const before = lines.length
      writeFileSync(file, text("café"), "latin1")
      yield* Effect.promise(() => eventually(() => lines.length > before))
      assert.match(lines.at(-1)!, /Failed to reload config: cannot read .*config\.yaml: it is not UTF-8/)
      assert.strictEqual((yield* Effect.promise(() => send(gateway.port(8080)!))).body, "first")
    })
  )

  it.live("a document that serves nothing is warned of at the start", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      yield* start("", { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) })
      assert.isTrue(lines.some((line) => /warn.*there is no listener/.test(line) && line.includes("serves-nothing")))
    })
  )

  it.live("a connection that is kept sees the new routes at once", () =>
    Effect.gen(function* () {
      const configuration = (body: string) =>
        `{ gateways: { default: { port: 8080 } }, routes: [{ policies: { directResponse: { status: 200, body: ${body} } } }] }`
      const gateway = yield* start(configuration("one"), { ephemeral: true, host: "127.0.0.1" })
      const kept = yield* agent(1)
      const ask = Effect.promise(async () => (await send(gateway.port(8080)!, { agent: kept })).body)
      assert.strictEqual(yield* ask, "one")
      yield* gateway.reload(configuration("two"))
      assert.strictEqual(yield* ask, "two")
    })
  )

  it.live("ports come and go; a request on one that goes is answered first", () =>
    Effect.gen(function* () {
      let release: (() => void) | undefined
      const server = yield* httpBackend((_, response) => {
        release = () => response.end("late")
      })
      const ports = (...each: ReadonlyArray<number>) =>
        `binds: [${each
          .map(
            (port) =>
              `{ port: ${port}, listeners: [{ routes: [{ matches: [{ path: { exact: /slow } }], backends: [{ host: "127.0.0.1:${portOf(server.address())}" }] }, { policies: { directResponse: { status: 200, body: "${port}" } } }] }] }`
          )
          .join(", ")}]`
      const gateway = yield* start(ports(8080), { ephemeral: true, host: "127.0.0.1" })
      const first = gateway.port(8080)!
      assert.isUndefined(gateway.port(8081))
      yield* gateway.reload(ports(8080, 8081))
      const second = gateway.port(8081)!
      assert.strictEqual((yield* Effect.promise(() => send(second))).body, "8081")
      assert.strictEqual(gateway.port(8080), first)

      const slow = send(first, { path: "/slow" })
      yield* Effect.promise(() => eventually(() => release !== undefined))
      yield* gateway.reload(ports(8081))
      const refused = Effect.flip(Effect.tryPromise(() => send(first)))
      yield* Effect.timeout(Effect.eventually(refused), "2 seconds")
      assert.isUndefined(gateway.port(8080))
      release!()
      assert.strictEqual((yield* Effect.promise(() => slow)).body, "late")
      assert.strictEqual((yield* Effect.promise(() => send(second))).body, "8081")
    })
  )

  it.live("a port that somebody else has changes nothing, and names the setting", () =>
    Effect.gen(function* () {
      const [own, further, taken] = [yield* nowhere, yield* nowhere, yield* nowhere]
      const squatter = yield* Effect.promise(
        () =>
          new Promise<Server>((resolve) => {
            const server = createServer().listen(taken, "127.0.0.1", () => resolve(server))
          })
      )
      const settings =
        "config: { adminAddr: off, statsAddr: '127.0.0.1:0', readinessAddr: off, connectionTerminationDeadline: 1s }"
      const configuration = (body: string, ...ports: ReadonlyArray<number>) => `
${settings}
binds:
${ports.map((port) => `  - { port: ${port}, listeners: [{ routes: [{ policies: { directResponse: { status: 200, body: ${body} } } }] }] }`).join("\n")}
`
      const gateway = yield* start(configuration("one", own), { host: "127.0.0.1" })
      const failed = yield* Effect.flip(gateway.reload(configuration("two", own, further, taken)))
      assert.strictEqual(failed._tag, "BindFailed")
      assert.strictEqual(
        failed.message,
        `cannot listen on 127.0.0.1:${taken}: another process uses this address; change binds[2].port`
      )
      const ask = (port: number) => Effect.result(Effect.tryPromise(() => send(port)))
      const body = (answer: Result.Result<Received, unknown>) => Result.map(answer, (got) => got.body)
      assert.deepStrictEqual(body(yield* ask(own)), Result.succeed("one"))
      // The socket that could be opened is closed again.
      assert.isTrue(Result.isFailure(yield* ask(further)))
      assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 0)

      yield* Effect.promise(() => new Promise((resolve) => squatter.close(resolve)))
      yield* gateway.reload(configuration("two", own, further, taken))
      for (const port of [own, further, taken]) assert.deepStrictEqual(body(yield* ask(port)), Result.succeed("two"))
      assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 1)
    })
  )

  it.live("what its own configuration did not change outlives a reload: buckets and connections to backends", () =>
    Effect.gen(function* () {
      const backend = yield* origin({ body: "here" })
      const configuration = (maxTokens: number, route: string) => `
gateways: { default: { port: 8080 } }
routes:
  - name: ${route}
    matches: [{ path: { pathPrefix: /limited } }]
    policies: { localRateLimit: [{ maxTokens: ${maxTokens}, tokensPerFill: 1, fillInterval: 1h }] }
    backends: [{ host: "${backend.address}" }]
  - name: open
    backends: [{ host: "${backend.address}" }]
`
      const gateway = yield* start(configuration(2, "one"), { ephemeral: true, host: "127.0.0.1" })
      const status = (path: string) => Effect.promise(async () => (await send(gateway.port(8080)!, { path })).status)
      assert.deepStrictEqual(
        [yield* status("/limited"), yield* status("/limited"), yield* status("/limited")],
        [200, 200, 429]
      )
      yield* gateway.reload(configuration(2, "renamed"))
      assert.strictEqual(yield* status("/limited"), 429)
      assert.strictEqual(yield* status("/"), 200)
      yield* gateway.reload(configuration(3, "renamed"))
      assert.deepStrictEqual([yield* status("/limited"), yield* status("/limited")], [200, 200])
      assert.strictEqual(backend.connections(), 1)
    })
  )

  it.live("a configuration that was replaced is closed when its last request is over, not before", () =>
    Effect.gen(function* () {
      const held: Array<() => void> = []
      const old = yield* httpBackend((_, response) => {
        response.write("first ")
        held.push(() => response.end("last"))
      })
      const fresh = yield* origin({ body: "fresh" })
      const to = (port: number) =>
        `{ gateways: { default: { port: 8080 } }, routes: [{ backends: [{ host: "127.0.0.1:${port}" }] }] }`
      const gateway = yield* start(to(portOf(old.address())), { ephemeral: true, host: "127.0.0.1" })
      const streamed = send(gateway.port(8080)!)
      yield* Effect.promise(() => eventually(() => held.length === 1))
      yield* gateway.reload(to(fresh.port))
      assert.strictEqual((yield* Effect.promise(() => send(gateway.port(8080)!))).body, "fresh")
      yield* Effect.sleep("250 millis")
      held[0]!()
      assert.strictEqual((yield* Effect.promise(() => streamed)).body, "first last")
      // Its connections to the backend go with it.
      yield* Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            const look = () => old.getConnections((_, open) => (open === 0 ? resolve() : setTimeout(look, 10)))
            look()
          })
      )
    })
  )

  it.live(
    "a file that the configuration names is followed; one that is wrong is told with its place and changes nothing",
    () =>
      Effect.gen(function* () {
        const at = yield* folder
        const [file, keys] = [join(at, "config.yaml"), join(at, "keys.json")]
        writeFileSync(keys, keySet("rsa-1"))
        writeFileSync(
          file,
          `gateways: { default: { port: 8080 } }
routes:
  - policies:
      jwtAuth: { mode: strict, issuer: "https://issuer.example", audiences: [headgate], jwks: { file: ${keys} } }
      directResponse: { status: 200, body: served }
`
        )
        const lines: Array<string> = []
        const gateway = yield* start({ file }, { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) })
        const says = (text: string) => Effect.promise(() => eventually(() => lines.some((line) => line.includes(text))))
        const status = (key: KeyName) =>
          Effect.promise(async () => {
            const headers = { authorization: `Bearer ${token(key, claims)}` }
            return (await send(gateway.port(8080)!, { headers })).status
          })
        yield* says(`Watching file: ${keys}`)
        assert.deepStrictEqual([yield* status("rsa-1"), yield* status("rsa-2")], [200, 401])

        writeFileSync(`${keys}.tmp`, keySet("rsa-2"))
        renameSync(`${keys}.tmp`, keys)
        yield* says(`file changed: ${keys}`)
        yield* Effect.promise(() =>
          eventually(() => lines.filter((line) => line.includes("loaded config")).length === 2)
        )
        assert.deepStrictEqual([yield* status("rsa-1"), yield* status("rsa-2")], [401, 200])

        writeFileSync(keys, "{}")
        yield* says("Failed to reload config")
        const told = lines.find((line) => line.includes("Failed to reload config"))!
        assert.include(told, `${file}:4:`)
        assert.include(told, "routes[0].policies.jwtAuth")
        assert.include(told, "expected a JSON Web Key Set")
        assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 0)
        assert.deepStrictEqual([yield* status("rsa-1"), yield* status("rsa-2")], [401, 200])

        writeFileSync(keys, keySet("rsa-1"))
        yield* Effect.promise(() =>
          eventually(() => lines.filter((line) => line.includes("loaded config")).length === 3)
        )
        assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 1)
        assert.deepStrictEqual([yield* status("rsa-1"), yield* status("rsa-2")], [200, 401])
      })
  )

  it.live("a policy that throws while it is compiled is told, and the file is followed on", () =>
    Effect.gen(function* () {
      const mistaken = () => {
        throw new Error("a mistake in the policy")
      }
      const throwing = policies.policies.map((policy) =>
        policy.name === "requestHeaderModifier" ? { ...policy, compile: mistaken } : policy
      )
      const headgate = makeHeadgate({ registry: registry(throwing, policies.orders) })
      const file = join(yield* folder, "config.yaml")
      const configuration = (body: string, policy: string) => `
gateways: { default: { port: 8080 } }
routes: [{ policies: { ${policy} directResponse: { status: 200, body: ${body} } } }]
`
      writeFileSync(file, configuration("one", ""))
      const lines: Array<string> = []
      const gateway = yield* headgate.start(
        { file },
        { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) }
      )
      writeFileSync(file, configuration("two", "requestHeaderModifier: { set: { x-a: b } },"))
      yield* Effect.promise(() => eventually(() => lines.some((line) => line.includes("Failed to reload config"))))
      assert.strictEqual(yield* metric(gateway.ports.stats, "config_synchronized"), 0)
      assert.strictEqual((yield* Effect.promise(() => send(gateway.port(8080)!))).body, "one")
      writeFileSync(file, configuration("three", ""))
      yield* Effect.promise(() => eventually(() => lines.filter((line) => line.includes("loaded config")).length === 2))
      assert.strictEqual((yield* Effect.promise(() => send(gateway.port(8080)!))).body, "three")
    })
  )
})
