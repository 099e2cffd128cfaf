import { assert, describe, it } from "@effect/vitest"
import { FakeTarget, type Heard, type Json, serving } from "../../../test/mcp-fake-target.ts"
import { posting, rehearse } from "../../../test/mcp-rehearsal.ts"

const version = "2026-07-28"
const meta = { "io.modelcontextprotocol/protocolVersion": version }
const modern = (method: string, params: Json = {}, id: string | number = 1) =>
  [
    { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } },
    {
      "mcp-protocol-version": version,
      "mcp-method": method,
      ...(typeof params["name"] === "string" ? { "mcp-name": params["name"] } : {}),
      ...(typeof params["uri"] === "string" ? { "mcp-name": params["uri"] } : {})
    }
  ] as const
const stamp = { resultType: "complete", ttlMs: 0, cacheScope: "private" }

describe("revision 2026-07-28", () => {
  it("is served without session and handshake, also by a stateful backend", async () => {
    const t = serving("t", false, { "tools/call": (heard: Heard) => ({ got: heard.message["params"] }) })
    const relay = await rehearse([t])
    const response = relay.post(...modern("tools/call", { name: "x", requestState: "s", inputResponses: { a: 1 } }))
    assert.strictEqual(response.status, 200)
    assert.isFalse(response.headers.has("mcp-session-id"))
    assert.deepStrictEqual((response.messages()[0]!["result"] as Json)["got"], {
      name: "x",
      requestState: "s",
      inputResponses: { a: 1 },
      _meta: meta
    })
    assert.deepStrictEqual(t.methods(), ["tools/call"])
    assert.isTrue(t.connections[0]?.closed)
    assert.strictEqual(relay.relay.sessions(), 0)
    await relay.close()
  })

  it("results that a cache could keep are marked as nobody else's; questions are not", async () => {
    const t = serving("t", false, {
      "tools/list": { tools: [], ttlMs: 5000, cacheScope: "public" },
      "resources/read": { resultType: "input_required", inputRequests: {} },
      "server/discover": { supportedVersions: [version] },
      "tools/call": { content: [] }
    })
    const relay = await rehearse([t])
    const result = (method: string, params: Json = {}) =>
      relay.post(...modern(method, params)).messages()[0]?.["result"]
    assert.deepStrictEqual(result("tools/list"), { tools: [], ...stamp })
    assert.deepStrictEqual(result("server/discover"), { supportedVersions: [version], ...stamp })
    assert.deepStrictEqual(result("resources/read", { uri: "x:1" }), {
      resultType: "input_required",
      inputRequests: {}
    })
    assert.deepStrictEqual(result("tools/call", { name: "x" }), { content: [] })
    await relay.close()
  })

  it("lists and discovery of several targets are one server's", async () => {
    const a = serving("a", false, {
      "tools/list": { ...stamp, tools: [{ name: "x" }] },
      "server/discover": {
        ...stamp,
        supportedVersions: ["2025-11-25", version, "2099-01-01"],
        capabilities: { extensions: { e: {} } }
      }
    })
    const b = serving("b", false, {
      "tools/list": { ...stamp, tools: [{ name: "x" }] },
      "server/discover": { ...stamp, supportedVersions: [version, "2099-01-01"], instructions: "B." }
    })
    const relay = await rehearse([a, b], { failureMode: "failOpen" })
    const list = relay.post(...modern("tools/list")).messages()[0]?.["result"]
    assert.deepStrictEqual(list, { ...stamp, tools: [{ name: "a_x" }, { name: "b_x" }] })
    const found = relay.post(...modern("server/discover")).messages()[0]!["result"] as Json
    assert.deepStrictEqual(found["supportedVersions"], [version])
    assert.deepStrictEqual((found["capabilities"] as Json)["extensions"], { e: {} })
    assert.match(String(found["instructions"]), /\n\n\[b\]\nB\.$/)
    assert.strictEqual(found["cacheScope"], "private")
    // A target that knows only the handshake is told to the client, whatever the failure mode.
    const old = await rehearse([a, serving("c", false, {})], { failureMode: "failOpen" })
    assert.strictEqual((old.post(...modern("server/discover")).messages()[0]!["error"] as Json)["code"], -32601)
    await relay.close()
    await old.close()
  })

  it("a question of the target ends the call: there is nobody to ask", async () => {
    const t = new FakeTarget("t", false)
    const relay = await rehearse([t])
    const begun = relay.begin(posting(...modern("tools/call", { name: "x" })))
    t.say(t.last, '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}')
    assert.deepStrictEqual(JSON.parse(begun.response()!.text()).error, {
      code: -32603,
      message: "gateway cannot route direct server-to-client requests; return an input_required result instead"
    })
    await relay.close()
  })

  it("a client that leaves has cancelled its request", async () => {
    const t = new FakeTarget("t", false)
    const relay = await rehearse([t])
    const begun = relay.begin(posting(...modern("tools/call", { name: "x" })))
    t.say(t.last, '{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
    begun.response()?.cancel()
    assert.isTrue(t.connections[0]?.closed)
    await relay.close()
  })
})

describe("subscriptions/listen", () => {
  const id = "sub"
  const listen = (notifications: unknown) => modern("subscriptions/listen", { notifications }, id)
  const ack = (heard: Heard, notifications: unknown) =>
    JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { notifications, _meta: { k: 1 }, heard: heard.stream }
    })
  const changed = (what: string, params: Json = {}) =>
    JSON.stringify({ jsonrpc: "2.0", method: `notifications/${what}`, params })
  const tag = { _meta: { "io.modelcontextprotocol/subscriptionId": id } }
  const pair = () => [new FakeTarget("a", false), new FakeTarget("b", false)] as const

  it("waits for every selected target, acknowledges once, and forwards what was accepted", async () => {
    const [a, b] = pair()
    const relay = await rehearse([a, b])
    const begun = relay.begin(
      posting(...listen({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["a+x:1"] }))
    )
    assert.deepStrictEqual((a.last.message["params"] as Json)["notifications"], {
      toolsListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: ["x:1"]
    })
    assert.deepStrictEqual((b.last.message["params"] as Json)["notifications"], {
      toolsListChanged: true,
      promptsListChanged: true
    })
    a.say(a.last, ack(a.last, { toolsListChanged: true, resourceSubscriptions: ["x:1", "x:2"] }))
    a.say(a.last, changed("tools/list_changed"))
    assert.isUndefined(begun.response(), "the acknowledgement comes first")
    b.say(b.last, ack(b.last, { promptsListChanged: true }))
    a.say(a.last, changed("prompts/list_changed"))
    b.say(b.last, changed("prompts/list_changed", { n: 1.5, ...tag }))
    a.say(a.last, changed("resources/updated", { uri: "x:1" }))
    a.say(a.last, changed("resources/updated", { uri: "x:2" }))
    a.say(a.last, changed("message", {}))
    const response = begun.response()!
    assert.deepStrictEqual(
      response.messages().map(({ method, params }) => [method, params]),
      [
        [
          "notifications/subscriptions/acknowledged",
          {
            notifications: { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["a+x:1"] },
            ...tag
          }
        ],
        ["notifications/tools/list_changed", tag],
        ["notifications/prompts/list_changed", { n: 1.5, ...tag }],
        ["notifications/resources/updated", { uri: "a+x:1", ...tag }]
      ]
    )
    a.answer(a.last, { resultType: "complete" })
    assert.isFalse(response.ended())
    b.answer(b.last, { resultType: "complete" })
    assert.isTrue(response.ended())
    assert.deepStrictEqual((response.messages().at(-1)!["result"] as Json)["resultType"], "complete")
    await relay.close()
  })

  it("asks only the owners of resources when nothing else is wanted", async () => {
    const [a, b] = pair()
    const relay = await rehearse([a, b])
    relay.begin(posting(...listen({ resourceSubscriptions: ["b+x:1"] })))
    assert.strictEqual(a.heard.length, 0)
    assert.strictEqual(b.heard.length, 1)
    await relay.close()
  })

  it("a single target's stream is its own", async () => {
    const t = new FakeTarget("t", false)
    const relay = await rehearse([t])
    const begun = relay.begin(posting(...listen({ toolsListChanged: true })))
    const own = ack(t.last, { toolsListChanged: true })
    t.say(t.last, own)
    assert.strictEqual(begun.response()?.text(), `event: message\ndata: ${own}\n\n`)
    await relay.close()
  })

  it("refuses what it cannot serve", async () => {
    const shared = await rehearse([new FakeTarget("a", true), new FakeTarget("b", false)])
    const both = shared.post(...listen({ toolsListChanged: true }))
    assert.strictEqual(both.status, 503)
    assert.strictEqual(
      JSON.parse(both.text()).error.message,
      "subscriptions/listen is not supported for stdio/SSE upstreams"
    )
    for (const filter of [undefined, [], { resourceSubscriptions: [1] }, {}])
      assert.strictEqual(shared.post(...listen(filter)).status, 400, JSON.stringify(filter))
    const denied = shared.ask({ ...posting(...listen({ resourceSubscriptions: ["b+x:1"] })), authorize: () => false })
    assert.strictEqual(JSON.parse(denied.text()).error.message, "Unknown resource: b+x:1")
    await shared.close()
  })

  it("a target that does not acknowledge fails the subscription, or is left out", async () => {
    for (const [failureMode, status] of [
      ["failClosed", 500],
      ["failOpen", 200]
    ] as const) {
      const [a, b] = pair()
      const relay = await rehearse([a, b], { failureMode })
      const begun = relay.begin(posting(...listen({ toolsListChanged: true })))
      a.say(a.last, changed("tools/list_changed"))
      if (failureMode === "failOpen") b.say(b.last, ack(b.last, { toolsListChanged: true }))
      assert.strictEqual(begun.response()?.status, status)
      if (failureMode === "failOpen") assert.strictEqual(begun.response()?.messages().length, 1)
      await relay.close()
    }
  })
})
