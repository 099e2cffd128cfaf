/** Official clients of one provider's API served by a provider of another: typed results, plain and streamed, with tools. */
import Anthropic from "@anthropic-ai/sdk"
import { LLMock } from "@copilotkit/aimock"
import { assert, describe, it } from "@effect/vitest"
import { GoogleGenAI } from "@google/genai"
import OpenAI from "openai"
import { afterAll, beforeAll } from "vitest"
import { type Asked, completion, json, type Provider, startProvider } from "./provider.ts"
import { type Headgate, startHeadgate } from "./running.ts"

const farm = new LLMock({ port: 0, logLevel: "silent" })
let any: Provider
let gate: Headgate

const said = "Hi there, how are you today?"
const schema = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] }

beforeAll(async () => {
  farm
    .onMessage("hello", { content: said, usage: { prompt_tokens: 11, completion_tokens: 7 } })
    .onMessage("weather", { toolCalls: [{ name: "weather", arguments: '{"city":"Bern"}', id: "call_1" }] })
    .onMessage("denied", { error: { message: "no such key", type: "authentication_error" }, status: 401 })
    .onMessage("busy", { error: { message: "slow down", type: "rate_limit_error" }, status: 429 })
  await farm.start()
  any = await startProvider(({ path }, response) => {
    if (path.includes("titan")) return json(response, { embedding: [0.5, 1], inputTextTokenCount: 3 })
    if (path.includes("cohere")) {
      response.setHeader("x-amzn-bedrock-input-token-count", "4")
      return json(response, { embeddings: { float: [[0.5]] }, response_type: "embeddings_by_type" })
    }
    return json(response, completion("fine", { prompt_tokens: 1, completion_tokens: 1 }))
  })
  gate = await startHeadgate(
    (port) => `
llm:
  port: ${port}
  models:
    - { name: claude-opus-4-8, provider: anthropic, params: { baseUrl: "${farm.url}/v1", apiKey: sk-anthropic } }
    - { name: gemini-2.5-pro, provider: gemini, params: { baseUrl: "${farm.url}", apiKey: AIzaKey } }
    - { name: gpt-4o, provider: openai, params: { baseUrl: "${farm.url}/v1", apiKey: sk-openai } }
    - name: nova
      provider: bedrock
      params: { awsRegion: eu-west-1, model: "amazon.nova-pro-v1:0", baseUrl: "${farm.url}", apiKey: bedrock-key }
    - name: cached-nova
      provider: bedrock
      params: { awsRegion: eu-west-1, model: "amazon.nova-pro-v1:0", baseUrl: "${any.url}", apiKey: bedrock-key }
      promptCaching: { minTokens: 1 }
    - name: titan
      provider: bedrock
      params: { awsRegion: eu-west-1, model: "amazon.titan-embed-text-v2:0", baseUrl: "${any.url}", apiKey: bedrock-key }
    - name: cohere-embed
      provider: bedrock
      params: { awsRegion: eu-west-1, model: "cohere.embed-v4:0", baseUrl: "${any.url}", apiKey: bedrock-key }
    - name: gpt-on-azure
      provider: azure
      params:
        azureResourceName: r
        azureResourceType: openAI
        azureApiVersion: "2024-10-21"
        model: gpt-4o
        baseUrl: "${any.url}/behind"
        apiKey: azure-key
    - { name: alias, provider: openai, params: { baseUrl: "${any.url}/v1", model: gpt-5 } }
    - { name: gpt-on-preset, provider: groq, params: { baseUrl: "${any.url}/v1" } }
    - name: claude-on-vertex
      provider: vertex
      params: { vertexProject: p1, vertexRegion: eu, model: claude-sonnet-4-5-20250929, baseUrl: "${any.url}" }
`
  )
})

afterAll(async () => {
  await gate.stop()
  await farm.stop()
  await any.stop()
})

const openai = () => new OpenAI({ baseURL: `${gate.url}/v1`, apiKey: "sk-client", maxRetries: 0 })
const anthropic = () => new Anthropic({ baseURL: gate.url, apiKey: "sk-client", maxRetries: 0 })
const google = () => new GoogleGenAI({ apiKey: "AIzaClient", httpOptions: { baseUrl: gate.url, apiVersion: "v1beta" } })

const asked = (model: string, text: string) => ({ model, messages: [{ role: "user" as const, content: text }] })
const openaiTools = [{ type: "function" as const, function: { name: "weather", parameters: schema } }]
const anthropicTools = [{ name: "weather", input_schema: schema }]

describe("a translated body", () => {
  it("is called what it is, whatever the client called its own", async () => {
    for (const type of ["application/x-www-form-urlencoded", "application/json; charset=utf-16", "text/plain"]) {
      const response = await fetch(`${gate.url}/v1/messages`, {
        method: "POST",
        headers: { "content-type": type, "x-api-key": "sk-client" },
        body: JSON.stringify({ ...asked("alias", "hello"), max_tokens: 9 })
      })
      await response.text()
      assert.strictEqual(any.asked.at(-1)?.headers["content-type"], "application/json", type)
    }
  })
})

