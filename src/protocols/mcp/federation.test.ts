import { assert, describe, it } from "@effect/vitest"
import { FakeTarget, type Heard, type Json, serving } from "../../../test/mcp-fake-target.ts"
import { listening, posting, rehearse } from "../../../test/mcp-rehearsal.ts"

const request = (method: string, params: object = {}, id: string | number = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  params
})
const handshake = request("initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "c", version: "1" }
})
const silent = (name: string, shared: boolean) => {
  const target = new FakeTarget(name, shared)
  target.hear = (heard) => {
    if (heard.method === "initialize") target.answer(heard, { protocolVersion: "2025-11-25", capabilities: {} })
  }
  return target
}
const names = (result: unknown, list: string) => ((result as Json)[list] as ReadonlyArray<Json>).map(({ name }) => name)

describe("initialize of several targets", () => {
  const a = () =>
    serving("a", true, {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { logging: {}, tools: {}, extensions: { x: { v: 1 }, y: { v: 1 } } },
        serverInfo: { name: "A" },
        instructions: "Use A well."
      }
    })
  const b = () =>
    serving("b", false, {
      initialize: {
        protocolVersion: "2025-03-26",
        capabilities: { extensions: { x: { v: 1 }, y: { v: 2 } } },
        instructions: ""
      }
    })
  const c = () =>
    serving("c", true, {
      initialize: {
        protocolVersion: "2025-06-18",
        capabilities: { completions: {}, tasks: { list: {}, cancel: {} } },
        instructions: "C is slow."
      }
    })

  it("is answered as one server", async () => {
    const relay = await rehearse([a(), b(), c()])
    const { instructions, ...result } = relay.post(handshake).messages()[0]!["result"] as Json
    assert.deepStrictEqual(result, {
      protocolVersion: "2025-03-26",
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        logging: {},
        completions: {},
        tasks: { cancel: {} },
        extensions: { x: { v: 1 }, y: {} }
      },
      serverInfo: { name: "headgate", title: "Headgate", version: "0.0.0" }
    })
    assert.match(String(instructions), /^Several MCP servers .*\n\n\[a\]\nUse A well\.\n\n\[c\]\nC is slow\.$/)
    await relay.close()
  })

  it("does not offer subscriptions without a session, and asks for no callbacks there", async () => {
    const one = a()
    const relay = await rehearse([one, b()], { statefulMode: "stateless" })
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: { roots: {}, sampling: {}, elicitation: {}, experimental: { k: 1 } }
    }
    const response = relay.post(request("initialize", params))
    const { capabilities } = response.messages()[0]!["result"] as { capabilities: Json }
    assert.deepStrictEqual(capabilities["resources"], { listChanged: true })
    assert.isFalse(response.headers.has("mcp-session-id"))
    assert.deepStrictEqual((one.last.message["params"] as Json)["capabilities"], { experimental: { k: 1 } })
    assert.isTrue(one.connections[0]?.closed)
    await relay.close()
  })

  it("without targets: 503, or an empty server whose requests fail", async () => {
    const closed = await rehearse([])
    assert.strictEqual(closed.post(handshake).text(), "mcp: no backends configured")
    assert.strictEqual(closed.post(handshake).status, 503)
    const open = await rehearse([], { failureMode: "failOpen" })
    const session = { "mcp-session-id": open.initialize() }
    assert.strictEqual(open.relay.sessions(), 1)
    const list = open.post(request("tools/list"), session)
    assert.strictEqual(JSON.parse(list.text()).error.message, "failed to send message: no upstreams available")
    const stream = open.ask(listening(session["mcp-session-id"]))
    assert.strictEqual(stream.status, 200)
    assert.isFalse(stream.ended())
    await closed.close()
    await open.close()
    assert.isTrue(stream.ended())
  })
})

