import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import OpenAI from "openai"
import type { JsonObject } from "../formats/json.ts"
import { StreamObserver, StreamReader } from "../usage/stream.ts"
import { type MockFormat, mockFormats, mockModels, mockReply } from "./mock.ts"
import { defaultMockSettings, type MockReply, type MockSettings } from "./settings.ts"

const call = { now: 1_700_000_000, sequence: 0 }
const chat = { model: "mock-1", messages: [{ role: "user", content: "hello there" }] }
const json = (reply: MockReply) => (reply.type === "json" ? JSON.parse(reply.body) : assert.fail("a stream"))
const chunks = (reply: MockReply) => (reply.type === "stream" ? reply.chunks : assert.fail("no stream"))

/** OpenAI's own client against the mock, without a network between them. */
const client = (settings: MockSettings) => {
  let sequence = 0
  const formats: Readonly<Record<string, MockFormat>> = {
    "/v1/chat/completions": "completions",
    "/v1/responses": "responses",
    "/v1/embeddings": "embeddings"
  }
  return new OpenAI({
    apiKey: "k",
    baseURL: "http://mock/v1",
    maxRetries: 0,
    fetch: async (url, init) => {
      const { pathname } = new URL(String(url))
      const reply =
        pathname === "/v1/models"
          ? mockModels(settings, ["a", "b"], call)
          : mockReply(settings, formats[pathname]!, JSON.parse(String(init?.body)) as JsonObject, {
              ...call,
              sequence: sequence++
            })
      return reply.type === "json"
        ? new Response(reply.body, { status: reply.status, headers: { "content-type": "application/json" } })
        : new Response(reply.chunks.map(({ text }) => text).join(""), {
            headers: { "content-type": "text/event-stream" }
          })
    }
  })
}

