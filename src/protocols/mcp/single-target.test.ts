import { assert, describe, it } from "@effect/vitest"
import type { McpItem } from "../../../spec/trace-events.ts"
import { FakeTarget, serving } from "../../../test/mcp-fake-target.ts"
import { listening, posting, rehearse } from "../../../test/mcp-rehearsal.ts"
import type { McpUpstreamCall } from "./contract.ts"

const call = (name: string, more: object = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: {} },
  ...more
})

describe("a single target", () => {
  it("gets the client's text and its answer goes back, byte for byte", async () => {
    const target = serving("t", false, {})
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize() }
    const odd =
      '{"x-new":{"big":12345678901234567890, "f":1.0},"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é","x":[1e2],"_meta":{"k":"\\u0041"}}}'
    const answer = '{"jsonrpc":"2.0","result":{"content":[],"future":{"n":1.50}},"id":1,"x":null}'
    target.hear = (heard) => target.say(heard, answer)
    const response = relay.post(odd, session)
    assert.strictEqual(target.last.text, odd)
    assert.strictEqual(response.text(), `event: message\ndata: ${answer}\n\n`)
    await relay.close()
  })

  it("a message of several lines travels on one", async () => {
    const target = serving("t", true, { ping: {} })
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize() }
    relay.post('{\n  "jsonrpc": "2.0",\r\n  "id": 1,\n  "method": "ping"\n}\n', session)
    assert.notMatch(target.last.text, /[\r\n]/)
    await relay.close()
  })

  it("initialize is its own, unchanged, with the client's capabilities", async () => {
    const own = {
      protocolVersion: "2025-06-18",
      capabilities: { odd: {} },
      serverInfo: { name: "x" },
      instructions: "i",
      more: 1
    }
    const target = serving("t", true, { initialize: own })
    const relay = await rehearse([target])
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: { elicitation: {}, sampling: { tools: {} }, roots: {} }
    }
    const response = relay.post({ jsonrpc: "2.0", id: 0, method: "initialize", params })
    assert.deepStrictEqual(response.messages()[0], { jsonrpc: "2.0", id: 0, result: own })
    assert.deepStrictEqual(target.last.message["params"], params)
    await relay.close()
  })

  it("headers of the client flow on, those of this hop and session do not", async () => {
    const target = serving("t", false, { ping: {} })
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize() }
    relay.post(
      { jsonrpc: "2.0", id: 1, method: "ping" },
      {
        ...session,
        Authorization: "Bearer a",
        Cookie: "c=1",
        "Mcp-Protocol-Version": "2025-11-25",
        Connection: "close, x-hop",
        "X-Hop": "1",
        "Content-Length": "9",
        "Accept-Encoding": "gzip"
      }
    )
    assert.deepStrictEqual(target.last.headers, [
      "authorization",
      "Bearer a",
      "cookie",
      "c=1",
      "mcp-protocol-version",
      "2025-11-25"
    ])
    await relay.close()
  })

  it("the routing headers are written anew when the client sends them", async () => {
    const target = serving("t", false, {})
    const other = serving("u", false, {})
    const relay = await rehearse([target, other])
    const session = { "mcp-session-id": relay.initialize() }
    const name = "=?base64?dF/DqQ==?="
    relay.post(call("t_é"), { ...session, "mcp-method": "tools/call", "mcp-name": name, "mcp-param-x": "1" })
    assert.deepStrictEqual(target.last.headers, [
      "mcp-param-x",
      "1",
      "mcp-method",
      "tools/call",
      "mcp-name",
      "=?base64?w6k=?="
    ])
    await relay.close()
  })

  it("a method of no known revision is forwarded, unless there are rules that could not judge it", async () => {
    const target = serving("t", true, { "future/method": { ok: 1 } })
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize() }
    const message = { jsonrpc: "2.0", id: 1, method: "future/method", params: { a: 1 } }
    assert.deepStrictEqual(relay.post(message, session).messages()[0]?.["result"], { ok: 1 })
    const refused = relay.ask({ ...posting(message, session), authorize: () => true })
    assert.strictEqual(refused.status, 200)
    assert.deepStrictEqual(JSON.parse(refused.text()).error, {
      code: -32601,
      message: "method not found: future/method"
    })
    await relay.close()
  })

  it("what it says during a call goes to the call's stream, and the stream ends with the answer", async () => {
    for (const shared of [true, false]) {
      const target = serving("t", shared, {})
      const relay = await rehearse([target])
      const session = { "mcp-session-id": relay.initialize() }
      target.hear = () => {}
      const begun = relay.begin(
        posting(call("slow", { params: { name: "slow", _meta: { progressToken: "tok" } } }), session)
      )
      assert.isUndefined(begun.response())
      const heard = target.last
      target.say(
        heard,
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":1}}'
      )
      const response = begun.response()!
      assert.strictEqual(response.status, 200)
      target.say(heard, '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}')
      target.say(heard, '{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"?"}}')
      assert.isFalse(response.ended())
      relay.post({ jsonrpc: "2.0", id: "hg_t_n_0", result: { action: "accept" } }, session)
      assert.deepStrictEqual(target.last.message, { jsonrpc: "2.0", id: 0, result: { action: "accept" } })
      target.answer(heard, { content: [] })
      assert.isTrue(response.ended())
      assert.deepStrictEqual(
        response.messages().map(({ method, id }) => method ?? id),
        ["notifications/progress", "notifications/message", "elicitation/create", 1]
      )
      assert.strictEqual(response.messages()[2]?.["id"], "hg_t_n_0")
      await relay.close()
    }
  })

  it("the client's disappearance does not cancel a call", async () => {
    const target = new FakeTarget("t", false)
    target.hear = (heard) => {
      if (heard.method === "initialize") target.answer(heard, { protocolVersion: "2025-11-25" })
    }
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize() }
    const before = relay.begin(posting(call("a"), session))
    before.cancel()
    await new Promise((resolve) => setTimeout(resolve, 0))
    assert.deepStrictEqual(target.connections[0]?.abandoned, [])
    assert.isFalse(target.methods().includes("notifications/cancelled"))
    target.answer(target.last, {})
    const after = relay.begin(posting(call("a"), session))
    target.say(target.last, '{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
    after.response()!.cancel()
    assert.deepStrictEqual(target.connections[0]?.abandoned, [])
    assert.strictEqual(relay.relay.sessions(), 1)
    await relay.close()
  })

  it("a cancelled call ends without an answer, and a late one is dropped", async () => {
    const target = new FakeTarget("t", true)
    target.hear = (heard) => {
      if (heard.method === "initialize") target.answer(heard, { protocolVersion: "2025-11-25" })
    }
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize() }
    const begun = relay.begin(posting(call("a", { id: 7 }), session))
    const heard = target.last
    relay.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } }, session)
    assert.deepStrictEqual(target.last.message["params"], { requestId: 7 })
    assert.strictEqual(begun.response()?.status, 200)
    assert.strictEqual(begun.response()?.text(), "")
    target.answer(heard, {})
    assert.match(relay.warnings.at(-1)?.message ?? "", /no open request/)
    await relay.close()
  })

  it("the second of two requests with one id is refused while the first is open", async () => {
    const target = new FakeTarget("t", true)
    target.hear = (heard) => {
      if (heard.method === "initialize") target.answer(heard, { protocolVersion: "2025-11-25" })
    }
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize() }
    const first = relay.begin(posting(call("a"), session))
    const heard = target.last
    assert.strictEqual(relay.post(call("a"), session).status, 400)
    assert.notStrictEqual(relay.post(call("a", { id: "1" }), session)?.status, 400)
    target.answer(heard, { first: true })
    assert.deepStrictEqual(first.response()?.messages()[0]?.["result"], { first: true })
    await relay.close()
  })

  it("its refusal reaches the client as it came, without headers of the hop", async () => {
    const target = new FakeTarget("t", false)
    target.hear = ({ connection, stream }) =>
      connection.events.onEnd(stream, {
        _tag: "TargetStatus",
        status: 401,
        message: "",
        headers: [
          "www-authenticate",
          "Bearer x",
          "content-type",
          "text/x",
          "content-length",
          "5",
          "mcp-session-id",
          "s"
        ],
        body: new TextEncoder().encode("login")
      })
    const relay = await rehearse([target])
    const response = relay.post({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} })
    assert.strictEqual(response.status, 401)
    assert.strictEqual(response.text(), "login")
    assert.deepStrictEqual(
      [...response.headers],
      [
        ["www-authenticate", "Bearer x"],
        ["content-type", "text/x"]
      ]
    )
    assert.strictEqual(relay.relay.sessions(), 0)
    await relay.close()
  })

  it("failures before the first byte have a status, later ones are a message of the stream", async () => {
    const target = new FakeTarget("t", false)
    target.hear = (heard) => {
      if (heard.method === "initialize") target.answer(heard, { protocolVersion: "2025-11-25" })
    }
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize() }
    const unreachable = {
      _tag: "TargetUnreachable",
      status: 503,
      message: "upstream call failed: connection refused: ECONNREFUSED"
    } as const
    const first = relay.begin(posting(call("a"), session))
    target.last.connection.events.onEnd(target.last.stream, unreachable)
    assert.strictEqual(first.response()?.status, 503)
    assert.strictEqual(first.response()?.text(), "upstream call failed: connection refused: ECONNREFUSED")

    const second = relay.begin(posting(call("a"), session))
    target.say(target.last, "this is not JSON")
    assert.strictEqual(second.response()?.status, 500)
    assert.deepStrictEqual(JSON.parse(second.response()!.text()).error, {
      code: -32603,
      message: "failed to send message: upstream sent a message that is not JSON-RPC"
    })

    const third = relay.begin(posting(call("a"), session))
    const heard = target.last
    target.say(heard, '{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
    heard.connection.events.onEnd(heard.stream, undefined)
    assert.strictEqual(third.response()?.status, 200)
    assert.deepStrictEqual(third.response()?.messages()[1], {
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32603, message: "failed to send message: upstream closed the stream without an answer" }
    })
    assert.isTrue(third.response()?.ended())
    assert.strictEqual(third.response()?.facts.errorCode, -32603)
    await relay.close()
  })

  it("its death fails what it owes and ends the session, so that the client begins anew", async () => {
    const target = new FakeTarget("t", true)
    target.hear = (heard) => {
      if (heard.method === "initialize") target.answer(heard, { protocolVersion: "2025-11-25" })
    }
    const relay = await rehearse([target])
    const session = relay.initialize()
    const begun = relay.begin(posting(call("a"), { "mcp-session-id": session }))
    const stream = relay.ask(listening(session))
    target.connections[0]?.events.onDeath({ _tag: "TargetBroken", status: 500, message: "upstream closed on receive" })
    assert.strictEqual(begun.response()?.status, 500)
    assert.strictEqual(
      JSON.parse(begun.response()!.text()).error.message,
      "failed to send message: upstream closed on receive"
    )
    assert.isTrue(stream.ended())
    assert.strictEqual(relay.post(call("a"), { "mcp-session-id": session }).status, 404)
    await relay.close()
  })

  it("a target that cannot be started fails the handshake, and leaves nothing behind", async () => {
    const target = new FakeTarget("t", true)
    target.refusesToOpen = {
      _tag: "TargetNotStarted",
      status: 500,
      message: "stdio target could not be started: ENOENT"
    }
    for (const failureMode of ["failClosed", "failOpen"] as const) {
      const relay = await rehearse([target], { failureMode })
      const response = relay.post({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} })
      assert.strictEqual(response.status, failureMode === "failOpen" ? 503 : 500)
      assert.strictEqual(relay.relay.sessions(), 0)
      await relay.close()
    }
  })

  it("answers in batches reach the client one by one", async () => {
    const target = new FakeTarget("t", false)
    target.hear = (heard) => {
      const own = `{"jsonrpc":"2.0","id":${JSON.stringify(heard.message["id"])},"result":{"protocolVersion":"2025-03-26"}}`
      target.say(heard, `[{"jsonrpc":"2.0","method":"notifications/message","params":{}},${own}]`)
    }
    const relay = await rehearse([target])
    const response = relay.post({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} })
    assert.deepStrictEqual(
      response.messages().map(({ id }) => id),
      [undefined, 1]
    )
    assert.strictEqual(response.status, 200)
    await relay.close()
  })

  it("an id that the target printed differently comes back as the client wrote it", async () => {
    const target = new FakeTarget("t", true)
    target.hear = (heard) => {
      if (heard.message["id"] !== undefined) target.answer(heard, { protocolVersion: "2025-11-25" })
    }
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize() }
    const response = relay.post('{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}', session)
    assert.match(response.text(), /"id":12345678901234567890/)
    assert.match(relay.post('{"jsonrpc":"2.0","id":1.0,"method":"ping"}', session).text(), /"id":1\.0/)
    await relay.close()
  })
})