describe("failure modes", () => {
  const failures: Readonly<Record<string, (target: FakeTarget, heard: Heard) => void>> = {
    "an error answer": (target, heard) => target.refuse(heard, -32603, "broken"),
    "an HTTP status": (_, { connection, stream }) =>
      connection.events.onEnd(stream, {
        _tag: "TargetStatus",
        status: 500,
        message: "500",
        headers: [],
        body: new Uint8Array()
      }),
    "no connection": (_, { connection, stream }) =>
      connection.events.onEnd(stream, { _tag: "TargetUnreachable", status: 503, message: "upstream call failed" }),
    "a stream without an answer": (_, { connection, stream }) => connection.events.onEnd(stream, undefined),
    "an undecodable message": (target, heard) => target.say(heard, "{"),
    "a death": (_, { connection }) => connection.events.onDeath({ _tag: "TargetBroken", status: 500, message: "gone" })
  }
  for (const [name, breakDown] of Object.entries(failures))
    for (const method of ["initialize", "tools/list"])
      it(`${name} in ${method}: failClosed fails, failOpen goes on with the rest, and with none it fails`, async () => {
        const results = { "tools/list": { tools: [{ name: "x" }] } }
        const table = [
          ["failClosed", 1, false],
          ["failOpen", 1, true],
          ["failOpen", 2, false]
        ] as const
        for (const [failureMode, broken, succeeds] of table) {
          const targets = ["a", "b"].map((name, index) => {
            const target = serving(name, false, results)
            const hear = target.hear
            target.hear = (heard) => {
              if (heard.method === method && index < broken) breakDown(target, heard)
              else hear(heard)
            }
            return target
          })
          const relay = await rehearse(targets, { failureMode })
          const opened = relay.post(handshake)
          const session = opened.headers.get("mcp-session-id")
          const response =
            method === "initialize" ? opened : relay.post(request("tools/list"), { "mcp-session-id": session ?? "" })
          const [message] = response.messages()
          assert.strictEqual(
            message?.["result"] !== undefined,
            succeeds,
            `${failureMode} ${broken}: ${response.text()}`
          )
          if (succeeds && method === "tools/list") assert.deepStrictEqual(names(message?.["result"], "tools"), ["b_x"])
          if (method === "initialize") {
            assert.strictEqual(relay.relay.sessions(), succeeds ? 1 : 0)
            if (!succeeds) assert.isTrue(targets.every(({ connections }) => connections[0]?.closed === true))
          }
          await relay.close()
        }
      })

  it("a target that failed to begin has no part in the session", async () => {
    const a = serving("a", false, {})
    a.hear = (heard) => a.refuse(heard, -1, "no")
    const b = serving("b", false, { "tools/list": { tools: [] } })
    const relay = await rehearse([a, b], { failureMode: "failOpen" })
    const session = { "mcp-session-id": relay.initialize() }
    relay.post(request("tools/list"), session)
    assert.deepStrictEqual(a.methods(), ["initialize"])
    assert.isTrue(a.connections[0]?.closed)
    await relay.close()
  })

  it("one target's death leaves the others' calls alone", async () => {
    for (const failureMode of ["failClosed", "failOpen"] as const) {
      const a = silent("a", true)
      const b = silent("b", true)
      const relay = await rehearse([a, b], { failureMode })
      const session = { "mcp-session-id": relay.initialize() }
      const toA = relay.begin(posting(request("tools/call", { name: "a_x" }, 1), session))
      const toB = relay.begin(posting(request("tools/call", { name: "b_x" }, 2), session))
      a.connections[0]?.events.onDeath({ _tag: "TargetBroken", status: 500, message: "gone" })
      assert.strictEqual(toA.response()?.status, 500)
      assert.isUndefined(toB.response())
      b.answer(b.last, { fine: true })
      assert.deepStrictEqual(toB.response()?.messages()[0]?.["result"], { fine: true })
      assert.strictEqual(
        relay.begin(posting(request("tools/call", { name: "a_x" }, 3), session)).response()?.status,
        500
      )
      assert.strictEqual(relay.relay.sessions(), 1)
      await relay.close()
    }
  })

  it("a target that stays silent counts as failed after a while", async () => {
    const a = silent("a", false)
    const b = serving("b", false, { "tools/list": { tools: [{ name: "x" }] } })
    const relay = await rehearse([a, b], { failureMode: "failOpen", fanOutTimeoutMillis: 1000, keepAliveMillis: 0 })
    const session = { "mcp-session-id": relay.initialize() }
    const list = relay.begin(posting(request("tools/list"), session))
    relay.clock.advance(999)
    assert.isUndefined(list.response())
    relay.clock.advance(1)
    assert.deepStrictEqual(names(list.response()?.messages()[0]?.["result"], "tools"), ["b_x"])
    assert.strictEqual(a.connections[0]?.abandoned.length, 1)
    await relay.close()
  })
})