describe("mock provider", () => {
  const openai = client(defaultMockSettings)

  it("OpenAI's client reads a chat answer, and the stream of the same request says the same", async () => {
    const messages = [{ role: "user" as const, content: "hello there" }]
    const answer = await openai.chat.completions.create({ model: "m", messages })
    const text = answer.choices[0]!.message.content!
    assert.isAbove(text.length, 10)
    assert.strictEqual(answer.usage!.total_tokens, answer.usage!.prompt_tokens + answer.usage!.completion_tokens)
    let streamed = ""
    let usage: unknown
    let finish: unknown
    for await (const chunk of await openai.chat.completions.create({ model: "m", messages, stream: true })) {
      streamed += chunk.choices[0]?.delta.content ?? ""
      finish = chunk.choices[0]?.finish_reason ?? finish
      usage = chunk.usage ?? usage
    }
    assert.strictEqual(streamed, text)
    assert.strictEqual(finish, "stop")
    assert.deepStrictEqual<unknown>(usage, answer.usage)
  })

  it("OpenAI's client reads responses, plain and streamed", async () => {
    const answer = await openai.responses.create({ model: "m", input: "hello there" })
    const stream = openai.responses.stream({ model: "m", input: "hello there" })
    const final = await stream.finalResponse()
    assert.isAbove(answer.output_text.length, 10)
    assert.strictEqual(final.output_text, answer.output_text)
    assert.deepStrictEqual(final.usage, answer.usage)
    assert.strictEqual(final.status, "completed")
  })

  it("OpenAI's client reads embeddings: unit vectors that depend on the text, in both encodings", async () => {
    const { data } = await openai.embeddings.create({ model: "e", input: ["a", "b", "a"], dimensions: 8 })
    assert.deepStrictEqual(data[0]!.embedding, data[2]!.embedding)
    assert.notDeepEqual(data[0]!.embedding, data[1]!.embedding)
    assert.closeTo(Math.hypot(...data[0]!.embedding), 1, 1e-5)
    const floats = await openai.embeddings.create({ model: "e", input: "a", dimensions: 8, encoding_format: "float" })
    assert.deepStrictEqual(floats.data[0]!.embedding, data[0]!.embedding)
  })

  it("refuses more inputs than OpenAI takes", () => {
    const reply = mockReply(defaultMockSettings, "embeddings", { input: Array.from({ length: 2049 }, () => "") }, call)
    assert.strictEqual(reply.type === "json" && reply.status, 400)
  })

  it("OpenAI's client lists models", async () => {
    assert.deepStrictEqual(
      (await openai.models.list()).data.map(({ id }) => id),
      ["a", "b"]
    )
  })

  it("a limit cuts the answer and says so", () => {
    const cut = json(mockReply(defaultMockSettings, "completions", { ...chat, max_tokens: 3 }, call))
    assert.strictEqual(cut.usage.completion_tokens, 3)
    assert.strictEqual(cut.choices[0].finish_reason, "length")
    const response = json(mockReply(defaultMockSettings, "responses", { input: "x", max_output_tokens: 2 }, call))
    assert.strictEqual(response.status, "incomplete")
    assert.strictEqual(response.usage.output_tokens, 2)
  })

  it("a stream takes its time: latency, then one token after the other, usage and [DONE] last", () => {
    const settings = { ...defaultMockSettings, latencyMs: 100, tokensPerSecond: 50 }
    const stream = chunks(mockReply(settings, "completions", { ...chat, stream: true }, call))
    assert.strictEqual(stream[0]!.atMs, 100)
    assert.strictEqual(stream[1]!.atMs, 120)
    assert.strictEqual(stream[2]!.atMs, 140)
    assert.strictEqual(stream.at(-1)!.text, "data: [DONE]\n\n")
    assert.include(stream.at(-2)!.text, '"choices":[],"usage":{"prompt_tokens"')
    const plain = mockReply(settings, "completions", chat, call)
    assert.strictEqual(plain.type === "json" && plain.afterMs, stream.at(-1)!.atMs)
    assert.isTrue(stream.every(({ atMs }, i) => i === 0 || stream[i - 1]!.atMs <= atMs))
  })

  it("what a usage observer sees is what the plain answer states", () => {
    for (const format of ["completions", "responses"] as const) {
      const body = { model: "m", messages: chat.messages, input: "hi" }
      const observer = new StreamObserver(new StreamReader(format), "sse")
      for (const { text, atMs } of chunks(
        mockReply(
          { ...defaultMockSettings, latencyMs: 5, tokensPerSecond: 10 },
          format,
          { ...body, stream: true },
          call
        )
      ))
        observer.push(Buffer.from(text), atMs)
      const { usage } = json(mockReply(defaultMockSettings, format, body, call))
      assert.strictEqual(observer.facts.usage?.output, usage.completion_tokens ?? usage.output_tokens)
      assert.strictEqual(observer.facts.usage?.input, usage.prompt_tokens ?? usage.input_tokens)
      assert.strictEqual(observer.facts.firstTokenAt, 105)
      assert.isTrue(observer.facts.complete)
    }
  })

  it("failures come at their rate, at the same calls every time, and other seeds fail elsewhere", async () => {
    const failing = (seed: number) =>
      Array.from({ length: 1000 }, (_, sequence) => {
        const reply = mockReply({ ...defaultMockSettings, seed, failureRate: 0.2 }, "completions", chat, {
          ...call,
          sequence
        })
        return reply.type === "json" && reply.status === 503
      })
    const first = failing(1)
    assert.deepStrictEqual(failing(1), first)
    assert.notDeepEqual(failing(2), first)
    assert.closeTo(first.filter(Boolean).length, 200, 50)
    const broken = await client({ ...defaultMockSettings, failureRate: 1 })
      .chat.completions.create({ model: "m", messages: [] })
      .catch((error: unknown) => error)
    assert.instanceOf(broken, OpenAI.APIError)
    assert.strictEqual((broken as InstanceType<typeof OpenAI.APIError>).status, 503)
  })

  it.prop(
    "any body gets an answer, the same one every time, and never an exception",
    { body: Schema.JsonObject, json: Schema.Json },
    ({ body, json }) => {
      for (const format of mockFormats)
        for (const asked of [
          body,
          { ...body, stream: true, messages: json, input: json, model: json, max_tokens: json, dimensions: json }
        ])
          assert.deepStrictEqual(
            mockReply(defaultMockSettings, format, asked, call),
            mockReply(defaultMockSettings, format, asked, call)
          )
    },
    { arbitrary: { runs: 60 } }
  )
})
