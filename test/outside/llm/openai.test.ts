/** The official OpenAI client through Headgate, against a farm of mocked providers: the typed results are those of the direct call. */
import { LLMock } from "@copilotkit/aimock"
import { assert, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { afterAll, beforeAll } from "vitest"
import { chunks, events, type Provider, startProvider } from "./provider.ts"
import { eventually, type Headgate, startHeadgate } from "./running.ts"

const farm = new LLMock({ port: 0, logLevel: "silent" })
let gate: Headgate
let slow: Provider

const tools = [
  {
    type: "function" as const,
    function: {
      name: "weather",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    }
  }
]

beforeAll(async () => {
  farm
    .onMessage("hello", { content: "Hi there, how are you today?" })
    .onMessage("weather", { toolCalls: [{ name: "weather", arguments: '{"city":"Bern"}', id: "call_1" }] })
    .onMessage("denied", {
      error: { message: "no such key", type: "invalid_request_error", code: "invalid_api_key" },
      status: 401
    })
    .onMessage("busy", { error: { message: "slow down", type: "rate_limit_error" }, status: 429 })
    .onMessage("broken", { error: { message: "it broke", type: "server_error" }, status: 500 })
    .onEmbedding("hello", { embedding: [0.25, -0.5, 1] })
  await farm.start()
  slow = await startProvider((_, response) => events(response, chunks(300, undefined), 10))
  gate = await startHeadgate(
    (port) => `
llm:
  port: ${port}
  models:
    - name: gpt-4o
      provider: openai
      params: { baseUrl: "${farm.url}/v1", apiKey: sk-provider }
    - name: fast
      provider: openai
      params: { baseUrl: "${farm.url}/v1", model: gpt-4o-mini, apiKey: sk-provider }
    - name: text-embedding-3-small
      provider: openai
      params: { baseUrl: "${farm.url}/v1" }
    - name: slow
      provider: openai
      params: { baseUrl: "${slow.url}/v1" }
    - name: house-*
      provider:
        custom:
          providerOverride: house
          formats: [{ type: completions }, { type: responses }, { type: embeddings }]
      params: { baseUrl: "${farm.url}/v1" }
`
  )
})

afterAll(async () => {
  await gate.stop()
  await farm.stop()
  await slow.stop()
})

const client = (baseURL: string) => new OpenAI({ baseURL, apiKey: "sk-client", maxRetries: 0 })
const direct = () => client(`${farm.url}/v1`)
const through = () => client(`${gate.url}/v1`)

/** Without what differs from call to call. */
const steady = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, each: unknown) =>
      /^(id|item_id|created|created_at|completed_at|system_fingerprint|obfuscation|_request_id)$/.test(key) ? "*" : each
    )
  )

const asked = (text: string, model = "gpt-4o") => ({ model, messages: [{ role: "user" as const, content: text }] })

const both = async <A>(call: (client: OpenAI) => Promise<A>): Promise<readonly [A, A]> => [
  await call(direct()),
  await call(through())
]

const all = async <A>(stream: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const found: Array<A> = []
  for await (const each of stream) found.push(each)
  return found
}

const failureOf = async (call: Promise<unknown>) => {
  try {
    await call
  } catch (error) {
    if (error instanceof OpenAI.APIError)
      return {
        name: error.constructor.name,
        status: error.status,
        error: error.error,
        code: error.code,
        type: error.type
      }
    throw error
  }
  return undefined
}