describe("lists", () => {
  it("are merged in the order of the configuration, renamed, and -32601 is an empty list", async () => {
    const a = serving("a", true, {
      "tools/list": {
        tools: [{ name: "x", title: "X", future: 1.5, _meta: { ui: { resourceUri: "ui://w/1" } } }, { name: "y" }]
      },
      "resources/list": {
        resources: [
          { uri: "test://r", name: "r" },
          { uri: "relative", name: "q" }
        ]
      },
      "resources/templates/list": { resourceTemplates: [{ uriTemplate: "test://{id}", name: "t" }] }
    })
    const b = serving("b", false, {
      "tools/list": { tools: [{ name: "x" }] },
      "prompts/list": { prompts: [{ name: "p" }] }
    })
    const relay = await rehearse([a, b])
    const session = { "mcp-session-id": relay.initialize() }
    const list = (method: string) => relay.post(request(method), session).messages()[0]?.["result"]
    assert.deepStrictEqual(list("tools/list"), {
      tools: [
        { name: "a_x", title: "X", future: 1.5, _meta: { ui: { resourceUri: "ui://a+w/1" } } },
        { name: "a_y" },
        { name: "b_x" }
      ]
    })
    assert.deepStrictEqual(list("prompts/list"), { prompts: [{ name: "b_p" }] })
    assert.deepStrictEqual(list("resources/list"), {
      resources: [
        { uri: "a+test://r", name: "r" },
        { uri: "relative", name: "q" }
      ]
    })
    assert.deepStrictEqual(list("resources/templates/list"), {
      resourceTemplates: [{ uriTemplate: "a+test://{id}", name: "t" }]
    })
    await relay.close()
  })

  it("of which no target knows the method are an error", async () => {
    const relay = await rehearse([serving("a", true, {}), serving("b", true, {})])
    const session = { "mcp-session-id": relay.initialize() }
    const response = relay.post(request("prompts/list"), session)
    assert.strictEqual((response.messages()[0]!["error"] as Json)["code"], -32601)
    await relay.close()
  })

  it("have pages: the cursor knows each target's own, and asks only those that have more", async () => {
    const paged = (name: string, pages: ReadonlyArray<ReadonlyArray<string>>) =>
      serving(name, true, {
        "tools/list": ({ message }: Heard) => {
          const { cursor } = (message["params"] ?? {}) as { cursor?: string }
          const page = cursor === undefined ? 0 : Number(cursor)
          const tools = pages[page]!.map((name) => ({ name }))
          return page + 1 < pages.length ? { tools, nextCursor: String(page + 1) } : { tools }
        }
      })
    const a = paged("a", [["1"], ["2"], ["3"]])
    const b = paged("b", [["1"], ["2"]])
    const relay = await rehearse([a, b])
    const session = { "mcp-session-id": relay.initialize() }
    const seen: Array<unknown> = []
    let cursor: unknown
    do {
      const params = cursor === undefined ? {} : { cursor }
      const result = relay.post(request("tools/list", params), session).messages()[0]?.["result"]
      seen.push(names(result, "tools"))
      cursor = (result as Json)["nextCursor"]
    } while (cursor !== undefined)
    assert.deepStrictEqual(seen, [["a_1", "b_1"], ["a_2", "b_2"], ["a_3"]])
    const bad = relay.post(request("tools/list", { cursor: "garbage" }), session)
    assert.strictEqual(JSON.parse(bad.text()).error.code, -32602)
    await relay.close()
  })

  it("of a single target keep its cursor", async () => {
    const a = serving("a", true, { "tools/list": { tools: [{ name: "x" }], nextCursor: "opaque" } })
    const relay = await rehearse([a])
    const session = { "mcp-session-id": relay.initialize() }
    const response = relay.post(request("tools/list", { cursor: "own" }), session)
    assert.deepStrictEqual(a.last.message["params"], { cursor: "own" })
    assert.strictEqual((response.messages()[0]!["result"] as Json)["nextCursor"], "opaque")
    await relay.close()
  })

  it("that are none are refused", async () => {
    for (const result of [
      {},
      { tools: 1 },
      { tools: [{ title: "no name" }] },
      { tools: [{ name: "a", n: 1, n2: 2 }, 5] }
    ]) {
      const relay = await rehearse([serving("a", true, { "tools/list": result }), serving("b", true, {})])
      const session = { "mcp-session-id": relay.initialize() }
      const response = relay.post(request("tools/list"), session)
      assert.strictEqual(
        JSON.parse(response.text()).error.message,
        "upstream returned a result incompatible with `tools/list`"
      )
      await relay.close()
    }
  })

  it("logging/setLevel and ping are answered when all have answered", async () => {
    const a = serving("a", true, { ping: {}, "logging/setLevel": { odd: 1 } })
    const b = silent("b", true)
    const relay = await rehearse([a, b])
    const session = { "mcp-session-id": relay.initialize() }
    for (const method of ["ping", "logging/setLevel"]) {
      const begun = relay.begin(posting(request(method, { level: "info" }), session))
      assert.isUndefined(begun.response())
      b.answer(b.last, {})
      assert.deepStrictEqual(begun.response()?.messages()[0], { jsonrpc: "2.0", id: 1, result: {} })
      assert.strictEqual(a.last.message["id"], 1)
    }
    await relay.close()
  })
})

