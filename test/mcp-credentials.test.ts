/** What a client shows to be let in stays with the gateway: no MCP server gets it, unless the configuration leaves it there. */
import { createServer, type IncomingHttpHeaders } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { portOf } from "./http/edge.ts"
import { RawClient } from "./http/raw-client.ts"
import { keySet, token } from "./tokens.ts"

/** A server with one tool that keeps the headers it got. */
const recording = Effect.acquireRelease(
  Effect.promise(async () => {
    const received: Array<IncomingHttpHeaders> = []
    const server = createServer((request, response) => {
      received.push(request.headers)
      let text = ""
      request.on("data", (chunk) => {
        text += chunk
      })
      request.on("end", () => {
        const message = text === "" ? {} : JSON.parse(text)
        if (message.id === undefined) {
          response.writeHead(202).end()
          return
        }
        const result =
          message.method === "initialize"
            ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "r", version: "1" } }
            : { tools: [] }
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return { received, port: portOf(server.address()), close: () => server.closeAllConnections() ?? server.close() }
  }),
  ({ close }) => Effect.sync(close)
)

const shown = {
  authorization: "Bearer planted-1",
  cookie: "session=planted-2",
  "x-api-key": "planted-3",
  "api-key": "planted-4",
  "x-goog-api-key": "planted-5",
  "x-own": "planted-6",
  "x-other": "passes"
}

/** The headers of the last request that a target got, of those that the client sent. */
const reached = ({ received }: { readonly received: ReadonlyArray<IncomingHttpHeaders> }) =>
  Object.keys(shown).filter((name) => received.at(-1)?.[name] !== undefined)

const listed = (policies: string, targets: ReadonlyArray<number>, headers: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const gateway = yield* start(
      `
gateways: { default: { port: 8080 } }
routes:
  - policies: { ${policies} }
    backends:
      - mcp:
          statefulMode: stateless
          targets: [${targets.map((port, i) => `{ name: t${i}, mcp: { host: "http://127.0.0.1:${port}/mcp" } }`)}]
`,
      { ephemeral: true, host: "127.0.0.1" }
    )
    const answer = yield* Effect.promise(() =>
      send(gateway.port(8080)!, {
        method: "POST",
        path: "/mcp",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })
      })
    )
    assert.strictEqual(answer.status, 200, answer.body)
  })

