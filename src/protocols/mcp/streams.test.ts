import { assert, describe, it } from "@effect/vitest"
import { FakeTarget, serving } from "../../../test/mcp-fake-target.ts"
import { listening, posting, type RehearsalOptions, rehearse } from "../../../test/mcp-rehearsal.ts"
import type { McpSink } from "./contract.ts"
import { EventStream } from "./event-stream.ts"
import { event } from "./sse.ts"

const silent = (name: string, shared: boolean) => {
  const target = new FakeTarget(name, shared)
  target.hear = (heard) => {
    if (heard.method === "initialize") target.answer(heard, { protocolVersion: "2025-11-25", capabilities: {} })
  }
  return target
}
const call = (name: string, id: string | number = 1) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } })
const log = (data: string) => JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { data } })
const begin = async (
  targets: ReadonlyArray<FakeTarget>,
  config: Parameters<typeof rehearse>[1] = {},
  options: RehearsalOptions = {}
) => {
  const relay = await rehearse(targets, config, options)
  const id = relay.initialize()
  return { relay, id, session: { "mcp-session-id": id } }
}

describe("server-sent events", () => {
  it("are written as the transport wants them", () => {
    assert.strictEqual(event("{}", undefined), "event: message\ndata: {}\n\n")
    assert.strictEqual(event("{}", { id: "7", retry: 10 }), "event: message\nid: 7\nretry: 10\ndata: {}\n\n")
    assert.strictEqual(event("", { id: "7", retry: undefined }), "id: 7\ndata: \n\n")
  })
})

describe("an event stream", () => {
  const sink = () => {
    const written: Array<string> = []
    let room = true
    let ended = false
    const own: McpSink = {
      write: (text) => {
        written.push(text)
        return room
      },
      end: () => {
        ended = true
      }
    }
    return { own, written, block: (on: boolean) => (room = !on), ended: () => ended }
  }

  it("hands over what came before its reader in one piece, and what comes after at once", () => {
    const stream = new EventStream(0, 1000, () => {})
    stream.push("a", 0)
    stream.push("b", 0)
    const { own, written, ended } = sink()
    stream.start(own)
    stream.push("c", 0)
    stream.end()
    assert.deepStrictEqual(written, ["ab", "c"])
    assert.isTrue(ended())
  })

  it("keeps what a full reader cannot take, tells its sources, and goes on when there is room", () => {
    const stream = new EventStream(0, 1_000_000, () => {})
    const { own, written, block, ended } = sink()
    stream.start(own)
    block(true)
    assert.isFalse(stream.push("a", 0))
    let drained = 0
    stream.whenDrained(() => drained++)
    assert.isTrue(stream.push("b", 0), "a little may wait")
    assert.isFalse(stream.push("x".repeat(70_000), 0))
    stream.end()
    assert.deepStrictEqual(written, ["a"])
    block(false)
    stream.resume()
    assert.deepStrictEqual(written, ["a", `b${"x".repeat(70_000)}`])
    assert.isTrue(ended())
    assert.strictEqual(drained, 0, "the stream is over: there is nothing to go on with")
  })

  it("cuts off a reader that lets the queue grow without end", () => {
    const closed: Array<boolean> = []
    const stream = new EventStream(0, 10, (gone) => closed.push(gone))
    const { own, block, ended } = sink()
    stream.start(own)
    block(true)
    stream.push("a", 0)
    for (let i = 0; i < 3; i++) stream.push("xxxx", 0)
    assert.isTrue(ended())
    assert.deepStrictEqual(closed, [true])
    stream.push("more", 0)
    stream.cancel()
    assert.deepStrictEqual(closed, [true])
  })
})

describe("back-pressure", () => {
  it("pauses the stream of a target while the client does not read, and only that one", async () => {
    let room = true
    const t = silent("t", false)
    const { relay, session } = await begin([t], {}, { ready: () => room })
    const begun = relay.begin(posting(call("a", 1), session))
    const heard = t.last
    relay.begin(posting(call("b", 2), session))
    room = false
    t.say(heard, log("1"))
    t.say(heard, log("2"))
    const { paused } = heard.connection
    assert.deepStrictEqual([...paused], [heard.stream])
    room = true
    begun.response()?.resume()
    assert.deepStrictEqual([...paused], [])
    assert.deepStrictEqual(begun.response()?.messages().length, 2)
    await relay.close()
  })
})