describe("routing", () => {
  const echo = (name: string) => {
    const target = serving(name, true, {})
    target.hear = (heard) => {
      const own = { protocolVersion: "2025-11-25", capabilities: {}, by: name, params: heard.message["params"] }
      if (heard.message["id"] !== undefined && heard.method !== undefined) target.answer(heard, own)
    }
    return target
  }

  it("finds the owner by name, URI, reference or task, and tells it the item's own name", async () => {
    const relay = await rehearse([echo("a"), echo("b.c")])
    const session = { "mcp-session-id": relay.initialize() }
    const table: ReadonlyArray<readonly [method: string, params: Json, by: string, own: Json]> = [
      ["tools/call", { name: "a_x_y" }, "a", { name: "x_y" }],
      ["tools/call", { name: "b.c_" }, "b.c", { name: "" }],
      ["prompts/get", { name: "b.c_p" }, "b.c", { name: "p" }],
      ["resources/read", { uri: "a+test://r+1" }, "a", { uri: "test://r+1" }],
      ["resources/subscribe", { uri: "ui://b.c+w/1" }, "b.c", { uri: "ui://w/1" }],
      ["resources/unsubscribe", { uri: "a+memo:x" }, "a", { uri: "memo:x" }],
      [
        "completion/complete",
        { ref: { type: "ref/prompt", name: "a_p" }, x: 1 },
        "a",
        { ref: { type: "ref/prompt", name: "p" }, x: 1 }
      ],
      [
        "completion/complete",
        { ref: { type: "ref/resource", uri: "b.c+t://{x}" } },
        "b.c",
        { ref: { type: "ref/resource", uri: "t://{x}" } }
      ],
      ["tasks/get", { taskId: "a+7" }, "a", { taskId: "7" }],
      ["tasks/cancel", { taskId: "b.c+7+8" }, "b.c", { taskId: "7+8" }],
      [
        "tools/call",
        { name: "a_x", _meta: { "io.modelcontextprotocol/related-task": { taskId: "a+7" } } },
        "a",
        { name: "x", _meta: { "io.modelcontextprotocol/related-task": { taskId: "7" } } }
      ]
    ]
    for (const [method, params, by, own] of table) {
      const response = relay.post(request(method, params), session)
      const result = response.messages()[0]?.["result"] as Json
      assert.strictEqual(result["by"], by, method)
      assert.deepStrictEqual(result["params"], own, method)
      assert.strictEqual(response.facts.target, by)
    }
    await relay.close()
  })

  it("refuses names that tell no target", async () => {
    const relay = await rehearse([echo("a"), echo("b")])
    const session = { "mcp-session-id": relay.initialize() }
    const table: ReadonlyArray<readonly [method: string, params: Json, message: string]> = [
      ["tools/call", { name: "x" }, "failed to send message: invalid request: invalid resource name"],
      ["tools/call", { name: "z_x" }, "failed to send message: unknown service z"],
      ["resources/read", { uri: "test://r" }, "failed to send message: invalid request: invalid resource name"],
      ["resources/read", { uri: "z+test://r" }, "failed to send message: unknown service z"],
      ["tasks/get", { taskId: "7" }, "failed to send message: invalid request: invalid resource name"]
    ]
    for (const [method, params, message] of table) {
      const response = relay.post(request(method, params), session)
      assert.strictEqual(response.status, 500)
      assert.deepStrictEqual(JSON.parse(response.text()).error, { code: -32603, message })
    }
    const unknown = relay.post(request("future/method"), session)
    assert.strictEqual(unknown.status, 200)
    assert.strictEqual(JSON.parse(unknown.text()).error.code, -32601)
    await relay.close()
  })

  it("prefixes answers: URIs of contents, ids of tasks", async () => {
    const a = serving("a", true, {
      "resources/read": {
        contents: [
          { uri: "test://r", text: "x", n: 1.5 },
          { uri: "rel", text: "y" }
        ],
        more: true
      },
      "tools/call": { task: { taskId: "7", status: "working" } },
      "tasks/get": { taskId: "7", status: "done" },
      "tasks/result": { content: [], _meta: { "io.modelcontextprotocol/related-task": { taskId: "7" } } }
    })
    const relay = await rehearse([a, serving("b", true, {})])
    const session = { "mcp-session-id": relay.initialize() }
    const result = (method: string, params: Json) =>
      relay.post(request(method, params), session).messages()[0]?.["result"]
    assert.deepStrictEqual(result("resources/read", { uri: "a+test://r" }), {
      contents: [
        { uri: "a+test://r", text: "x", n: 1.5 },
        { uri: "rel", text: "y" }
      ],
      more: true
    })
    assert.deepStrictEqual(result("tools/call", { name: "a_x" }), { task: { taskId: "a+7", status: "working" } })
    assert.deepStrictEqual(result("tasks/get", { taskId: "a+7" }), { taskId: "a+7", status: "done" })
    assert.deepStrictEqual(result("tasks/result", { taskId: "a+7" }), {
      content: [],
      _meta: { "io.modelcontextprotocol/related-task": { taskId: "a+7" } }
    })
    await relay.close()
  })

  it("with prefixMode always, a single target is renamed as well", async () => {
    const a = serving("a", true, {
      "tools/list": { tools: [{ name: "x" }], more: 1, nextCursor: "n" },
      "tools/call": { ok: 1 }
    })
    const relay = await rehearse([a], { prefixMode: "always" })
    const opened = relay.post(handshake)
    assert.deepStrictEqual((opened.messages()[0]!["result"] as Json)["serverInfo"], { name: "a", version: "1" })
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id")! }
    const list = relay.post(request("tools/list"), session).messages()[0]?.["result"] as Json
    assert.deepStrictEqual(names(list, "tools"), ["a_x"])
    assert.strictEqual(relay.post(request("tools/call", { name: "x" }), session).status, 500)
    assert.deepStrictEqual(relay.post(request("tools/call", { name: "a_x" }), session).messages()[0]?.["result"], {
      ok: 1
    })
    await relay.close()
  })
})

