/** A reservation of tokens that has to be asked for elsewhere: the request waits for it, and lets go of it when its client does. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { makeHeadgate } from "../src/main/library.ts"
import { after, next, object, policies, policy, registry, slots } from "../src/main/policy.ts"
import { send } from "./client.ts"
import { eventually, RawClient } from "./http/raw-client.ts"
import { origin } from "./origin.ts"

/** A budget that somebody else keeps. */
const remote = () => {
  const asked: Array<Deferred.Deferred<slots.TokenShare>> = []
  const seen = { settled: [] as Array<number | undefined>, called: 0 }
  const share: slots.TokenShare = { settle: (input) => seen.settled.push(input) }
  const budgets: slots.TokenBudgets = {
    reserve: () =>
      Effect.suspend(() => {
        const answer = Deferred.makeUnsafe<slots.TokenShare>()
        asked.push(answer)
        return Effect.onInterrupt(Deferred.await(answer), () => Effect.sync(() => void seen.called++))
      })
  }
  const remoteBudget = policy({
    name: "remoteBudget",
    traceKey: "remoteBudget",
    schema: object("RemoteBudget", "Tokens that another server counts.", {}),
    sites: ["route"],
    responds: [],
    reads: [],
    writes: [slots.tokenBudgets],
    outcomes: ["next"],
    maturity: { status: "alpha", untrusted: "client" },
    compile: (_) =>
      Effect.succeed([
        {
          name: "remoteBudget",
          phase: "request",
          run: (x) => {
            x.set(slots.tokenBudgets, budgets)
            return next
          }
        }
      ])
  })
  const headgate = makeHeadgate({
    registry: registry([...policies.policies, remoteBudget], {
      ...policies.orders,
      route: after(policies.orders.route, "cors", "remoteBudget")
    })
  })
  return { headgate, asked, seen, grant: (index: number) => Deferred.succeed(asked[index]!, share) }
}

const configuration = (port: number) => `
gateways: { default: { port: 8080 } }
routes:
- policies: { remoteBudget: {}, timeout: { requestTimeout: 2s } }
  backends:
  - ai:
      name: m
      provider: { openAI: {} }
      hostOverride: "127.0.0.1:${port}"
    policies: { backendAuth: { key: a } }
`

const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] })
const chat = { method: "POST", path: "/v1/chat/completions", headers: { "content-type": "application/json" }, body }
const answer = {
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 }
  })
}

describe("a reservation of tokens that waits", () => {
  it.live("keeps the model from being called until it is granted, and is settled once", () =>
    Effect.gen(function* () {
      const { headgate, asked, seen, grant } = remote()
      const provider = yield* origin(answer)
      const gateway = yield* headgate.start(configuration(provider.port), { ephemeral: true, host: "127.0.0.1" })
      const sent = send(gateway.port(8080)!, chat)
      yield* Effect.promise(() => eventually(() => asked.length === 1))
      assert.strictEqual(provider.received.length, 0)
      yield* grant(0)
      const { status } = yield* Effect.promise(() => sent)
      assert.deepStrictEqual([status, provider.received.length], [200, 1])
      yield* Effect.promise(() => eventually(() => seen.settled.length > 0))
      assert.deepStrictEqual([seen.settled, seen.called], [[7], 0])
    })
  )

  it.live("is called off when its client leaves: nothing is called, and nothing is settled", () =>
    Effect.gen(function* () {
      const { headgate, asked, seen, grant } = remote()
      const provider = yield* origin(answer)
      const gateway = yield* headgate.start(configuration(provider.port), { ephemeral: true, host: "127.0.0.1" })
      const client = new RawClient(gateway.port(8080)!)
      client.send(
        `POST ${chat.path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
      )
      yield* Effect.promise(() => eventually(() => asked.length === 1))
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => seen.called === 1))
      // Whoever grants it now comes too late.
      yield* grant(0)
      const next = send(gateway.port(8080)!, chat)
      yield* Effect.promise(() => eventually(() => asked.length === 2))
      yield* grant(1)
      assert.strictEqual((yield* Effect.promise(() => next)).status, 200)
      yield* Effect.promise(() => eventually(() => seen.settled.length > 0))
      assert.deepStrictEqual([provider.received.length, seen.settled], [1, [7]])
    })
  )

  it.live("ends with the time of its request", () =>
    Effect.gen(function* () {
      const { headgate, asked, seen } = remote()
      const provider = yield* origin(answer)
      const text = configuration(provider.port).replace("2s", "100ms")
      const gateway = yield* headgate.start(text, { ephemeral: true, host: "127.0.0.1" })
      const { status } = yield* Effect.promise(() => send(gateway.port(8080)!, chat))
      assert.deepStrictEqual([status, asked.length, seen.called], [504, 1, 1])
      assert.deepStrictEqual([provider.received.length, seen.settled], [0, []])
    })
  )
})