describe("authorization", () => {
  const tools = [
    { name: "echo", _meta: { ui: { resourceUri: "ui://secret" }, "ui/resourceUri": "ui://secret", keep: 1 } },
    { name: "sum", _meta: { ui: { resourceUri: "ui://secret", keep: 1 } } },
    { name: "view", _meta: { ui: { resourceUri: "ui://secret" } } },
    { name: "hidden" }
  ]
  const target = () =>
    serving("t", true, {
      "tools/list": { tools, more: 1 },
      "resources/templates/list": {
        resourceTemplates: [
          { uriTemplate: "a://{x}", name: "a" },
          { uriTemplate: "b://{x}", name: "b" }
        ]
      },
      "tools/call": (heard: { readonly message: unknown }) => ({ called: heard.message })
    })
  const authorize = ({ name }: McpItem) => name !== "hidden" && name !== "ui://secret" && !name.startsWith("b://")

  it("takes denied items out of lists, with what points to them, and keeps the rest", async () => {
    const relay = await rehearse([target()])
    const session = { "mcp-session-id": relay.initialize() }
    const asked: Array<McpItem> = []
    const list = (method: string) =>
      relay.ask({
        ...posting({ jsonrpc: "2.0", id: 1, method }, session),
        authorize: (item) => {
          asked.push(item)
          return authorize(item)
        }
      })
    assert.deepStrictEqual(list("tools/list").messages()[0]?.["result"], {
      tools: [{ name: "echo", _meta: { keep: 1 } }, { name: "sum", _meta: { ui: { keep: 1 } } }, { name: "view" }],
      more: 1
    })
    assert.deepStrictEqual(asked[0], { kind: "tool", target: "t", name: "echo", method: "tools/list" })
    assert.deepStrictEqual(list("resources/templates/list").messages()[0]?.["result"], {
      resourceTemplates: [{ uriTemplate: "a://{x}", name: "a" }]
    })
    await relay.close()
  })

  it("does not so much as start a target for a denied call", async () => {
    const one = target()
    const relay = await rehearse([one], { statefulMode: "stateless" })
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x" } }
    assert.strictEqual(relay.ask({ ...posting(message), authorize: () => false }).facts.errorCode, -32602)
    assert.strictEqual(one.connections.length, 0)
    assert.strictEqual(relay.post(message).status, 200)
    assert.strictEqual(one.connections.length, 1)
    await relay.close()
  })

  it("refuses denied items with status 200 and the JSON-RPC error of items that do not exist", async () => {
    const one = target()
    const relay = await rehearse([one])
    const session = { "mcp-session-id": relay.initialize() }
    const before = one.heard.length
    const table: ReadonlyArray<readonly [method: string, params: unknown, message: string]> = [
      ["tools/call", { name: "x" }, "Unknown tool: x"],
      ["prompts/get", { name: "x" }, "Unknown prompt: x"],
      ["resources/read", { uri: "a://x" }, "Unknown resource: a://x"],
      ["resources/subscribe", { uri: "a://x" }, "Unknown resource: a://x"],
      ["resources/unsubscribe", { uri: "a://x" }, "Unknown resource: a://x"],
      ["completion/complete", { ref: { type: "ref/prompt", name: "p" } }, "Unknown prompt: p"],
      ["completion/complete", { ref: { type: "ref/resource", uri: "a://{x}" } }, "Unknown resource: a://{x}"],
      ["tasks/get", { taskId: "7" }, "Unknown task: 7"],
      ["tasks/cancel", { taskId: "7" }, "Unknown task: 7"],
      ["tasks/result", { taskId: "7" }, "Unknown task: 7"]
    ]
    for (const [method, params, message] of table) {
      const response = relay.ask({
        ...posting({ jsonrpc: "2.0", id: 1, method, params }, session),
        authorize: () => false
      })
      assert.strictEqual(response.status, 200, method)
      assert.strictEqual(response.headers.get("content-type"), "application/json")
      assert.deepStrictEqual(JSON.parse(response.text()), { jsonrpc: "2.0", id: 1, error: { code: -32602, message } })
      assert.strictEqual(response.facts.errorCode, -32602)
    }
    assert.strictEqual(one.heard.length, before, "the target hears of none of them")
    await relay.close()
  })
})

