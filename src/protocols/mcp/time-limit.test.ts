import { assert, describe, it } from "@effect/vitest"
import { FakeTarget, type Json, serving } from "../../../test/mcp-fake-target.ts"
import { posting, rehearse } from "../../../test/mcp-rehearsal.ts"
import type { McpObserver, McpRequest, McpTimeLimit, McpUpstreamCall } from "./contract.ts"

const timeLimit: McpTimeLimit = { millis: 1_000, message: () => "request timeout" }
const limited = (message: unknown, headers: Readonly<Record<string, string>> = {}): Partial<McpRequest> => ({
  ...posting(message, headers),
  timeLimit
})

const call = (id: unknown, name = "x", more: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: {}, ...more }
})

/** Begins sessions and is silent about everything else. */
const silent = (name: string, shared: boolean): FakeTarget => {
  const target = new FakeTarget(name, shared)
  target.hear = (heard) => {
    if (heard.method === "initialize")
      target.answer(heard, { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name, version: "1" } })
  }
  return target
}

const cancellations = (target: FakeTarget) =>
  target.heard.filter(({ method }) => method === "notifications/cancelled").map(({ message }) => message["params"])

const late = (id: unknown, message = "request timeout") => ({ jsonrpc: "2.0", id, error: { code: -32603, message } })

const modern = (message: Json) => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {}
  }
  const params = { ...(message["params"] as Json), _meta: meta }
  const name = String(params["name" as never])
  return [
    { ...message, params },
    { "mcp-protocol-version": "2026-07-28", "mcp-method": String(message["method"]), "mcp-name": name }
  ] as const
}