describe("prefixMode never", () => {
  const pages = (name: string, ...all: ReadonlyArray<ReadonlyArray<string>>) =>
    serving(name, true, {
      "tools/list": ({ message }: Heard) => {
        const page = Number((message["params"] as { cursor?: string }).cursor ?? 0)
        const tools = all[page]!.map((name) => ({ name }))
        return page + 1 < all.length ? { tools, nextCursor: String(page + 1) } : { tools }
      },
      "tools/call": ({ message }: Heard) => ({ by: name, params: message["params"] })
    })

  it("lists what one target alone serves, and calls its owner, on whatever page it stands", async () => {
    const a = pages("a", ["echo", "one"], ["late"])
    const b = pages("b", ["two"], ["echo"])
    const relay = await rehearse([a, b], { prefixMode: "never" })
    const session = { "mcp-session-id": relay.initialize() }
    const list = relay.post(request("tools/list"), session).messages()[0]?.["result"]
    assert.deepStrictEqual(list, { tools: [{ name: "one" }, { name: "late" }, { name: "two" }] })
    const call = (name: string) => relay.post(request("tools/call", { name }), session)
    assert.deepStrictEqual(call("late").messages()[0]?.["result"], { by: "a", params: { name: "late" } })
    assert.strictEqual(
      JSON.parse(call("echo").text()).error.message,
      "failed to send message: invalid request: tool echo is served by multiple targets"
    )
    assert.strictEqual(
      JSON.parse(call("none").text()).error.message,
      "failed to send message: invalid request: unknown tool none"
    )
    await relay.close()
  })

  it("remembers the owners until a list changes", async () => {
    const a = pages("a", ["one"])
    const b = pages("b", ["two"])
    const relay = await rehearse([a, b], { prefixMode: "never" })
    const session = { "mcp-session-id": relay.initialize() }
    const lists = () => a.methods().filter((method) => method === "tools/list").length
    relay.post(request("tools/call", { name: "one" }), session)
    relay.post(request("tools/call", { name: "two" }), session)
    assert.strictEqual(lists(), 1)
    b.connections[0]?.events.onMessage(
      '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
      undefined,
      undefined
    )
    relay.post(request("tools/call", { name: "two" }), session)
    assert.strictEqual(lists(), 2)
    await relay.close()
  })

  it("reads no more pages than the limit, and URIs stay prefixed", async () => {
    const endless = serving("a", true, {
      "tools/list": { tools: [], nextCursor: "again" },
      "resources/list": { resources: [{ uri: "x:1", name: "n" }] }
    })
    const relay = await rehearse([endless, serving("b", true, {})], { prefixMode: "never" })
    const session = { "mcp-session-id": relay.initialize() }
    const response = relay.post(request("tools/call", { name: "x" }), session)
    assert.strictEqual(JSON.parse(response.text()).error.message, "exceeded 64 pages listing tools")
    assert.strictEqual(endless.methods().filter((method) => method === "tools/list").length, 64)
    const list = relay.post(request("resources/list"), session).messages()[0]?.["result"]
    assert.deepStrictEqual(list, { resources: [{ uri: "a+x:1", name: "n" }] })
    await relay.close()
  })
})