describe("facts and traces", () => {
  it("tell method, item, session and error of a request", async () => {
    const target = serving("t", true, {
      "tools/call": {},
      "tools/list": { tools: [] },
      "resources/templates/list": { resourceTemplates: [] }
    })
    const relay = await rehearse([target, serving("u", true, {})])
    const id = relay.initialize()
    const session = { "mcp-session-id": id }
    const { calls, result, ...facts } = relay.post(call("t_echo"), session).facts
    assert.deepStrictEqual(JSON.parse(result ?? ""), { jsonrpc: "2.0", id: 1, result: {} })
    assert.deepStrictEqual(facts, {
      method: "tools/call",
      sessionId: id,
      target: "t",
      resourceType: "tool",
      name: "echo",
      errorCode: undefined,
      errorMessage: undefined
    })
    assert.deepStrictEqual(
      calls.map(({ target, method, name, failure }) => ({ target, method, name, failure })),
      [{ target: "t", method: "tools/call", name: "echo", failure: undefined }]
    )
    const failed = relay.post(call("u_echo"), session).facts
    assert.strictEqual(failed.errorCode, -32601)
    assert.deepStrictEqual(failed.calls[0]?.failure, { code: -32601, message: "Method not found" })
    const type = (method: string) => relay.post({ jsonrpc: "2.0", id: 1, method }, session).facts.resourceType
    assert.strictEqual(type("tools/list"), "tool")
    assert.strictEqual(type("resources/templates/list"), "templates")
    assert.strictEqual(relay.ask(listening(id)).facts.method, undefined)
    await relay.close()
  })

  it("every upstream call begins and ends once, and carries its trace context in message and headers", async () => {
    const target = serving("t", false, { "tools/call": {} })
    const relay = await rehearse([target])
    const session = { "mcp-session-id": relay.initialize(), traceparent: "client's" }
    const begun: Array<McpUpstreamCall> = []
    const finished: Array<McpUpstreamCall> = []
    const observer = {
      started: (call: McpUpstreamCall) => {
        begun.push(call)
        return { traceparent: "ours", baggage: "b=1" }
      },
      finished: (call: McpUpstreamCall) => finished.push(call)
    }
    for (const params of [{ name: "a" }, { name: "a", _meta: {} }, { name: "a", _meta: { traceparent: "old", k: 1 } }])
      relay.ask({ ...posting({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, session), observer })
    assert.strictEqual(begun.length, 3)
    assert.deepStrictEqual(begun, finished)
    assert.deepStrictEqual(
      target.heard.slice(1).map(({ message }) => (message["params"] as { _meta: unknown })._meta),
      [
        { traceparent: "ours", baggage: "b=1" },
        { traceparent: "ours", baggage: "b=1" },
        { traceparent: "ours", k: 1, baggage: "b=1" }
      ]
    )
    assert.deepStrictEqual(target.last.headers, ["traceparent", "ours", "baggage", "b=1"])
    relay.ask({ ...posting({ jsonrpc: "2.0", id: 1, method: "ping" }, session), observer })
    assert.deepStrictEqual(target.last.message["params"], { _meta: { traceparent: "ours", baggage: "b=1" } })
    await relay.close()
  })
})