describe("a call that is not answered in time", () => {
  for (const shared of [true, false])
    it(`fails with its id and is cancelled at a target ${shared ? "on a shared channel" : "with streams"}`, async () => {
      const t = silent("t", shared)
      const relay = await rehearse([t])
      const session = { "mcp-session-id": relay.initialize() }
      const begun = relay.begin(limited(call("the-id"), session))
      const asked = t.last
      relay.clock.advance(999)
      assert.isUndefined(begun.response())
      relay.clock.advance(1)
      const response = begun.response()!
      assert.strictEqual(response.status, 504)
      assert.strictEqual(response.headers.get("content-type"), "application/json")
      assert.deepStrictEqual(JSON.parse(response.text()), late("the-id"))
      assert.deepStrictEqual(cancellations(t), [{ requestId: "the-id", reason: "request timeout" }])
      if (!shared) assert.deepStrictEqual(t.connections[0]!.abandoned, [asked.stream])
      const { calls, errorCode, errorMessage } = response.facts
      assert.deepStrictEqual([errorCode, errorMessage], [-32603, "request timeout"])
      assert.deepStrictEqual(
        calls.map(({ method, endedAt, failure }) => [method, endedAt, failure]),
        [
          ["tools/call", relay.clock.now(), { message: "request timeout" }],
          ["notifications/cancelled", relay.clock.now(), undefined]
        ]
      )
      // Too late for anybody.
      t.answer(asked, {})
      assert.strictEqual(relay.warnings.length, shared ? 1 : 0)
      // The id is free, and the session of use.
      t.hear = (heard) => t.answer(heard, { content: [] })
      assert.deepStrictEqual(relay.post(call("the-id"), session).messages()[0]!["result"], { content: [] })
      assert.strictEqual(relay.relay.sessions(), 1)
      await relay.close()
    })

  it("keeps every digit of its id", async () => {
    const t = silent("t", true)
    const relay = await rehearse([t])
    const session = { "mcp-session-id": relay.initialize() }
    const id = "12345678901234567890"
    const begun = relay.begin(limited(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`, session))
    relay.clock.advance(1_000)
    assert.include(begun.response()!.text(), `"id":${id},`)
    assert.include(t.last.text, `"requestId":${id},`)
    await relay.close()
  })

  it("is told in the words of its limit", async () => {
    const relay = await rehearse([silent("t", true)])
    const session = { "mcp-session-id": relay.initialize() }
    const own = { ...posting(call(1), session), timeLimit: { millis: 5, message: () => "upstream call timeout" } }
    const begun = relay.begin(own)
    relay.clock.advance(5)
    assert.deepStrictEqual(JSON.parse(begun.response()!.text()), late(1, "upstream call timeout"))
    await relay.close()
  })

  it("leaves the other calls of its session alone", async () => {
    const t = silent("t", true)
    const relay = await rehearse([t])
    const session = { "mcp-session-id": relay.initialize() }
    const other = relay.begin(posting(call(1), session))
    const asked = t.last
    relay.begin(limited(call(2), session))
    relay.clock.advance(1_000)
    assert.deepStrictEqual(cancellations(t), [{ requestId: 2, reason: "request timeout" }])
    assert.isUndefined(other.response())
    t.answer(asked, {})
    assert.strictEqual(other.response()!.status, 200)
    await relay.close()
  })

  it("is not cancelled when its client leaves before", async () => {
    const t = silent("t", false)
    const relay = await rehearse([t])
    const begun = relay.begin(limited(call(1), { "mcp-session-id": relay.initialize() }))
    begun.cancel()
    await new Promise((resolve) => setTimeout(resolve, 0))
    relay.clock.advance(5_000)
    assert.deepStrictEqual(cancellations(t), [])
    assert.deepStrictEqual(t.connections[0]!.abandoned, [])
    await relay.close()
  })

  it("is not limited once its answer has begun", async () => {
    const t = silent("t", false)
    const relay = await rehearse([t])
    const begun = relay.begin(limited(call(1), { "mcp-session-id": relay.initialize() }))
    const asked = t.last
    t.say(asked, '{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
    relay.clock.advance(60_000)
    assert.isFalse(begun.response()!.ended())
    assert.deepStrictEqual(cancellations(t), [])
    t.answer(asked, { content: [] })
    assert.deepStrictEqual(begun.response()!.messages().at(-1)!["result"], { content: [] })
    assert.isTrue(begun.response()!.ended())
    await relay.close()
  })

  it("is limited although the keep-alive has sent a head: the error is an event then", async () => {
    const t = silent("t", true)
    const relay = await rehearse([t], { keepAliveMillis: 300 })
    const begun = relay.begin(limited(call(1), { "mcp-session-id": relay.initialize() }))
    relay.clock.advance(999)
    assert.strictEqual(begun.response()!.status, 200)
    relay.clock.advance(1)
    assert.deepStrictEqual(begun.response()!.messages(), [late(1)])
    assert.isTrue(begun.response()!.ended())
    assert.deepStrictEqual(cancellations(t), [{ requestId: 1, reason: "request timeout" }])
    await relay.close()
  })

  it("leaves no timer behind when it is answered in time", async () => {
    const t = serving("t", true, { ping: {} })
    const relay = await rehearse([t], { keepAliveMillis: 0 }, { principal: "alice" })
    const session = { "mcp-session-id": relay.initialize() }
    const before = relay.clock.timers
    relay.begin(limited({ jsonrpc: "2.0", id: 1, method: "ping" }, session))
    assert.strictEqual(relay.clock.timers, before)
    await relay.close()
  })

  it("each request of a batch fails by itself", async () => {
    const t = silent("t", true)
    const relay = await rehearse([t])
    const session = { "mcp-session-id": relay.initialize(), "mcp-protocol-version": "2025-03-26" }
    const begun = relay.begin(limited([call(1), call(2)], session))
    relay.clock.advance(1_000)
    assert.deepStrictEqual(begun.response()!.messages(), [late(1), late(2)])
    assert.isTrue(begun.response()!.ended())
    assert.deepStrictEqual(cancellations(t), [
      { requestId: 1, reason: "request timeout" },
      { requestId: 2, reason: "request timeout" }
    ])
    await relay.close()
  })
})

describe("a handshake that is not answered in time", () => {
  for (const statefulMode of ["stateful", "stateless"] as const)
    it(`fails, is not cancelled, and leaves nothing behind (${statefulMode})`, async () => {
      const t = new FakeTarget("t", false)
      const relay = await rehearse([t], { statefulMode })
      const begun = relay.begin(
        limited({
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } }
        })
      )
      relay.clock.advance(1_000)
      assert.strictEqual(begun.response()!.status, 504)
      assert.deepStrictEqual(JSON.parse(begun.response()!.text()), late(1))
      assert.deepStrictEqual(t.methods(), ["initialize"])
      assert.isTrue(t.connections[0]!.closed)
      assert.strictEqual(relay.relay.sessions(), 0)
      await relay.close()
    })

  it("fails the request that waits for it", async () => {
    const t = new FakeTarget("t", true)
    const relay = await rehearse([t], { statefulMode: "stateless" })
    const finished: Array<McpUpstreamCall> = []
    const observer: McpObserver = { started: () => undefined, finished: (call) => finished.push(call) }
    const begun = relay.begin({ ...limited(call(1)), observer })
    relay.clock.advance(1_000)
    assert.deepStrictEqual(JSON.parse(begun.response()!.text()), late(1))
    assert.deepStrictEqual(t.methods(), ["initialize"])
    assert.deepStrictEqual(
      finished.map(({ method, failure }) => [method, failure]),
      [["initialize", { message: "request timeout" }]]
    )
    assert.isTrue(t.connections[0]!.closed)
    await relay.close()
  })
})

describe("a request without a session that is not answered in time", () => {
  it("is cancelled, and its connection closed", async () => {
    const t = silent("t", false)
    const relay = await rehearse([t], { statefulMode: "stateless" })
    const begun = relay.begin(limited(call(1)))
    relay.clock.advance(1_000)
    assert.deepStrictEqual(JSON.parse(begun.response()!.text()), late(1))
    assert.deepStrictEqual(cancellations(t), [{ requestId: 1, reason: "request timeout" }])
    assert.isTrue(t.connections[0]!.closed)
    await relay.close()
  })

  for (const shared of [true, false])
    it(`is cancelled as its new protocol has it, ${shared ? "by a message on a shared channel" : "by closing its stream"}`, async () => {
      const t = new FakeTarget("t", shared)
      const relay = await rehearse([t])
      const begun = relay.begin(limited(...modern(call(1))))
      const asked = t.last
      relay.clock.advance(1_000)
      assert.deepStrictEqual(JSON.parse(begun.response()!.text()), late(1))
      assert.deepStrictEqual(cancellations(t), shared ? [{ requestId: 1, reason: "request timeout" }] : [])
      assert.include(t.connections[0]!.abandoned, asked.stream)
      await relay.close()
    })
})

describe("a request to several targets that one does not answer in time", () => {
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" }
  const tools = { tools: [{ name: "x", inputSchema: {} }] }

  it("fails, and every target that owes an answer hears of it", async () => {
    const [a, b, c] = [serving("a", true, { "tools/list": tools }), silent("b", true), silent("c", false)]
    const relay = await rehearse([a, b, c])
    const begun = relay.begin(limited(list, { "mcp-session-id": relay.initialize() }))
    relay.clock.advance(1_000)
    assert.strictEqual(begun.response()!.status, 504)
    assert.deepStrictEqual(JSON.parse(begun.response()!.text()), late(1))
    assert.deepStrictEqual([a, b, c].map(cancellations), [
      [],
      [{ requestId: 1, reason: "request timeout" }],
      [{ requestId: 1, reason: "request timeout" }]
    ])
    await relay.close()
  })

  it("is answered at the limit with what the others said, where failures are left out", async () => {
    const [a, b] = [serving("a", true, { "tools/list": tools }), silent("b", true)]
    const relay = await rehearse([a, b], { failureMode: "failOpen" })
    const begun = relay.begin(limited(list, { "mcp-session-id": relay.initialize() }))
    relay.clock.advance(1_000)
    assert.deepStrictEqual(begun.response()!.messages()[0]!["result"], { tools: [{ name: "a_x", inputSchema: {} }] })
    assert.deepStrictEqual(cancellations(b), [{ requestId: 1, reason: "request timeout" }])
    await relay.close()
  })

  it("reaches no target any more when it was not known in time whose it is", async () => {
    const [a, b] = [serving("a", true, { "tools/list": tools }), silent("b", true)]
    const relay = await rehearse([a, b], { failureMode: "failOpen", prefixMode: "never" })
    const begun = relay.begin(limited(call(1), { "mcp-session-id": relay.initialize() }))
    const id = b.last.message["id"]
    relay.clock.advance(1_000)
    assert.deepStrictEqual(JSON.parse(begun.response()!.text()), late(1))
    assert.deepStrictEqual(cancellations(b), [{ requestId: id, reason: "request timeout" }])
    assert.notInclude(a.methods(), "tools/call")
    await relay.close()
  })
})

describe("a notification that no target takes in time", () => {
  it("is answered in plain text: it has no id", async () => {
    const t = silent("t", false)
    const relay = await rehearse([t])
    const session = { "mcp-session-id": relay.initialize() }
    t.takes = false
    const begun = relay.begin(limited({ jsonrpc: "2.0", method: "notifications/roots/list_changed" }, session))
    relay.clock.advance(1_000)
    assert.strictEqual(begun.response()!.status, 504)
    assert.strictEqual(begun.response()!.headers.get("content-type"), "text/plain")
    assert.strictEqual(begun.response()!.text(), "mcp: request timeout")
    await relay.close()
  })
})