describe("credentials of a client", () => {
  it.live("reach none of several targets, whether the route asks for one or not", () =>
    Effect.gen(function* () {
      const one = yield* recording
      const two = yield* recording
      const both = [one.port, two.port]
      yield* listed("", both, shown)
      assert.deepStrictEqual(
        [reached(one), reached(two)],
        [
          ["x-own", "x-other"],
          ["x-own", "x-other"]
        ]
      )
      const own = "location: { header: { name: X-Own } }"
      for (const mode of ["permissive", "optional", "strict"]) {
        yield* listed(`apiKey: { mode: ${mode}, ${own}, keys: [{ key: planted-6 }] }`, both, shown)
        assert.deepStrictEqual([reached(one), reached(two)], [["x-other"], ["x-other"]], mode)
      }
      yield* listed(`apiKey: { mode: permissive, ${own}, keys: [{ key: another }] }`, both, shown)
      assert.deepStrictEqual([reached(one), reached(two)], [["x-other"], ["x-other"]], "a key that is not known")
    })
  )

  it.live("reach a single target only where nobody else asks for them", () =>
    Effect.gen(function* () {
      const one = yield* recording
      yield* listed("", [one.port], shown)
      assert.deepStrictEqual(reached(one), Object.keys(shown))
      yield* listed("apiKey: { location: { header: { name: x-own } }, keys: [{ key: planted-6 }] }", [one.port], shown)
      assert.deepStrictEqual(reached(one), ["x-other"])
    })
  )

  it.live("make room for those of the proxy, which every target gets", () =>
    Effect.gen(function* () {
      const one = yield* recording
      const two = yield* recording
      const sent = ({ received }: typeof one) => {
        const { authorization, cookie, "x-own": own } = received.at(-1) ?? {}
        return [authorization, cookie, own]
      }
      for (const targets of [[one.port, two.port], [one.port]]) {
        yield* listed("backendAuth: { key: of-the-proxy }, apiKey: { keys: [{ key: planted-1 }] }", targets, shown)
        assert.deepStrictEqual(sent(one), ["Bearer of-the-proxy", undefined, "planted-6"])
        const cookie = "backendAuth: { key: { value: baked, location: { cookie: { name: session } } } }, "
        yield* listed(`${cookie} apiKey: { keys: [{ key: planted-1 }] }`, targets, shown)
        assert.deepStrictEqual(sent(one), [undefined, "session=baked", "planted-6"])
        const own = "backendAuth: { credentials: [{ location: { header: { name: X-Own } }, key: of-the-proxy }] }, "
        yield* listed(`${own} apiKey: { keys: [{ key: planted-1 }] }`, targets, shown)
        assert.deepStrictEqual(sent(one), [undefined, undefined, "of-the-proxy"])
        if (targets.length > 1) assert.deepStrictEqual(sent(two), sent(one))
      }
    })
  )

  it.live("are passed on to every target where the configuration says so", () =>
    Effect.gen(function* () {
      const one = yield* recording
      const two = yield* recording
      const signed = token("ec-256", { iss: "https://issuer.example", exp: Date.now() / 1000 + 60 })
      const policy = `jwtAuth: { issuer: "https://issuer.example", jwks: '${keySet("ec-256")}' }, backendAuth: { passthrough: {} }`
      yield* listed(policy, [one.port, two.port], { ...shown, authorization: `Bearer ${signed}` })
      for (const { received } of [one, two])
        assert.deepStrictEqual(
          [received.at(-1)?.authorization, received.at(-1)?.cookie, received.at(-1)?.["x-api-key"]],
          [`Bearer ${signed}`, undefined, undefined]
        )
    })
  )

  it.live("reach a single target where the configuration leaves them in the request", () =>
    Effect.gen(function* () {
      const one = yield* recording
      const two = yield* recording
      const signed = token("ec-256", {
        iss: "https://issuer.example",
        aud: "a",
        sub: "me",
        exp: Date.now() / 1000 + 60
      })
      const policy = `jwtAuth: { preserveToken: true, issuer: "https://issuer.example", audiences: [a], jwks: '${keySet("ec-256")}' }`
      const headers = { ...shown, authorization: `Bearer ${signed}` }
      yield* listed(policy, [one.port], headers)
      assert.deepStrictEqual(reached(one), ["authorization", "x-own", "x-other"])
      yield* listed(policy, [one.port, two.port], headers)
      assert.deepStrictEqual(
        [reached(one), reached(two)],
        [
          ["x-own", "x-other"],
          ["x-own", "x-other"]
        ]
      )
    })
  )
})