describe("the OpenAI client", () => {
  for (const [model, provider] of [
    ["claude-opus-4-8", "anthropic"],
    ["gemini-2.5-pro", "gcp.gemini"],
    ["nova", "aws.bedrock"]
  ] as const) {
    it(`chats with ${model}, plain and streamed`, async () => {
      const plain = await openai().chat.completions.create(asked(model, "hello"))
      assert.strictEqual(plain.object, "chat.completion")
      assert.deepInclude(plain.choices[0]?.message, { role: "assistant", content: said })
      assert.strictEqual(plain.choices[0]?.finish_reason, "stop")
      const streamed = await openai()
        .chat.completions.stream({ ...asked(model, "hello"), stream_options: { include_usage: true } })
        .finalChatCompletion()
      assert.strictEqual(streamed.choices[0]?.message.content, said)
      assert.strictEqual(streamed.choices[0]?.finish_reason, "stop")
      assert.deepStrictEqual(streamed.usage?.completion_tokens, plain.usage?.completion_tokens)
      assert.isAbove(plain.usage?.prompt_tokens ?? 0, 0)
      const line = await gate.logged((line) => line["gen_ai.request.model"] === model)
      assert.strictEqual(line["gen_ai.provider.name"], provider)
      assert.strictEqual(line["gen_ai.usage.output_tokens"], plain.usage?.completion_tokens)
    })

    it(`gets tool calls from ${model}, plain and streamed`, async () => {
      const ask = { ...asked(model, "weather"), tools: openaiTools }
      const plain = await openai().chat.completions.create(ask)
      const streamed = await openai().chat.completions.stream(ask).finalChatCompletion()
      for (const { choices } of [plain, streamed]) {
        assert.strictEqual(choices[0]?.finish_reason, "tool_calls")
        const call = choices[0]?.message.tool_calls?.[0]
        if (call?.type !== "function") throw new Error("no call of a function")
        assert.strictEqual(call.function.name, "weather")
        assert.deepStrictEqual(JSON.parse(call.function.arguments), { city: "Bern" })
      }
    })

    for (const [text, status] of [
      ["denied", 401],
      ["busy", 429]
    ] as const)
      it(`reads ${status} of ${model} as an error of its own kind`, async () => {
        const failed = await openai()
          .chat.completions.create(asked(model, text))
          .then(
            () => undefined,
            (error: unknown) => error
          )
        assert.instanceOf(failed, OpenAI.APIError)
        assert.strictEqual(failed.status, status)
        assert.include(failed.message, text === "denied" ? "no such key" : "slow down")
      })
  }

  it("gets its key placed where the provider looks for it", async () => {
    farm.clearRequests()
    await openai().chat.completions.create(asked("claude-opus-4-8", "hello"))
    const [claude] = farm.getRequests()
    assert.strictEqual(claude?.path, "/v1/messages")
    assert.property(claude?.headers, "x-api-key")
    assert.notProperty(claude?.headers, "authorization")
    assert.strictEqual(claude?.headers["anthropic-version"], "2023-06-01")
    await openai().chat.completions.create(asked("gemini-2.5-pro", "hello"))
    const gemini = farm.getLastRequest()
    assert.strictEqual(gemini?.path, "/v1beta/models/gemini-2.5-pro:generateContent")
    assert.property(gemini?.headers, "x-goog-api-key")
    assert.notProperty(gemini?.headers, "authorization")
    await openai().chat.completions.create(asked("nova", "hello"))
    assert.strictEqual(farm.getLastRequest()?.path, "/model/amazon.nova-pro-v1:0/converse")
    await openai().chat.completions.create(asked("gpt-on-azure", "hello"))
    const azure = any.asked.at(-1)
    assert.strictEqual(azure?.path, "/behind/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21")
    assert.strictEqual(azure?.headers["api-key"], "azure-key")
    assert.notProperty(azure?.headers, "authorization")
  })

  for (const [model, path, tokens] of [
    ["titan", "/model/amazon.titan-embed-text-v2:0/invoke", 3],
    ["cohere-embed", "/model/cohere.embed-v4:0/invoke", 4]
  ] as const)
    it(`gets embeddings from ${model}, and they are accounted`, async () => {
      const { data, usage } = await openai().embeddings.create({ model, input: "x", encoding_format: "float" })
      assert.strictEqual(data[0]?.embedding[0], 0.5)
      assert.strictEqual(usage.prompt_tokens, tokens)
      const sent = any.asked.at(-1)
      assert.strictEqual(sent?.path, path)
      assert.strictEqual(sent?.headers.authorization, "Bearer bedrock-key")
      const line = await gate.logged((line) => line["gen_ai.request.model"] === model)
      assert.strictEqual(line["gen_ai.usage.input_tokens"], tokens)
    })
})