describe("the OpenAI client through Headgate", () => {
  for (const model of ["gpt-4o", "house-1"])
    it(`chats, plain and streamed, with ${model}`, async () => {
      const [d, t] = await both((c) => c.chat.completions.create(asked("hello", model)))
      assert.deepStrictEqual(steady(t), steady(d))
      assert.strictEqual(t.choices[0]?.message.content, "Hi there, how are you today?")
      const options = { ...asked("hello", model), stream: true as const, stream_options: { include_usage: true } }
      const [ds, ts] = await both(async (c) => all(await c.chat.completions.create(options)))
      assert.deepStrictEqual(steady(ts), steady(ds))
      assert.isAbove(ts.at(-1)?.usage?.completion_tokens ?? 0, 0)
    })

  it("hands on tool calls, plain and streamed", async () => {
    const [d, t] = await both((c) => c.chat.completions.create({ ...asked("weather"), tools }))
    assert.deepStrictEqual(steady(t), steady(d))
    assert.strictEqual(t.choices[0]?.finish_reason, "tool_calls")
    const collect = (c: OpenAI) =>
      c.chat.completions
        .stream({ ...asked("weather"), tools, stream_options: { include_usage: true } })
        .finalChatCompletion()
    const [ds, ts] = await both(collect)
    assert.deepStrictEqual(steady(ts), steady(ds))
    const call = ts.choices[0]?.message.tool_calls?.[0]
    assert.strictEqual(call?.type === "function" ? call.function.arguments : undefined, '{"city":"Bern"}')
  })

  for (const [text, status] of [
    ["denied", 401],
    ["busy", 429],
    ["broken", 500]
  ] as const)
    it(`reports ${status} of the provider as the client knows it`, async () => {
      const [d, t] = await both((c) => failureOf(c.chat.completions.create(asked(text))))
      assert.strictEqual(t?.status, status)
      assert.deepStrictEqual(t, d)
      const [ds, ts] = await both((c) => failureOf(c.chat.completions.create({ ...asked(text), stream: true })))
      assert.deepStrictEqual(ts, ds)
    })

  it("cancels the provider's call when the client goes away in the middle", async () => {
    const stream = await through().chat.completions.create({ ...asked("hello", "slow"), stream: true })
    let seen = 0
    for await (const _ of stream) if (++seen === 3) break
    await eventually(() => slow.asked.find(({ hungUp }) => hungUp), "the provider to notice")
    const line = await gate.logged((line) => line["gen_ai.request.model"] === "slow")
    assert.strictEqual(line["http.status"], 200)
  })

  it("answers with responses, plain and streamed", async () => {
    const ask = { model: "gpt-4o", input: "hello" }
    const [d, t] = await both((c) => c.responses.create(ask))
    assert.deepStrictEqual(steady(t), steady(d))
    assert.strictEqual(t.output_text, "Hi there, how are you today?")
    const [ds, ts] = await both(async (c) => all(await c.responses.create({ ...ask, stream: true })))
    assert.deepStrictEqual(steady(ts), steady(ds))
    assert.strictEqual(ts.at(-1)?.type, "response.completed")
  })

  it("embeds", async () => {
    const [d, t] = await both((c) => c.embeddings.create({ model: "text-embedding-3-small", input: "hello" }))
    assert.deepStrictEqual(steady(t), steady(d))
    assert.deepStrictEqual(t.data[0]?.embedding, [0.25, -0.5, 1])
  })

  it("lists the models", async () => {
    const listed = (await all(await through().models.list())).map(({ id }) => id)
    assert.deepStrictEqual(listed.toSorted(), ["fast", "gpt-4o", "house-*", "slow", "text-embedding-3-small"])
  })

  it("asks the provider for its own model, with its own key", async () => {
    farm.clearRequests()
    await through().chat.completions.create(asked("hello", "fast"))
    const request = farm.getLastRequest()
    assert.strictEqual((request?.body as { model?: string } | null)?.model, "gpt-4o-mini")
    assert.strictEqual(request?.headers["authorization"]?.includes("sk-client"), false)
    const line = await gate.logged((line) => line["gen_ai.request.model"] === "fast")
    assert.strictEqual(line["gen_ai.provider.name"], "openai")
  })

  it("says which model does not exist", async () => {
    const failed = await failureOf(through().chat.completions.create(asked("hello", "nothing")))
    assert.deepStrictEqual(failed, {
      name: "NotFoundError",
      status: 404,
      code: "model_not_found",
      type: "invalid_request_error",
      error: { message: "Model not found", type: "invalid_request_error", code: "model_not_found" }
    })
  })
})