describe("the token of a client at one target", () => {
  const issuer = "https://issuer.example"
  const claims = { iss: issuer, exp: Date.now() / 1000 + 3600 }
  const message = (method: string, params: object = {}) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
  const description =
    '{ openapi: 3.0.0, info: { title: i, version: "1" }, paths: { /own: { get: { operationId: own, responses: {} } } } }'

  /** What each of the servers was last shown. */
  const last = (servers: ReadonlyArray<{ readonly received: ReadonlyArray<IncomingHttpHeaders> }>) =>
    servers.map(({ received }) => received.at(-1)?.authorization)

  const started = (targets: string, policies: string, rest = "") =>
    Effect.map(
      start(
        `
gateways: { default: { port: 8080 } }
routes:
  - policies: { jwtAuth: { mode: optional, issuer: "${issuer}", jwks: '${keySet("ec-256")}' } }
    backends: [{ mcp: { targets: [${targets}] }, policies: { ${policies} } }]
${rest}`,
        { ephemeral: true, host: "127.0.0.1" }
      ),
      (gateway) => (body: string | undefined, signed: string | undefined, session?: string) =>
        Effect.promise(() =>
          send(gateway.port(8080)!, {
            method: body === undefined ? "DELETE" : "POST",
            path: "/mcp",
            headers: {
              "content-type": "application/json",
              accept: "application/json, text/event-stream",
              ...(signed === undefined ? {} : { authorization: `Bearer ${signed}` }),
              ...(session === undefined ? {} : { "mcp-session-id": session })
            },
            ...(body === undefined ? {} : { body })
          })
        )
    )
  const initialize = message("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: {} })

  it.live("is that of the request which a message is sent for, and reaches no other target", () =>
    Effect.gen(function* () {
      const [own, named, others] = [yield* recording, yield* recording, yield* recording]
      const at = ({ port }: typeof own) => `http://127.0.0.1:${port}/mcp`
      const ask = yield* started(
        `{ name: a, mcp: { host: "${at(own)}" }, policies: { backendAuth: { passthrough: {} } } },
         { name: b, mcp: { backend: /named, path: /mcp } },
         { name: c, mcp: { host: "${at(others)}" } }`,
        "backendAuth: { key: of-the-proxy }",
        `backends: [{ name: named, host: "127.0.0.1:${named.port}", policies: { backendAuth: { passthrough: {} } } }]`
      )
      const [first, second] = [1, 2].map((jti) => token("ec-256", { ...claims, sub: "me", jti }))
      const begun = yield* ask(initialize, first)
      const session = String(begun.headers["mcp-session-id"])
      assert.deepStrictEqual(last([own, named, others]), [`Bearer ${first}`, `Bearer ${first}`, "Bearer of-the-proxy"])
      // Tokens are renewed while a session goes on.
      assert.strictEqual((yield* ask(message("tools/list"), second, session)).status, 200)
      assert.deepStrictEqual(last([own, named, others]), [
        `Bearer ${second}`,
        `Bearer ${second}`,
        "Bearer of-the-proxy"
      ])
      const stranger = token("ec-256", { ...claims, sub: "somebody else" })
      for (const signed of [stranger, undefined]) {
        const before = own.received.length
        assert.strictEqual((yield* ask(message("tools/list"), signed, session)).status, 404)
        assert.strictEqual(own.received.length, before)
      }
      // A session of nobody is nobody's at the target, either.
      const anonymous = String((yield* ask(initialize, undefined)).headers["mcp-session-id"])
      assert.strictEqual((yield* ask(message("tools/list"), undefined, anonymous)).status, 200)
      assert.deepStrictEqual(last([own, named, others]), [undefined, undefined, "Bearer of-the-proxy"])
    })
  )

  it.live("is shown where its policy says, and with what an interface is asked", () =>
    Effect.gen(function* () {
      const [own, described] = [yield* recording, yield* recording]
      const ask = yield* started(
        `{ name: a, mcp: { host: "http://127.0.0.1:${own.port}/mcp" }, policies: { backendAuth: { passthrough: { location: { header: { name: x-own, prefix: "token " } } } } } },
         { name: b, openapi: { host: "127.0.0.1:${described.port}", schema: '${description}' }, policies: { backendAuth: { passthrough: {} } } }`,
        ""
      )
      const signed = token("ec-256", { ...claims, sub: "me" })
      const session = String((yield* ask(initialize, signed)).headers["mcp-session-id"])
      const { authorization, "x-own": shownAs } = own.received.at(-1) ?? {}
      assert.deepStrictEqual([authorization, shownAs], [undefined, `token ${signed}`])
      assert.strictEqual(
        (yield* ask(message("tools/call", { name: "b_own", arguments: {} }), signed, session)).status,
        200
      )
      assert.deepStrictEqual(last([described]), [`Bearer ${signed}`])
    })
  )

  it.live("goes nowhere when the configuration that wanted it there is gone before it is sent", () =>
    Effect.gen(function* () {
      const own = yield* recording
      const text = (policies: string) => `
gateways: { default: { port: 8080 } }
routes:
  - policies: { jwtAuth: { issuer: "${issuer}", jwks: '${keySet("ec-256")}' } }
    backends: [{ mcp: { targets: [{ name: a, mcp: { host: "http://127.0.0.1:${own.port}/mcp" }, policies: { ${policies} } }] } }]`
      const gateway = yield* start(text("backendAuth: { passthrough: {} }"), { ephemeral: true, host: "127.0.0.1" })
      const port = gateway.port(8080)!
      const head = {
        host: "localhost",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${token("ec-256", { ...claims, sub: "me" })}`
      }
      const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
      const early = new RawClient(port)
      early.send(
        `POST /mcp HTTP/1.1\r\n${lines.join("")}expect: 100-continue\r\ncontent-length: ${initialize.length}\r\n\r\n`
      )
      yield* Effect.promise(() => early.until(({ text }) => text.includes("100 Continue")))
      yield* gateway.reload(text("http: { requestTimeout: 1m }"))
      const later = yield* Effect.promise(() =>
        send(port, { method: "POST", path: "/mcp", headers: head, body: initialize })
      )
      assert.strictEqual(later.status, 200)
      early.send(initialize)
      const answered = yield* Effect.promise(() => early.until(({ text }) => text.includes("mcp-session-id")))
      early.socket.destroy()
      assert.include(answered.text, " 200 OK")
      assert.deepStrictEqual(
        own.received.map(({ authorization }) => authorization),
        [undefined, undefined]
      )
    })
  )
})