describe("keep-alive", () => {
  it("opens the head of a call that takes long, and goes on as long as it is quiet", async () => {
    const t = silent("t", true)
    const { relay, id, session } = await begin([t])
    const begun = relay.begin(posting(call("a"), session))
    const stream = relay.ask(listening(id))
    relay.clock.advance(14_000)
    assert.isUndefined(begun.response())
    relay.clock.advance(2_000)
    assert.strictEqual(begun.response()?.status, 200)
    assert.strictEqual(begun.response()?.text(), ": ping\n\n")
    assert.strictEqual(stream.text(), ": ping\n\n")
    t.say(t.last, log("x"))
    const before = begun.response()?.text()
    relay.clock.advance(10_000)
    assert.strictEqual(begun.response()?.text(), before)
    relay.clock.advance(10_000)
    assert.strictEqual(begun.response()?.text(), `${before}: ping\n\n`)
    t.answer(t.last, {})
    assert.isTrue(begun.response()?.ended())
    await relay.close()
    assert.strictEqual(relay.clock.timers, 0, "nothing open, no timer")
  })

  it("does not open the head of a handshake: it will carry the session", async () => {
    const t = new FakeTarget("t", true)
    const relay = await rehearse([t])
    const begun = relay.begin(posting({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} }))
    t.say(t.last, log("early"))
    relay.clock.advance(60_000)
    assert.isUndefined(begun.response())
    t.answer(t.last, {})
    assert.isTrue(begun.response()?.headers.has("mcp-session-id"))
    assert.strictEqual(begun.response()?.messages().length, 2)
    await relay.close()
  })
})

describe("the listening stream", () => {
  const refusing = (status: number) =>
    ({ _tag: "TargetStatus", status, message: "", headers: [], body: new Uint8Array() }) as const
  const table: ReadonlyArray<
    readonly [
      a: FakeTarget["listens"],
      b: FakeTarget["listens"] | undefined,
      mode: "failClosed" | "failOpen",
      status: number | undefined
    ]
  > = [
    ["opens", undefined, "failClosed", 200],
    [refusing(405), undefined, "failClosed", 405],
    [refusing(405), undefined, "failOpen", 200],
    [refusing(500), undefined, "failClosed", 500],
    [refusing(500), undefined, "failOpen", 500],
    ["opens", "opens", "failClosed", 200],
    ["opens", refusing(405), "failClosed", 200],
    [refusing(405), refusing(405), "failClosed", 405],
    [refusing(405), refusing(405), "failOpen", 405],
    ["opens", refusing(500), "failClosed", 500],
    ["opens", refusing(500), "failOpen", 200],
    ["opens", "silent", "failClosed", undefined]
  ]
  for (const [a, b, failureMode, status] of table) {
    const name = (listens: FakeTarget["listens"]) => (typeof listens === "string" ? listens : listens.status)
    it(`one ${name(a)}${b === undefined ? "" : `, one ${name(b)}`}, ${failureMode}: ${status}`, async () => {
      const targets = [silent("a", false), ...(b === undefined ? [] : [silent("b", false)])]
      targets[0]!.listens = a
      if (b !== undefined) targets[1]!.listens = b
      const { relay, id } = await begin(targets, { failureMode })
      const begun = relay.begin(listening(id))
      assert.strictEqual(begun.response()?.status, status)
      if (status === 405 && b !== undefined)
        assert.strictEqual(begun.response()?.text(), "mcp: GET event stream is not supported by any upstream")
      begun.cancel()
      await relay.close()
    })
  }

  it("takes what a shared channel says outside of calls, and what it said before", async () => {
    const t = silent("t", true)
    const { relay, id } = await begin([t])
    const say = (data: string) => t.connections[0]?.events.onMessage(log(data), undefined, undefined)
    say("before")
    const first = relay.ask(listening(id))
    say("one")
    const second = relay.ask(listening(id))
    say("two")
    const texts = (stream: typeof first) => stream.messages().map(({ params }) => (params as { data: string }).data)
    assert.deepStrictEqual(texts(first), ["before", "one"])
    assert.deepStrictEqual(texts(second), ["two"])
    second.cancel()
    say("kept")
    assert.deepStrictEqual(texts(relay.ask(listening(id))), ["kept"])
    await relay.close()
  })

  it("on a shared channel: one call takes what is said, of several the listener; changes of lists are the listener's", async () => {
    const t = silent("t", true)
    const { relay, id, session } = await begin([t])
    const stream = relay.ask(listening(id))
    const one = relay.begin(posting(call("a", 1), session))
    const say = (text: string) => t.connections[0]?.events.onMessage(text, undefined, undefined)
    say(log("for the call"))
    say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    const two = relay.begin(
      posting({ ...call("b", 2), params: { name: "b", _meta: { progressToken: "p2" } } }, session)
    )
    say(log("whose?"))
    say('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p2","progress":1}}')
    assert.strictEqual(one.response()?.messages().length, 1)
    assert.strictEqual(stream.messages().length, 2)
    assert.strictEqual(two.response()?.messages().length, 1)
    await relay.close()
  })

  it("of several targets goes on when one part of it ends: it is asked for again, from where it ended", async () => {
    const a = silent("a", false)
    const b = silent("b", false)
    const { relay, id } = await begin([a, b])
    const stream = relay.ask(listening(id))
    const at = a.connections[0]!
    at.events.onMessage(log("x"), at.listening[0]?.stream, { id: "e1", retry: 200 })
    assert.match(stream.text(), /^event: message\nid: a:e1\nretry: 200\n/)
    at.events.onEnd(at.listening[0]!.stream, undefined)
    assert.isFalse(stream.ended())
    relay.clock.advance(199)
    assert.strictEqual(at.listening.length, 1)
    relay.clock.advance(1)
    assert.strictEqual(at.listening[1]?.lastEventId, "e1")
    stream.cancel()
    relay.clock.advance(60_000)
    assert.strictEqual(at.listening.length, 2)
    await relay.close()
  })

  it("of a single target ends with the target's", async () => {
    const a = silent("a", false)
    const { relay, id } = await begin([a])
    const stream = relay.ask(listening(id))
    a.connections[0]?.events.onEnd(a.connections[0].listening[0]!.stream, undefined)
    assert.isTrue(stream.ended())
    await relay.close()
  })
})

