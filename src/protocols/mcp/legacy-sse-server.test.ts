import { assert, describe, it } from "@effect/vitest"
import { type Json, type Rehearsal, rehearse, serving } from "./rehearsal.ts"

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
})