describe("requests of targets", () => {
  it("with the same id reach the client apart, and each reply goes home with its own id and type", async () => {
    const a = silent("a", true)
    const b = silent("b", false)
    const relay = await rehearse([a, b])
    const id = relay.initialize()
    const session = { "mcp-session-id": id }
    const stream = relay.ask(listening(id))
    const ask = (id: unknown) =>
      JSON.stringify({ jsonrpc: "2.0", id, method: "roots/list", params: { _meta: { progressToken: 5 } } })
    a.connections[0]?.events.onMessage(ask(0), undefined, undefined)
    b.connections[0]?.events.onMessage(ask(0), b.connections[0].listening[0]?.stream, undefined)
    b.connections[0]?.events.onMessage(ask("0"), b.connections[0].listening[0]?.stream, undefined)
    assert.deepStrictEqual(
      stream.messages().map(({ id, params }) => [id, (params as { _meta: Json })._meta["progressToken"]]),
      [
        ["hg_a_n_0", "hg_a_n_5"],
        ["hg_b_n_0", "hg_b_n_5"],
        ["hg_b_s_0", "hg_b_n_5"]
      ]
    )
    const heard = [a.heard.length, b.heard.length]
    assert.strictEqual(relay.post({ jsonrpc: "2.0", id: "hg_b_n_0", result: { roots: [] } }, session).status, 202)
    assert.deepStrictEqual(b.last.message, { jsonrpc: "2.0", id: 0, result: { roots: [] } })
    relay.post({ jsonrpc: "2.0", id: "hg_b_s_0", error: { code: -1, message: "no" } }, session)
    assert.deepStrictEqual(b.last.message["id"], "0")
    relay.post(
      { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "hg_b_n_5", progress: 1 } },
      session
    )
    assert.deepStrictEqual(b.last.message["params"], { progressToken: 5, progress: 1 })
    assert.deepStrictEqual([a.heard.length, b.heard.length], [heard[0]!, heard[1]! + 3])
    for (const bad of ["hg_z_n_0", "other", 3])
      assert.strictEqual(relay.post({ jsonrpc: "2.0", id: bad, result: {} }, session).status, 500, String(bad))
    await relay.close()
  })

  it("are taken back with the id that the client knows", async () => {
    const a = silent("a", true)
    const relay = await rehearse([a, silent("b", true)])
    const stream = relay.ask(listening(relay.initialize()))
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"r"}}'
    a.connections[0]?.events.onMessage(cancel, undefined, undefined)
    assert.deepStrictEqual(stream.messages()[0]?.["params"], { requestId: "hg_a_n_3", reason: "r" })
    await relay.close()
  })

  it("notifications carry URIs and task ids in the client's form", async () => {
    const a = silent("a", true)
    const relay = await rehearse([a, silent("b", true)])
    const stream = relay.ask(listening(relay.initialize()))
    const say = (method: string, params: Json) =>
      a.connections[0]?.events.onMessage(JSON.stringify({ jsonrpc: "2.0", method, params }), undefined, undefined)
    say("notifications/resources/updated", { uri: "x:1", title: "t" })
    say("notifications/tasks/status", { taskId: "7", status: "working" })
    say("notifications/tools/list_changed", {})
    assert.deepStrictEqual(
      stream.messages().map(({ params }) => params),
      [{ uri: "a+x:1", title: "t" }, { taskId: "a+7", status: "working" }, {}]
    )
    await relay.close()
  })

  it("of a stateless request are answered in the client's stead, because it cannot be reached", async () => {
    const a = serving("a", true, {})
    a.hear = (heard) => {
      if (heard.method === "initialize") a.answer(heard, { protocolVersion: "2025-11-25" })
      if (heard.method !== "tools/call") return
      a.say(heard, '{"jsonrpc":"2.0","id":1,"method":"ping"}')
      a.say(heard, '{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}')
      a.answer(heard, { done: true })
    }
    const relay = await rehearse([a], { statefulMode: "stateless" })
    const response = relay.post(request("tools/call", { name: "x" }))
    assert.deepStrictEqual(response.messages(), [{ jsonrpc: "2.0", id: 1, result: { done: true } }])
    assert.deepStrictEqual(
      a.heard.map(
        ({ message }) => message["method"] ?? [message["id"], message["result"] ?? (message["error"] as Json)["code"]]
      ),
      ["initialize", "notifications/initialized", "tools/call", [1, {}], [2, -32601]]
    )
    await relay.close()
  })
})