describe("resumption", () => {
  it("event ids of a single target are its own; the client resumes at the target, and gets the answer in its form", async () => {
    const t = silent("t", false)
    const { relay, id, session } = await begin([t], { prefixMode: "always" })
    const read = { jsonrpc: "2.0", id: 9, method: "resources/read", params: { uri: "t+x:1" } }
    const begun = relay.begin(posting(read, session))
    const heard = t.last
    t.say(heard, "", { id: "e1", retry: 500 })
    assert.strictEqual(begun.response()?.text(), "id: e1\nretry: 500\ndata: \n\n")
    heard.connection.events.onEnd(heard.stream, undefined)
    assert.isTrue(begun.response()?.ended())
    const resumed = relay.ask(listening(id, { "last-event-id": "e1" }))
    const { stream, lastEventId } = t.connections[0]!.listening[0]!
    assert.strictEqual(lastEventId, "e1")
    const result = { contents: [{ uri: "x:1", text: "t" }] }
    heard.connection.events.onMessage(JSON.stringify({ jsonrpc: "2.0", id: 9, result }), stream, {
      id: "e2",
      retry: undefined
    })
    assert.deepStrictEqual(resumed.messages()[0]?.["result"], { contents: [{ uri: "t+x:1", text: "t" }] })
    assert.match(resumed.text(), /^event: message\nid: e2\n/)
    // The stream of a request is no place for unrelated messages: a listening stream is another one.
    relay.ask(listening(id))
    assert.strictEqual(t.connections[0]?.listening.length, 2)
    await relay.close()
  })

  it("of several targets, the event id names the one to ask", async () => {
    const a = silent("a", false)
    const b = silent("b", false)
    const { relay, id, session } = await begin([a, b])
    const begun = relay.begin(posting(call("b_x"), session))
    b.say(b.last, "", { id: "e:1", retry: undefined })
    assert.strictEqual(begun.response()?.text(), "id: b:e:1\ndata: \n\n")
    relay.ask(listening(id, { "last-event-id": "b:e:1" }))
    assert.strictEqual(a.connections[0]?.listening.length, 0)
    assert.strictEqual(b.connections[0]?.listening[0]?.lastEventId, "e:1")
    await relay.close()
  })

  it("a part of a federated answer is resumed by the relay, because the client cannot", async () => {
    const a = silent("a", false)
    const b = serving("b", false, { "tools/list": { tools: [{ name: "y" }] } })
    const { relay, session } = await begin([a, b], { keepAliveMillis: 0 })
    const begun = relay.begin(posting({ jsonrpc: "2.0", id: 1, method: "tools/list" }, session))
    const { connection, stream } = a.last
    connection.events.onMessage("", stream, { id: "e1", retry: 100 })
    connection.events.onEnd(stream, undefined)
    assert.isUndefined(begun.response())
    relay.clock.advance(100)
    const again = connection.listening[0]!
    assert.strictEqual(again.lastEventId, "e1")
    const answer = { jsonrpc: "2.0", id: 1, result: { tools: [{ name: "x" }] } }
    connection.events.onMessage(JSON.stringify(answer), again.stream, undefined)
    assert.deepStrictEqual(begun.response()?.messages()[0]?.["result"], { tools: [{ name: "a_x" }, { name: "b_y" }] })
    await relay.close()
  })
})