describe("the Anthropic client", () => {
  it("talks to an OpenAI model, plain and streamed", async () => {
    const ask = { ...asked("gpt-4o", "hello"), max_tokens: 100 }
    farm.clearRequests()
    const plain = await anthropic().messages.create(ask)
    assert.strictEqual(plain.type, "message")
    // The client's key was for the gateway.
    assert.notProperty(farm.getLastRequest()?.headers, "x-api-key")
    assert.property(farm.getLastRequest()?.headers, "authorization")
    assert.deepInclude(plain.content[0], { type: "text", text: said })
    assert.strictEqual(plain.stop_reason, "end_turn")
    const streamed = await anthropic().messages.stream(ask).finalMessage()
    assert.deepInclude(streamed.content[0], { type: "text", text: said })
    assert.strictEqual(streamed.stop_reason, "end_turn")
    assert.deepInclude(streamed.usage, { output_tokens: plain.usage.output_tokens })
  })

  it("talks to Bedrock, plain and streamed, with tools", async () => {
    const ask = { ...asked("nova", "hello"), max_tokens: 100 }
    for (const answer of [
      await anthropic().messages.create(ask),
      await anthropic().messages.stream(ask).finalMessage()
    ]) {
      assert.deepInclude(answer.content[0], { type: "text", text: said })
      assert.strictEqual(answer.stop_reason, "end_turn")
    }
    const tool = { ...asked("nova", "weather"), max_tokens: 100, tools: anthropicTools }
    for (const answer of [
      await anthropic().messages.create(tool),
      await anthropic().messages.stream(tool).finalMessage()
    ]) {
      assert.strictEqual(answer.stop_reason, "tool_use")
      const use = answer.content.find(({ type }) => type === "tool_use")
      assert.deepInclude(use, { name: "weather", input: { city: "Bern" } })
    }
  })

  it("gets tool calls from an OpenAI model, plain and streamed", async () => {
    const ask = { ...asked("gpt-4o", "weather"), max_tokens: 100, tools: anthropicTools }
    for (const answer of [
      await anthropic().messages.create(ask),
      await anthropic().messages.stream(ask).finalMessage()
    ]) {
      assert.strictEqual(answer.stop_reason, "tool_use")
      const use = answer.content.find(({ type }) => type === "tool_use")
      assert.deepInclude(use, { name: "weather", input: { city: "Bern" } })
    }
  })

  it("reads errors of an OpenAI model as its own", async () => {
    const failed = await anthropic()
      .messages.create({ ...asked("gpt-4o", "busy"), max_tokens: 100 })
      .then(
        () => undefined,
        (error: unknown) => error
      )
    assert.instanceOf(failed, Anthropic.RateLimitError)
    assert.include(failed.message, "slow down")
  })

  it("talks to Anthropic's own API", async () => {
    const ask = { ...asked("claude-opus-4-8", "hello"), max_tokens: 100 }
    assert.deepInclude((await anthropic().messages.create(ask)).content[0], { type: "text", text: said })
    const streamed = await anthropic().messages.stream(ask).finalMessage()
    assert.deepInclude(streamed.content[0], { type: "text", text: said })
  })
})

describe("the Google client", () => {
  it("talks to Gemini by the model in the path, plain and streamed", async () => {
    const ask = { model: "gemini-2.5-pro", contents: "hello" }
    assert.strictEqual((await google().models.generateContent(ask)).text, said)
    let text = ""
    for await (const chunk of await google().models.generateContentStream(ask)) text += chunk.text ?? ""
    assert.strictEqual(text, said)
    const line = await gate.logged((line) => String(line["http.path"]).includes("streamGenerateContent"))
    assert.isAbove(Number(line["gen_ai.usage.output_tokens"]), 0)
  })
})

describe("what providers want different in their bodies", () => {
  const sent = async (path: string, body: object): Promise<Asked & { readonly json: Record<string, unknown> }> => {
    await (await fetch(`${gate.url}${path}`, { method: "POST", body: JSON.stringify(body) })).text()
    const last = any.asked.at(-1)!
    return { ...last, json: JSON.parse(last.body) }
  }

  it("max_tokens goes by its new name to newer models of OpenAI, by the provider's name of the model", async () => {
    const { json } = await sent("/v1/chat/completions", { ...asked("alias", "x"), max_tokens: 5 })
    assert.deepInclude(json, { model: "gpt-5", max_completion_tokens: 5 })
    assert.notProperty(json, "max_tokens")
    const other = await sent("/v1/chat/completions", { ...asked("gpt-on-preset", "x"), max_tokens: 5 })
    assert.strictEqual(other.json["max_tokens"], 5)
  })

  it("cache points stand where the configuration wants them in Bedrock requests", async () => {
    const { json, path } = await sent("/v1/chat/completions", {
      model: "cached-nova",
      messages: [
        { role: "system", content: "be kind" },
        { role: "user", content: "x" }
      ]
    })
    assert.strictEqual(path, "/model/amazon.nova-pro-v1:0/converse")
    assert.deepStrictEqual(json["system"], [{ text: "be kind" }, { cachePoint: { type: "default" } }])
  })

  it("Claude on Vertex has its version in the body, and its model in the path", async () => {
    const { json, path } = await sent("/v1/chat/completions", asked("claude-on-vertex", "x"))
    assert.strictEqual(
      path,
      "/v1/projects/p1/locations/eu/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict"
    )
    assert.strictEqual(json["anthropic_version"], "vertex-2023-10-16")
    assert.notProperty(json, "model")
  })
})