describe("stateless mode", () => {
  it("meets only the addressed target, with a handshake of its own, and leaves it afterwards", async () => {
    const a = serving("a", false, { "tools/call": { ok: 1 } })
    const b = serving("b", true, {})
    const relay = await rehearse([a, b], { statefulMode: "stateless" })
    const response = relay.post(request("tools/call", { name: "a_x" }, 0), {
      "mcp-protocol-version": "2025-06-18",
      Authorization: "Bearer x"
    })
    assert.deepStrictEqual(response.messages()[0]?.["result"], { ok: 1 })
    assert.deepStrictEqual(a.methods(), ["initialize", "notifications/initialized", "tools/call"])
    assert.deepStrictEqual(a.heard[0]?.message["params"], {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "headgate", version: "0.0.0" }
    })
    assert.deepStrictEqual(a.connections[0]?.farewell, [
      "mcp-protocol-version",
      "2025-06-18",
      "authorization",
      "Bearer x"
    ])
    assert.strictEqual(b.connections.length, 0)
    assert.strictEqual(relay.relay.sessions(), 0)
    await relay.close()
  })

  it("a handshake that fails is the answer", async () => {
    const a = serving("a", true, {})
    a.hear = (heard) => a.refuse(heard, -32600, "not you")
    const relay = await rehearse([a], { statefulMode: "stateless" })
    const response = relay.post(request("tools/call", { name: "x" }))
    assert.strictEqual(response.status, 500)
    assert.strictEqual(
      JSON.parse(response.text()).error.message,
      "failed to send message: upstream refused to initialize: not you"
    )
    assert.isTrue(a.connections[0]?.closed)
    await relay.close()
  })

  it("a client that leaves ends the connections", async () => {
    const a = silent("a", true)
    const relay = await rehearse([a], { statefulMode: "stateless" })
    const begun = relay.begin(posting(request("tools/call", { name: "x" })))
    begun.cancel()
    await new Promise((resolve) => setTimeout(resolve, 0))
    assert.isTrue(a.connections[0]?.closed)
    await relay.close()
  })

  it("notifications and replies are taken without meeting anyone", async () => {
    const a = serving("a", true, {})
    const relay = await rehearse([a], { statefulMode: "stateless" })
    assert.strictEqual(relay.post({ jsonrpc: "2.0", method: "notifications/initialized" }).status, 202)
    assert.strictEqual(relay.post({ jsonrpc: "2.0", id: 1, result: {} }).status, 202)
    assert.strictEqual(a.connections.length, 0)
    await relay.close()
  })
})
