/** `config.maxTotalBufferSize`: one budget for the bodies of all requests that are in memory. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Headgate, start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { until } from "./program.ts"

const chat = (bytes: number) => ({
  method: "POST",
  path: "/v1/chat/completions",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(bytes) }] })
})

const reply = JSON.stringify({
  id: "1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
})

/** A provider that answers when it is told to. */
const provider = Effect.gen(function* () {
  const waiting: Array<() => void> = []
  const server = yield* httpBackend((request, response) => {
    request.resume()
    request.on("end", () =>
      waiting.push(() => response.writeHead(200, { "content-type": "application/json" }).end(reply))
    )
  })
  return { port: portOf(server.address()), waiting }
})

const configuration = (port: number, limit: string, policies = "") => `
config: { ${limit} }
gateways: { default: { port: 8080 } }
llm:
  models: [{ name: "*", provider: openai, params: { apiKey: a, baseUrl: "http://127.0.0.1:${port}/v1" } }]
  ${policies}
`

const metric = async (gateway: Headgate, name: string) => {
  const { body } = await send(gateway.ports.stats!, { path: "/metrics" })
  return Number(new RegExp(`^headgate_${name} (\\d+)$`, "m").exec(body)?.[1] ?? Number.NaN)
}

describe("the budget for bodies in memory", () => {
  it.live("is that of all requests together: beyond it what must be read is 503, until there is room again", () =>
    Effect.gen(function* () {
      const { port, waiting } = yield* provider
      const gateway = yield* start(configuration(port, "maxTotalBufferSize: 300Ki"), {
        ephemeral: true,
        host: "127.0.0.1"
      })
      const ask = (bytes: number) => send(gateway.port(8080)!, chat(bytes))
      yield* Effect.promise(async () => {
        assert.deepStrictEqual(
          [await metric(gateway, "held_body_bytes"), await metric(gateway, "held_body_refusals_total")],
          [0, 0]
        )
        const first = ask(200_000)
        await until("the first call", () => waiting.length === 1)
        const held = await metric(gateway, "held_body_bytes")
        // What came with the head is in memory before anybody is asked.
        assert.isAbove(held, 100_000)
        assert.isAtMost(held, 300 * 1024)

        const second = await ask(200_000)
        assert.deepStrictEqual([second.status, waiting.length], [503, 1])
        assert.include(second.body, "too much is held in memory")
        assert.isAbove(await metric(gateway, "held_body_refusals_total"), 0)
        assert.strictEqual(await metric(gateway, "held_body_bytes"), held)

        // A small one still finds room.
        const small = ask(1000)
        await until("the small call", () => waiting.length === 2)
        for (const answer of waiting.splice(0)) answer()
        assert.deepStrictEqual([(await first).status, (await small).status], [200, 200])
        await until("all to be given back", async () => (await metric(gateway, "held_body_bytes")) === 0)

        const third = ask(200_000)
        await until("the third call", () => waiting.length === 1)
        waiting[0]!()
        assert.strictEqual((await third).status, 200)
      })
    })
  )

  it.live("is enough for what a body may have where nothing is said", () =>
    Effect.gen(function* () {
      const { port, waiting } = yield* provider
      const gateway = yield* start(configuration(port, ""), { ephemeral: true, host: "127.0.0.1" })
      yield* Effect.promise(async () => {
        const asked = send(gateway.port(8080)!, chat(2_000_000))
        await until("the call", () => waiting.length === 1)
        waiting[0]!()
        assert.strictEqual((await asked).status, 200)
        assert.strictEqual(await metric(gateway, "held_body_refusals_total"), 0)
      })
    })
  )
})
