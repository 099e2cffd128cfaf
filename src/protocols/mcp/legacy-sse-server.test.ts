import { assert, describe, it } from "@effect/vitest"
import { FakeTarget, type Json, serving } from "../../../test/mcp-fake-target.ts"
import { type Rehearsal, rehearse } from "../../../test/mcp-rehearsal.ts"
import { defaultLimits } from "./config.ts"

const bytes = (message: unknown) =>
  new TextEncoder().encode(typeof message === "string" ? message : JSON.stringify(message))
const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2024-11-05", capabilities: { sampling: {} } }
}

const open = (relay: Rehearsal, more: object = {}) => {
  const stream = relay.ask({ method: "GET", path: "/sse?x=1", headers: ["Authorization", "Bearer x"], ...more })
  const endpoint = /^event: endpoint\ndata: (.*)\n\n/.exec(stream.text())?.[1] ?? ""
  const post = (message: unknown, other: object = {}) =>
    relay.ask({ path: endpoint.replace("/public", ""), body: bytes(message), ...other })
  return { stream, endpoint, post }
}

describe("legacy HTTP+SSE server", () => {
  it("names an endpoint, takes messages there, and answers on the stream", async () => {
    const target = serving("t", true, { "tools/call": { ok: 1 } })
    const relay = await rehearse([target])
    const { stream, endpoint, post } = open(relay, { originalPath: "/public/sse?x=1" })
    assert.strictEqual(stream.status, 200)
    assert.strictEqual(stream.headers.get("content-type"), "text/event-stream")
    assert.match(endpoint, /^\/public\/sse\?x=1&sessionId=[-0-9a-f]{36}$/)
    const accepted = post(initialize)
    assert.strictEqual(accepted.status, 202)
    assert.strictEqual(accepted.text(), "")
    assert.strictEqual(post({ jsonrpc: "2.0", method: "notifications/initialized" }).status, 202)
    post({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x" } })
    assert.deepStrictEqual(target.methods(), ["initialize", "notifications/initialized", "tools/call"])
    const [hello, answer] = stream
      .text()
      .split("\n\n")
      .slice(1)
      .map((frame) => JSON.parse(frame.split("data: ")[1] ?? "null") as Json)
    assert.strictEqual((hello!["result"] as Json)["protocolVersion"], "2025-11-25")
    assert.deepStrictEqual(answer, { jsonrpc: "2.0", id: 1, result: { ok: 1 } })
    await relay.close()
    assert.isTrue(stream.ended())
  })

  it("listens to targets that have a stream of their own, and to shared channels from the start", async () => {
    const http = serving("h", false, {})
    const shared = serving("s", true, {})
    const relay = await rehearse([http, shared], { statefulMode: "stateless" })
    const { stream, post } = open(relay)
    post(initialize)
    const at = http.connections[0]!
    at.events.onMessage('{"jsonrpc":"2.0","id":1,"method":"ping"}', at.listening[0]?.stream, { id: "7", retry: 1 })
    shared.connections[0]?.events.onMessage(
      '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
      undefined,
      undefined
    )
    assert.match(stream.text(), /event: message\ndata: \{"jsonrpc":"2.0","id":"hg_h_n_1","method":"ping"\}\n\n/)
    assert.match(stream.text(), /list_changed/)
    post({ jsonrpc: "2.0", id: "hg_h_n_1", result: {} })
    assert.deepStrictEqual(http.last.message, { jsonrpc: "2.0", id: 1, result: {} })
    await relay.close()
  })

  it("ends the session when the client stops reading, at the targets as well", async () => {
    const target = serving("t", false, {})
    const relay = await rehearse([target])
    const { stream, post } = open(relay)
    post(initialize)
    assert.strictEqual(relay.relay.sessions(), 1)
    stream.cancel()
    assert.strictEqual(relay.relay.sessions(), 0)
    assert.deepStrictEqual(target.connections[0]?.farewell, ["authorization", "Bearer x"])
    assert.strictEqual(post(initialize).status, 404)
    await relay.close()
    assert.strictEqual(relay.clock.timers, 0)
  })

  it("refuses what it cannot serve", async () => {
    const relay = await rehearse([serving("t", true, {})])
    const { stream, post } = open(relay)
    const table = [
      [relay.ask({ method: "DELETE", path: "/sse" }), 405, "mcp: method not allowed; must be GET or POST"],
      [relay.ask({ path: "/sse", body: bytes(initialize) }), 422, "mcp: failed to process session_id query parameter"],
      [
        relay.ask({ path: "/sse?sessionId=", body: bytes(initialize) }),
        422,
        "mcp: failed to process session_id query parameter"
      ],
      [relay.ask({ path: "/sse?sessionId=other", body: bytes(initialize) }), 404, "mcp: session not found"],
      [post(initialize, { principal: "mallory" }), 404, "mcp: session not found"],
      [post(initialize, { listener: "other" }), 404, "mcp: session not found"],
      [post("{"), 400, "mcp: fail to deserialize request body: not a JSON object"]
    ] as const
    for (const [response, status, text] of table) {
      assert.strictEqual(response.status, status)
      assert.strictEqual(response.text(), text)
    }
    post({ jsonrpc: "2.0", id: 5, method: "tools/list" })
    assert.match(stream.text(), /"id":5,"error"/)
    // Other paths that begin alike are not this transport.
    assert.strictEqual(
      relay.ask({ method: "PUT", path: "/sse/x" }).text(),
      "mcp: method not allowed; must be GET, POST, or DELETE"
    )
    await relay.close()
  })

  it("failures of targets are messages of the stream", async () => {
    const target = serving("t", true, {})
    const relay = await rehearse([target])
    const { stream, post } = open(relay)
    post(initialize)
    const denied = post(
      { jsonrpc: "2.0", id: 6, method: "tools/call", params: { name: "x" } },
      { authorize: () => false }
    )
    assert.strictEqual(denied.status, 202)
    assert.match(stream.text(), /"id":6,"error":\{"code":-32602,"message":"Unknown tool: x"\}/)
    assert.strictEqual(denied.facts.errorCode, -32602)
    target.connections[0]?.events.onDeath({ _tag: "TargetBroken", status: 500, message: "gone" })
    assert.isTrue(stream.ended())
    assert.strictEqual(relay.relay.sessions(), 0)
    await relay.close()
  })

  it("names its own session, whatever session the client's path names", async () => {
    const relay = await rehearse([serving("t", true, {})])
    const victim = open(relay)
    const [, foreign] = victim.endpoint.split("sessionId=")
    const table = [
      ["/sse", "/sse?"],
      ["/sse?", "/sse?"],
      [`/sse?sessionId=${foreign}`, "/sse?"],
      [`/sse?session%49d=${foreign}&a=%31&&b`, "/sse?a=%31&&b&"],
      [`/sse?a=1?b&sessionId=${foreign}&sessionId`, "/sse?a=1?b&"],
      [`/sse?sessionIds=1&x=sessionId=2`, "/sse?sessionIds=1&x=sessionId=2&"]
    ] as const
    for (const [path, kept] of table) {
      const { stream, endpoint, post } = open(relay, { path })
      const [before, id, ...more] = endpoint.split(/(?<=[?&])sessionId=/)
      assert.deepStrictEqual([before, more], [kept, []], path)
      assert.notStrictEqual(id, foreign)
      assert.strictEqual(post(initialize).status, 202)
      assert.match(stream.text(), /"id":0,"result"/, path)
    }
    assert.notMatch(victim.stream.text(), /"result"/)
    await relay.close()
  })

  it("refuses a message that names two sessions", async () => {
    const relay = await rehearse([serving("t", true, {})])
    const { endpoint } = open(relay)
    const named = endpoint.split("sessionId=")[1]
    const body = bytes(initialize)
    for (const path of [`${endpoint}&sessionId=other`, `/sse?sessionId=other&sessionId=${named}`]) {
      const response = relay.ask({ path, body })
      assert.strictEqual(response.status, 422)
      assert.strictEqual(response.text(), "mcp: failed to process session_id query parameter")
    }
    assert.strictEqual(relay.ask({ path: `${endpoint}&sessionId=${named}`, body }).status, 202)
    await relay.close()
  })

  it("takes nothing before a handshake: no target is started for it", async () => {
    const target = new FakeTarget("t", true)
    const relay = await rehearse([target])
    const { post } = open(relay)
    const oneWay = [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } },
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 1, error: { code: 1, message: "no" } }
    ]
    for (const message of oneWay) {
      const refused = post(message)
      assert.strictEqual(refused.status, 400)
      assert.strictEqual(refused.text(), "mcp: session header is required for non-initialize requests")
    }
    post({ jsonrpc: "2.0", id: 2, method: "tools/list" })
    assert.deepStrictEqual(target.connections, [])
    post(initialize)
    for (const message of oneWay) assert.strictEqual(post(message).status, 202)
    assert.strictEqual(target.heard.length, 5)
    await relay.close()
  })

  it("keeps no more messages on their way than requests may be open", async () => {
    const target = serving("t", true, {})
    const relay = await rehearse([target], { limits: { ...defaultLimits, pendingRequests: 3 } })
    const { stream, post } = open(relay)
    post(initialize)
    target.takes = false
    const notification = { jsonrpc: "2.0", method: "notifications/roots/list_changed" }
    const facts = [1, 2, 3, 4, 5].map(() => post(notification).facts)
    assert.strictEqual(target.heard.length, 4)
    assert.deepStrictEqual(
      facts.map(({ calls }) => calls.length),
      [1, 1, 1, 0, 0]
    )
    target.connections[0]?.events.onEnd(target.last.stream, undefined)
    post(notification)
    post(notification)
    assert.strictEqual(target.heard.length, 5)
    post({ jsonrpc: "2.0", id: 1, method: "ping" })
    assert.match(stream.text(), /"id":1,"error":\{"code":-32601/)
    await relay.close()
  })

  it("begins once, however many handshakes come, and again when one has failed", async () => {
    const target = new FakeTarget("t", false)
    const relay = await rehearse([target])
    const { stream, post } = open(relay)
    for (let id = 0; id < 50; id++) post({ ...initialize, id })
    assert.deepStrictEqual(target.methods(), ["initialize"])
    const refused = stream.text().match(/"id":\d+,"error":\{"code":-32603,"message":"[^"]*"/g) ?? []
    assert.strictEqual(refused.length, 49)
    assert.strictEqual(
      refused[0],
      '"id":1,"error":{"code":-32603,"message":"failed to send message: the session is initialized already"'
    )
    target.refuse(target.last, -32602, "unsupported version")
    post({ ...initialize, id: "again" })
    post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "again" } })
    post({ ...initialize, id: "last" })
    target.answer(target.last, { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} })
    post({ ...initialize, id: "late" })
    assert.match(stream.text(), /"id":"last","result"/)
    assert.match(stream.text(), /"id":"late","error"/)
    assert.strictEqual(target.connections[0]?.listening.length, 1)
    await relay.close()
  })
})
