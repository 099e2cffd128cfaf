/** `timeout.requestTimeout` on a running gateway: it bounds whatever a request waits for until its answer begins. */
import { buffer } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { start } from "../../src/main/library.ts"
import { watch } from "../../src/main/trace.ts"
import { send } from "../client.ts"
import { httpBackend, portOf } from "../http/edge.ts"
import { header, RawClient } from "../http/raw-client.ts"
import { origin } from "../origin.ts"

const serverInfo = { name: "slow", version: "1" }
const limited = "timeout: { requestTimeout: 150ms }"

const started = (configuration: string) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const gateway = yield* start(configuration, { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) })
    return { gateway, port: gateway.port(8080)!, requests: () => lines.filter((line) => line.includes("\trequest ")) }
  })

const routeTo = (port: number, policies: string) => `
gateways: { default: { port: 8080 } }
routes:
  - policies: { ${policies} }
    backends: [{ host: "127.0.0.1:${port}" }]
`

describe("the time of a request is up", () => {
  it.live("while its client trickles a body that is buffered: the answer says so, and ends the connection", () =>
    Effect.gen(function* () {
      const backend = yield* origin({ body: "never" })
      const { port, requests } = yield* started(routeTo(backend.port, `${limited}, buffer: { request: {} }`))
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
      const trickle = setInterval(() => client.send("1\r\nx\r\n"), 20)
      const [answer] = yield* Effect.promise(() => client.responses(1))
      assert.deepStrictEqual([answer?.status, answer?.body.toString()], [504, "request timeout"])
      assert.strictEqual(header(answer, "connection"), "close")
      yield* Effect.promise(() => client.until(({ ended, closed }) => ended || closed))
      clearInterval(trickle)
      client.socket.destroy()
      assert.deepStrictEqual(backend.received, [])
      assert.match(requests()[0] ?? "", /http\.status=504 error="request timeout" reason=Timeout/)
    })
  )

  it.live("while its client trickles a body that goes to a backend", () =>
    Effect.gen(function* () {
      let cut = false
      const backend = yield* httpBackend((request) => {
        request.resume().on("error", () => {
          cut = true
        })
      })
      const { port } = yield* started(routeTo(portOf(backend.address()), limited))
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
      const trickle = setInterval(() => client.send("1\r\nx\r\n"), 20)
      const [answer] = yield* Effect.promise(() => client.responses(1))
      assert.deepStrictEqual([answer?.status, answer?.body.toString()], [504, "request timeout"])
      assert.strictEqual(header(answer, "connection"), "close")
      yield* Effect.promise(() => client.until(() => cut))
      clearInterval(trickle)
      client.socket.destroy()
    })
  )

  it.live("while the body of an answer is buffered", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((_, response) => {
        response.write("first")
      })
      const { port } = yield* started(routeTo(portOf(backend.address()), `${limited}, buffer: { response: {} }`))
      const { status, body } = yield* Effect.promise(() => send(port))
      assert.deepStrictEqual([status, body], [504, "request timeout"])
    })
  )

  it.live("while a tool of an MCP server hangs", () =>
    Effect.gen(function* () {
      let called = 0
      const server = yield* httpBackend(async (request, response) => {
        const { id, method, params } = JSON.parse((await buffer(request)).toString() || "{}")
        if (method === "tools/call") {
          called++
          return
        }
        const result = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
        response.writeHead(id === undefined ? 202 : 200, { "content-type": "application/json" })
        response.end(id === undefined ? "" : JSON.stringify({ jsonrpc: "2.0", id, result }))
      })
      const { port, requests } = yield* started(`
mcp:
  port: 8080
  policies: { timeout: { requestTimeout: 2s } }
  targets: [{ name: slow, mcp: { host: "http://127.0.0.1:${portOf(server.address())}/mcp" } }]
`)
      const post = (body: object, session: Readonly<Record<string, string>>) =>
        Effect.promise(() =>
          send(port, {
            method: "POST",
            path: "/mcp",
            headers: {
              accept: "application/json, text/event-stream",
              "content-type": "application/json",
              ...session
            },
            body: JSON.stringify({ jsonrpc: "2.0", ...body })
          })
        )
      const protocolVersion = "2025-06-18"
      const params = { protocolVersion, capabilities: {}, clientInfo: serverInfo }
      const begun = yield* post({ id: 1, method: "initialize", params }, {})
      assert.strictEqual(begun.status, 200, begun.body)
      const session = { "mcp-session-id": String(begun.headers["mcp-session-id"]) }
      const call = { id: 2, method: "tools/call", params: { name: "hang", arguments: {} } }
      const { status, body } = yield* post(call, session)
      assert.strictEqual(called, 1)
      assert.strictEqual(status, 504)
      assert.include(body, "request timeout")
      assert.match(requests().at(-1) ?? "", /http\.status=504 .*reason=Timeout/)
    })
  )

  it.live("while a guard webhook hangs, even one that fails open; the trace names it", () =>
    Effect.gen(function* () {
      const webhook = yield* origin({ silent: true })
      const { gateway, port } = yield* started(`
llm:
  port: 8080
  models: [{ name: "*", provider: mock }]
  guardrails: { request: [{ webhook: { target: { host: "127.0.0.1:${webhook.port}" }, failureMode: failOpen } }] }
policies:
  - name: { name: limit, namespace: default }
    target: { route: { name: "llm:request", namespace: internal } }
    policy: { ${limited} }
`)
      const stream = yield* watch(gateway)
      const { status, body } = yield* Effect.promise(() =>
        send(port, {
          method: "POST",
          path: "/v1/chat/completions",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] })
        })
      )
      assert.strictEqual(status, 504)
      assert.include(body, "request timeout")
      const messages = (yield* Stream.runCollect(stream)).map(({ message }) => message)
      const waited = messages.find((message) => message.type === "policy" && message.node === "guardRequest")
      assert.deepInclude(waited, {
        result: { type: "apply", details: "failed: request timeout", snapshot: null }
      })
      assert.deepInclude(messages.at(-1), { type: "requestFinished", status: 504, error: "request timeout" })
    }).pipe(Effect.scoped)
  )

  it.live("once its answer has begun nothing cuts it: a stream may last", () =>
    Effect.gen(function* () {
      let end = () => {}
      const backend = yield* httpBackend((_, response) => {
        response.write("first ")
        end = () => response.end("last")
      })
      const { port } = yield* started(routeTo(portOf(backend.address()), "timeout: { requestTimeout: 1s }"))
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(({ text }) => text.includes("first")))
      yield* Effect.sleep("1200 millis")
      end()
      const [answer] = yield* Effect.promise(() => client.responses(1))
      assert.strictEqual(answer?.body.toString(), "first last")
      client.socket.destroy()
    })
  )
})
