/** A virtual model that fails over: who is tried next, when, and how a wider name takes part. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { completion, json, type Provider, startProvider } from "./provider.ts"
import { type Headgate, startHeadgate } from "./running.ts"

const usage = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 }
let busy: Provider
let well: Provider
let gate: Headgate

beforeAll(async () => {
  busy = await startProvider((_, response) => {
    response.setHeader("retry-after", "3600")
    json(response, { error: { message: "later" } }, 429)
  })
  well = await startProvider((_, response) => json(response, completion("fine", usage)))
  gate = await startHeadgate(
    (port) => `
llm:
  port: ${port}
  models:
    - name: "busy-*"
      provider: openai
      params: { baseUrl: "${busy.url}/v1" }
      health: { unhealthyExpression: response.code == 429 || response.code >= 500, eviction: { consecutiveFailures: 2 } }
    - name: well
      provider: openai
      params: { baseUrl: "${well.url}/v1" }
    - name: nobody
      provider: openai
      params: { baseUrl: "http://127.0.0.1:1/v1" }
      health: { eviction: { duration: 1h } }
  virtualModels:
    - name: steady
      routing: { failover: { targets: [{ model: well, priority: 2 }, { model: busy-one, priority: 1 }] } }
    - name: reachable
      routing: { failover: { targets: [{ model: nobody, priority: 1 }, { model: well, priority: 2 }] } }
`
  )
})

afterAll(async () => {
  await gate.stop()
  await busy.stop()
  await well.stop()
})

const ask = async (model: string) => {
  const response = await fetch(`${gate.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] })
  })
  await response.text()
  return response.status
}

describe("failover", () => {
  it("goes on with the next rank after as many bad answers as configured", async () => {
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push(await ask("steady"))
    assert.deepStrictEqual(statuses, [429, 429, 200, 200, 200])
    assert.strictEqual(busy.asked.length, 2)
    // Who asks for the model itself gets it.
    assert.strictEqual(await ask("busy-two"), 429)
  })

  it("goes on when nobody answers at all", async () => {
    assert.deepStrictEqual([await ask("reachable"), await ask("reachable")], [503, 200])
  })
})
