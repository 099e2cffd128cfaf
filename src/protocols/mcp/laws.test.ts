import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { FakeTarget, type Heard } from "../../../test/mcp-fake-target.ts"
import { listening, posting, rehearse } from "../../../test/mcp-rehearsal.ts"

const small = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

/** One thing that happens: a call of the client, an answer, a message in between, a question of a target, a reply. */
const Step = Schema.Struct({
  what: Schema.Literals(["call", "call", "answer", "answer", "progress", "ask", "reply", "cancel"]),
  target: small(2),
  pick: small(1000),
  id: Schema.Literals([0, 1, 2, "0", "1", "a", "hg_t0_n_1"])
})

interface Open {
  readonly id: string | number
  readonly target: number
  readonly tag: string
  readonly heard: Heard
  readonly response: () => ReturnType<ReturnType<Awaited<ReturnType<typeof rehearse>>["begin"]>["response"]>
}

const run = (steps: ReadonlyArray<typeof Step.Type>, shared: ReadonlyArray<boolean>) =>
  Effect.promise(async () => {
    const targets = shared.map((one, index) => {
      const target = new FakeTarget(`t${index}`, one)
      target.hear = (heard) => {
        if (heard.method === "initialize") target.answer(heard, { protocolVersion: "2025-11-25", capabilities: {} })
      }
      return target
    })
    const relay = await rehearse(targets, { keepAliveMillis: 0 })
    const id = relay.initialize()
    const session = { "mcp-session-id": id }
    const stream = relay.ask(listening(id))
    const open: Array<Open> = []
    const asked: Array<{ readonly target: number; readonly id: string | number; readonly clientId: unknown }> = []
    let tags = 0

    for (const step of steps) {
      const target = targets[step.target]!
      const connection = target.connections[0]!
      switch (step.what) {
        case "call": {
          const tag = `tag${++tags}`
          const busy = open.some((one) => one.target === step.target && one.id === step.id)
          const message = {
            jsonrpc: "2.0",
            id: step.id,
            method: "tools/call",
            params: { name: `t${step.target}_x`, arguments: { tag }, _meta: { progressToken: tag } }
          }
          const begun = relay.begin(posting(message, session))
          if (busy) {
            assert.strictEqual(begun.response()?.status, 400)
            break
          }
          const heard = target.last
          assert.strictEqual(heard.message["id"], step.id)
          assert.deepStrictEqual(heard.message["params"], {
            name: "x",
            arguments: { tag },
            _meta: { progressToken: tag }
          })
          open.push({ id: step.id, target: step.target, tag, heard, response: begun.response })
          break
        }
        case "answer":
        case "progress": {
          const one = open[step.pick % (open.length || 1)]
          if (one === undefined) break
          const own = targets[one.target]!
          if (step.what === "answer") {
            open.splice(open.indexOf(one), 1)
            own.answer(one.heard, { tag: one.tag })
            const last = one.response()!.messages().at(-1)
            assert.deepStrictEqual(last, { jsonrpc: "2.0", id: one.id, result: { tag: one.tag } })
            assert.isTrue(one.response()!.ended())
          } else {
            const params = { progressToken: one.tag, progress: 1 }
            own.say(one.heard, JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }))
            assert.deepStrictEqual(one.response()!.messages().at(-1)?.["params"], params)
          }
          break
        }
        case "ask": {
          const on = connection.listening[0]?.stream
          const question = JSON.stringify({ jsonrpc: "2.0", id: step.id, method: "roots/list" })
          connection.events.onMessage(question, target.shared ? undefined : on, undefined)
          const everywhere = [stream, ...open.map(({ response }) => response())]
          const last = everywhere
            .map((one) => one?.messages().findLast(({ method }) => method === "roots/list")?.["id"])
            .filter((own) => own === `hg_t${step.target}_${typeof step.id === "number" ? "n" : "s"}_${step.id}`)
          assert.isAtLeast(last.length, 1)
          asked.push({ target: step.target, id: step.id, clientId: last[0] })
          break
        }
        case "reply": {
          const one = asked[step.pick % (asked.length || 1)]
          if (one === undefined) break
          const before = targets.map(({ heard }) => heard.length)
          assert.strictEqual(
            relay.post({ jsonrpc: "2.0", id: one.clientId, result: { to: one.id } }, session).status,
            202
          )
          const after = targets.map(({ heard }) => heard.length)
          assert.deepStrictEqual(
            after,
            before.map((count, index) => (index === one.target ? count + 1 : count))
          )
          assert.deepStrictEqual(targets[one.target]!.last.message, {
            jsonrpc: "2.0",
            id: one.id,
            result: { to: one.id }
          })
          break
        }
        case "cancel": {
          const one = open[step.pick % (open.length || 1)]
          if (one === undefined) break
          relay.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: one.id } }, session)
          // An id may be in use at several targets: the client has given up all requests with it.
          for (const gone of open.filter(({ id }) => id === one.id)) {
            assert.isTrue(gone.response()!.ended())
            open.splice(open.indexOf(gone), 1)
          }
        }
      }
    }
    // What is still open can still be answered, in any order.
    for (const one of open.reverse()) {
      targets[one.target]!.answer(one.heard, { tag: one.tag })
      assert.deepStrictEqual(one.response()!.messages().at(-1)?.["result"], { tag: one.tag })
    }
    await relay.close()
  })

