/** Where client and provider speak one format, and the gateway still has something to say. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { json, type Provider, startProvider } from "./provider.ts"
import { type Headgate, startHeadgate } from "./running.ts"

const google = [{ error: { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED" } }]
/** With blanks, so that it would not survive being written anew. */
const openai = '{ "error": { "message": "no", "type": "invalid_request_error", "param": null } }'
const bare = {
  data: [{ object: "embedding", index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: 3, total_tokens: 3 }
}

let provider: Provider
let gate: Headgate
beforeAll(async () => {
  provider = await startProvider(({ path, body }, response) => {
    if (path.includes("/embeddings")) return json(response, bare)
    if (path.includes("/endpoints/openapi/")) return json(response, google, 429)
    if (body.includes("overloaded"))
      return void response.writeHead(529, { "content-type": "text/html" }).end("<p>later</p>")
    return void response.writeHead(400, { "content-type": "application/json" }).end(openai)
  })
  gate = await startHeadgate(
    (port) => `
llm:
  port: ${port}
  models:
    - { name: gpt-4o, provider: openai, params: { baseUrl: "${provider.url}/v1", apiKey: k } }
    - { name: claude, provider: anthropic, params: { baseUrl: "${provider.url}/v1", apiKey: k } }
    - { name: gemini-2.5-pro, provider: gemini, params: { baseUrl: "${provider.url}", apiKey: k } }
    - { name: llama-4, provider: vertex, params: { vertexProject: p, baseUrl: "${provider.url}/google", apiKey: k } }
    - { name: embedder, provider: copilot, params: { baseUrl: "${provider.url}", apiKey: k } }
    - { name: nova, provider: bedrock, params: { awsRegion: r, baseUrl: "${provider.url}", apiKey: k } }
`
  )
})
afterAll(async () => {
  await gate.stop()
  await provider.stop()
})

const post = async (path: string, body: object, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${gate.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() }
}
const ask = (model: string, content = "x") => ({ model, messages: [{ role: "user", content }] })

describe("an error of a provider that speaks the client's format", () => {
  it("passes byte for byte where it has the client's shape", async () =>
    assert.deepInclude(await post("/v1/chat/completions", ask("gpt-4o")), { status: 400, text: openai }))

  it("is OpenAI's where an endpoint compatible with OpenAI answers in Google's shape", async () => {
    const { status, text } = await post("/v1/chat/completions", ask("llama-4"))
    assert.strictEqual(status, 429)
    assert.deepStrictEqual(JSON.parse(text), {
      event_id: null,
      error: { type: "rate_limit_error", message: "quota", code: "RESOURCE_EXHAUSTED" }
    })
  })

  it("is Anthropic's where something before Anthropic answers", async () => {
    const { status, type, text } = await post("/v1/messages", { ...ask("claude", "overloaded"), max_tokens: 1 })
    assert.deepInclude({ status, type }, { status: 529, type: "application/json" })
    assert.deepStrictEqual(JSON.parse(text), { type: "error", error: { type: "api_error", message: "<p>later</p>" } })
  })
})

describe("Gemini's other stream, one growing list", () => {
  it("is refused before the provider is asked", async () => {
    const before = provider.asked.length
    const answer = await post("/v1beta/models/gemini-2.5-pro:streamGenerateContent", { contents: [] })
    assert.strictEqual(answer.status, 400)
    assert.deepStrictEqual(JSON.parse(answer.text), {
      error: {
        code: 400,
        message: "streamGenerateContent requires alt=sse; the JSON-array streaming variant is not supported",
        status: "INVALID_ARGUMENT"
      }
    })
    assert.lengthOf(provider.asked, before)
    await post("/v1beta/models/gemini-2.5-pro:streamGenerateContent?key=a&alt=sse", { contents: [] })
    assert.lengthOf(provider.asked, before + 1)
  })
})

describe("what a responses client tells OpenAI of its session", () => {
  it("is not Bedrock's business", async () => {
    await post("/v1/responses", { model: "nova", input: "x" }, { conversation_id: "c", session_id: "s", other: "o" })
    const { headers } = provider.asked.at(-1)!
    assert.notProperty(headers, "conversation_id")
    assert.notProperty(headers, "session_id")
    assert.strictEqual(headers["other"], "o")
  })
})

describe("an embedding of Copilot", () => {
  it("gets what OpenAI's clients look for", async () => {
    const { text } = await post("/v1/embeddings", { model: "embedder", input: "x" })
    assert.deepStrictEqual(JSON.parse(text), { ...bare, object: "list", model: "embedder" })
    const line = await gate.logged((line) => line["gen_ai.request.model"] === "embedder")
    assert.strictEqual(line["gen_ai.usage.input_tokens"], 3)
  })
})
