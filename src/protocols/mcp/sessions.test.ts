import { assert, describe, it } from "@effect/vitest"
import { FakeTarget, serving } from "../../../test/mcp-fake-target.ts"
import { listening, posting, rehearse } from "../../../test/mcp-rehearsal.ts"
import { defaultLimits } from "./config.ts"
import { makeSessionIds } from "./session-id.ts"

const key = new Uint8Array(32).fill(9)
const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x" } }
const tools = { "tools/call": { ok: 1 } }

describe("sessions", () => {
  it("are forgotten when nobody used them for their time to live, and children end with them", async () => {
    const target = serving("t", true, tools)
    const relay = await rehearse([target], { sessionTtlMillis: 60_000 }, { principal: "alice" })
    const session = { "mcp-session-id": relay.initialize() }
    relay.clock.advance(50_000)
    assert.strictEqual(relay.post(call, session).status, 200)
    relay.clock.advance(50_000)
    assert.strictEqual(relay.relay.sessions(), 1)
    relay.clock.advance(60_000)
    assert.strictEqual(relay.relay.sessions(), 0)
    assert.isTrue(target.connections[0]?.closed)
    assert.isUndefined(target.connections[0]?.farewell)
    assert.strictEqual(relay.post(call, session).status, 404)
    assert.strictEqual(relay.clock.timers, 0)
    await relay.close()
  })

  it("are over at the end of their time to live, whenever the next look at all of them is due", async () => {
    const target = serving("t", true, tools)
    const relay = await rehearse([target], { sessionTtlMillis: 5_000 })
    const session = { "mcp-session-id": relay.initialize() }
    relay.clock.advance(4_999)
    assert.strictEqual(relay.post(call, session).status, 200)
    relay.clock.advance(5_000)
    assert.strictEqual(relay.post(call, session).status, 404)
    assert.isTrue(target.connections[0]?.closed)
    await relay.close()
  })

  it("are in use while somebody listens or waits, and no longer", async () => {
    const target = new FakeTarget("t", true)
    target.hear = (heard) => {
      if (heard.method === "initialize") target.answer(heard, { protocolVersion: "2025-11-25" })
    }
    const relay = await rehearse([target], { sessionTtlMillis: 60_000 }, { principal: "alice" })
    const id = relay.initialize()
    const stream = relay.ask(listening(id))
    relay.clock.advance(300_000)
    assert.strictEqual(relay.relay.sessions(), 1)
    stream.cancel()
    const begun = relay.begin(posting(call, { "mcp-session-id": id }))
    relay.clock.advance(300_000)
    assert.strictEqual(relay.relay.sessions(), 1)
    // A call that never ends and that nobody waits for keeps nothing alive.
    begun.response()?.cancel()
    relay.clock.advance(100_000)
    assert.strictEqual(relay.relay.sessions(), 0)
    await relay.close()
  })

  it("of HTTP targets go on in another process with the same key, with each target's own session", async () => {
    const targets = () => [serving("a", false, tools), serving("b", false, tools)]
    const one = await rehearse(targets(), {}, { key, owner: "one" })
    const id = one.initialize()
    const others = targets()
    const two = await rehearse(others, {}, { key, owner: "two" })
    const response = two.post({ ...call, params: { name: "b_x" } }, { "mcp-session-id": id })
    assert.deepStrictEqual(response.messages()[0]?.["result"], { ok: 1 })
    assert.strictEqual(others[1]?.connections[0]?.sessionId, "b-session")
    assert.strictEqual(others[0]?.connections.length, 0)
    assert.strictEqual(two.ask(listening(id)).status, 200)
    assert.isUndefined(two.relay.ownerOf({ ...listening(id), listener: "listener", principal: "" } as never))
    // The end reaches the targets also from a process that had not spoken with them.
    const fresh = targets()
    const three = await rehearse(fresh, {}, { key, owner: "three" })
    assert.strictEqual(three.ask({ method: "DELETE", headers: ["mcp-session-id", id] }).status, 202)
    assert.deepStrictEqual(
      fresh.map(({ connections }) => connections[0]?.farewell),
      [[], []]
    )
    for (const relay of [one, two, three]) await relay.close()
  })

  it("of child processes stay where they are, and tell where that is", async () => {
    const one = await rehearse([serving("t", true, tools)], {}, { key, owner: "one" })
    const two = await rehearse([serving("t", true, tools)], {}, { key, owner: "two" })
    const id = one.initialize()
    const request = { ...listening(id), method: "GET", listener: "listener", principal: "" } as never
    assert.strictEqual(two.post(call, { "mcp-session-id": id }).status, 404)
    assert.strictEqual(two.relay.ownerOf(request), "one")
    assert.isUndefined(one.relay.ownerOf(request))
    assert.isUndefined(two.relay.ownerOf({ ...(request as object), principal: "mallory" } as never))
    await one.close()
    await two.close()
  })

  it("do not survive other targets, or another key", async () => {
    const one = await rehearse([serving("a", false, tools), serving("b", false, tools)], {}, { key })
    const id = one.initialize()
    const table = [
      [["a"], "failClosed", 404],
      [["a", "c"], "failClosed", 404],
      [["a", "b", "c"], "failClosed", 404],
      [["b", "a"], "failClosed", 200],
      [["a", "b", "c"], "failOpen", 200]
    ] as const
    for (const [names, failureMode, status] of table) {
      const relay = await rehearse(
        names.map((name) => serving(name, false, tools)),
        { failureMode },
        { key }
      )
      const response = relay.post({ ...call, params: { name: "a_x" } }, { "mcp-session-id": id })
      assert.strictEqual(response.status, status, `${names} ${failureMode}`)
      await relay.close()
    }
    const other = await rehearse(
      [serving("a", false, tools), serving("b", false, tools)],
      {},
      { key: new Uint8Array(32) }
    )
    assert.strictEqual(other.post(call, { "mcp-session-id": id }).status, 404)
    await one.close()
    await other.close()
  })

  it("with too much state for a header stay in their process", async () => {
    const targets = Array.from({ length: 40 }, (_, i) => {
      const target = serving(`target-number-${i}-${"x".repeat(100)}`, false, {})
      return target
    })
    const relay = await rehearse(targets, {}, { key, owner: "here" })
    const id = relay.initialize()
    assert.isBelow(id.length, 1000)
    assert.isUndefined(
      makeSessionIds(key).decode(id, { backend: "backend", listener: "listener", principal: "" })?.targets
    )
    await relay.close()
  })

  it("end with the relay", async () => {
    const target = serving("t", true, tools)
    const relay = await rehearse([target])
    const stream = relay.ask(listening(relay.initialize()))
    await relay.close()
    assert.isTrue(target.connections[0]?.closed)
    assert.isTrue(stream.ended())
  })

  it("that nobody waited for are not kept: the client left during the handshake", async () => {
    const target = new FakeTarget("t", true)
    const relay = await rehearse([target])
    const begun = relay.begin(posting({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} }))
    begun.cancel()
    await new Promise((resolve) => setTimeout(resolve, 0))
    assert.isTrue(target.connections[0]?.closed)
    assert.strictEqual(relay.relay.sessions(), 0)
    await relay.close()
  })

  describe("of callers without a principal", () => {
    const limits = { ...defaultLimits, sessionsPerAddress: 2 }
    const hello = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {} }
    }
    const from = (address: string, principal = "") => ({ ...posting(hello), address, principal })
    const refusal = {
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32603, message: "too many sessions of this address (maxSessionsPerAddress: 2)" }
    }

    it("are so many of an address, whoever else has some, and as many again when they end", async () => {
      const relay = await rehearse([serving("t", true, tools)], { limits })
      const first = relay.ask(from("192.0.2.1")).headers.get("mcp-session-id")!
      assert.strictEqual(relay.ask(from("192.0.2.1")).status, 200)
      const refused = relay.ask(from("192.0.2.1"))
      assert.strictEqual(refused.status, 429)
      assert.deepStrictEqual(JSON.parse(refused.text()), refusal)
      assert.strictEqual(relay.ask({ method: "GET", path: "/sse", address: "192.0.2.1" }).status, 429)
      // Others, and whoever says who they are, have places of their own.
      assert.strictEqual(relay.ask(from("192.0.2.2")).status, 200)
      for (let i = 0; i < 5; i++) assert.strictEqual(relay.ask(from("192.0.2.1", "alice")).status, 200)
      relay.ask({ method: "DELETE", headers: ["mcp-session-id", first], address: "192.0.2.1" })
      assert.strictEqual(relay.ask(from("192.0.2.1")).status, 200)
      await relay.close()
    })

    it("count for the 64 bits of a network in IPv6", async () => {
      const relay = await rehearse([serving("t", true, tools)], { limits })
      assert.strictEqual(relay.ask(from("2001:db8:0:1::1")).status, 200)
      assert.strictEqual(relay.ask(from("2001:db8:0:1:ffff::2")).status, 200)
      assert.strictEqual(relay.ask(from("2001:0db8::1:a:b:c:d")).status, 429)
      assert.strictEqual(relay.ask(from("2001:db8:0:2::1")).status, 200)
      await relay.close()
    })

    it("count while their handshake lasts, and no more when it fails", async () => {
      const target = new FakeTarget("t", true)
      const relay = await rehearse([target], { limits })
      const begun = [relay.begin(from("192.0.2.1")), relay.begin(from("192.0.2.1"))]
      assert.strictEqual(relay.ask(from("192.0.2.1")).status, 429)
      for (const { cancel } of begun) cancel()
      await new Promise((resolve) => setTimeout(resolve, 0))
      assert.isTrue(target.connections.every(({ closed }) => closed))
      relay.begin(from("192.0.2.1"))
      assert.strictEqual(target.connections.length, 3)
      await relay.close()
    })

    it("make room when they have been idle for a minute, the longest idle one first", async () => {
      const relay = await rehearse([serving("t", true, tools)], { limits })
      const [first, second] = [relay.initialize(), relay.initialize()]
      const used = (id: string) => relay.post(call, { "mcp-session-id": id }).status
      assert.deepStrictEqual([used(first), used(second)], [200, 200])
      relay.clock.advance(30_000)
      assert.strictEqual(used(first), 200)
      relay.clock.advance(29_999)
      assert.strictEqual(relay.ask(posting(hello)).status, 429)
      relay.clock.advance(1)
      assert.strictEqual(relay.ask(posting(hello)).status, 200)
      assert.deepStrictEqual([used(first), used(second)], [200, 404])
      await relay.close()
    })

    it("count streams of 2024-11-05, which end with their connection", async () => {
      const relay = await rehearse([serving("t", true, tools)], { limits })
      const stream = { method: "GET", path: "/sse", address: "192.0.2.1" }
      const [first] = [relay.ask(stream), relay.ask(stream)]
      assert.strictEqual(relay.ask(stream).status, 429)
      assert.strictEqual(relay.ask(from("192.0.2.1")).status, 429)
      first.cancel()
      assert.strictEqual(relay.ask(stream).status, 200)
      await relay.close()
    })

    it("end after five seconds without a second message, and their children with them", async () => {
      const target = serving("t", true, tools)
      const relay = await rehearse([target])
      const unused = relay.initialize()
      const used = { "mcp-session-id": relay.initialize() }
      assert.strictEqual(relay.post({ jsonrpc: "2.0", method: "notifications/initialized" }, used).status, 202)
      relay.clock.advance(4_999)
      assert.strictEqual(relay.relay.sessions(), 2)
      relay.clock.advance(1)
      assert.strictEqual(relay.relay.sessions(), 1)
      assert.deepStrictEqual(
        target.connections.map(({ closed }) => closed),
        [true, false]
      )
      assert.strictEqual(relay.post(call, { "mcp-session-id": unused }).status, 404)
      assert.strictEqual(relay.post(call, used).status, 200)
      await relay.close()
      assert.strictEqual(relay.clock.timers, 0)
    })

    it("that ended early come back where their id alone suffices, within the bound", async () => {
      const relay = await rehearse([serving("t", false, tools)], { limits })
      const ids = Array.from({ length: 3 }, () => {
        const id = relay.initialize()
        relay.clock.advance(5_000)
        return id
      })
      assert.strictEqual(relay.relay.sessions(), 0)
      assert.deepStrictEqual(
        ids.map((id) => relay.post(call, { "mcp-session-id": id }).status),
        [200, 200, 404]
      )
      await relay.close()
    })

    it("are not ended early when a principal is known", async () => {
      const relay = await rehearse([serving("t", true, tools)], {}, { principal: "alice" })
      const id = relay.initialize()
      relay.clock.advance(60_000)
      assert.strictEqual(relay.post(call, { "mcp-session-id": id }).status, 200)
      await relay.close()
    })
  })

  it("of a second handshake are none: the first one stands", async () => {
    const relay = await rehearse([serving("t", true, tools)])
    const session = { "mcp-session-id": relay.initialize() }
    const again = relay.post({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} }, session)
    assert.strictEqual(again.status, 500)
    assert.strictEqual(relay.post(call, session).status, 200)
    await relay.close()
  })
})