describe("laws of the federation", () => {
  it.effect.prop(
    "whatever the interleaving, every answer, progress and question arrives where it belongs, with its own id",
    {
      steps: Schema.Array(Step).check(Schema.isMinLength(30), Schema.isMaxLength(60)),
      shared: Schema.Tuple([Schema.Boolean, Schema.Boolean, Schema.Boolean])
    },
    ({ steps, shared }) => run(steps, shared),
    { arbitrary: { runs: 150 } }
  )
})

const Method = Schema.Literals([
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "resources/read",
  "completion/complete",
  "subscriptions/listen",
  "tasks/get",
  "notifications/cancelled",
  "notifications/progress",
  "future/method"
])
const Odd = Schema.Union([
  Schema.Json,
  Schema.Struct({ name: Schema.Json }),
  Schema.Struct({ uri: Schema.Literals(["t0+x:1", "+", "ui://+", "t9+x"]) }),
  Schema.Struct({ ref: Schema.Json, cursor: Schema.Json, notifications: Schema.Json }),
  Schema.Struct({ requestId: Schema.Json, progressToken: Schema.Json, _meta: Schema.Json })
])
const Id = Schema.Union([Schema.Literals([1, 2, "a", "hg_t0_n_1"]), Schema.Literals([3, "b"]), Schema.Json])
const Message = Schema.Union([
  Schema.Struct({ jsonrpc: Schema.Literal("2.0"), id: Id, method: Method, params: Odd }),
  Schema.Struct({ jsonrpc: Schema.Literal("2.0"), method: Method, params: Odd }),
  Schema.Struct({ jsonrpc: Schema.Literal("2.0"), id: Id, result: Odd }),
  Schema.Struct({ jsonrpc: Schema.Literal("2.0"), id: Id, error: Odd }),
  Schema.Json
])

describe("laws of robustness", () => {
  const statuses = new Map<number, number>()
  it.effect.prop(
    "whatever a client sends and a target says, every request has an answer with a status of the protocol",
    {
      sent: Schema.Array(Message).check(Schema.isMinLength(3), Schema.isMaxLength(10)),
      said: Schema.Array(Message).check(Schema.isMinLength(3), Schema.isMaxLength(10)),
      version: Schema.Literals(["2025-11-25", "2026-07-28", "2025-03-26", "nonsense", ""]),
      prefixMode: Schema.Literals(["conditional", "always", "never"]),
      count: small(2),
      batch: Schema.Boolean
    },
    ({ sent, said, version, prefixMode, count, batch }) =>
      Effect.promise(async () => {
        let turn = 0
        const targets = Array.from({ length: count + 1 }, (_, index) => {
          const target = new FakeTarget(`t${index}`, index === 1)
          target.hear = (heard) => {
            if (heard.message["id"] === "init")
              target.answer(heard, { protocolVersion: "2025-11-25", capabilities: {} })
            else target.say(heard, JSON.stringify(said[turn++ % said.length]))
            // Afterwards the target answers, so that nothing stays open.
            if (heard.message["id"] !== undefined && heard.method !== undefined) target.answer(heard, said[0])
          }
          return target
        })
        const relay = await rehearse(targets, { prefixMode, fanOutTimeoutMillis: 1000 })
        const session = { "mcp-session-id": relay.initialize() }
        const headers = version === "" ? session : { ...session, "mcp-protocol-version": version }
        for (const message of batch ? [sent, ...sent] : sent) {
          const begun = relay.begin(posting(message, headers))
          relay.clock.advance(20_000)
          const response = begun.response()
          assert.isDefined(response, JSON.stringify(message))
          statuses.set(response!.status, (statuses.get(response!.status) ?? 0) + 1)
          assert.include([200, 202, 400, 404, 500, 503, 504], response!.status)
          response!.cancel()
        }
        await relay.close()
        assert.strictEqual(relay.clock.timers, 0)
      }),
    { arbitrary: { runs: 300 } }
  )

  it("… and the kinds of answers are all reached", () => {
    for (const status of [200, 202, 400, 404, 500]) assert.isAbove(statuses.get(status) ?? 0, 0, String(status))
  })
})
