/** Callers who mean ill: what they cannot reach, bring down or have for nothing. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { completion, json, type Provider, startProvider } from "./provider.ts"
import { type Headgate, startHeadgate } from "./running.ts"

const usage = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 }
let provider: Provider
let gate: Headgate

beforeAll(async () => {
  provider = await startProvider(({ path }, response) => {
    if (path.includes("generateContent"))
      return json(response, { candidates: [{ content: { role: "model", parts: [{ text: "fine" }] } }] })
    return json(response, completion("fine", usage))
  })
  const at = `hostOverride: "127.0.0.1:${provider.port}"`
  const keyed = "apiKey: { mode: strict, keys: [{ key: some, allowedModels: [allowed] }] }"
  gate = await startHeadgate(
    (port) => `
gateways: { default: { port: ${port} } }
routes:
  - name: google
    matches: [{ path: { pathPrefix: /google } }]
    policies:
      ${keyed}
      ai: { routes: { ":generateContent": generateContent, "*": passthrough } }
      urlRewrite: { path: { prefix: / } }
    backends: [{ ai: { name: google, provider: { gemini: {} }, ${at}, policies: { backendAuth: { key: AIza-own } } } }]
  - name: pinned
    matches: [{ path: { pathPrefix: /pinned } }]
    policies: { ${keyed}, ai: { routes: { "*": passthrough } } }
    backends: [{ ai: { name: pinned, provider: { openAI: { model: allowed } }, ${at} } }]
  - name: groups
    matches: [{ path: { pathPrefix: /groups } }]
    backends:
      - ai:
          groups:
            - providers:
                - name: first
                  provider: { gemini: {} }
                  ${at}
                  pathPrefix: /first
                  policies: { health: { eviction: { duration: 1h } } }
            - providers: [{ name: second, provider: { openAI: {} }, ${at}, pathPrefix: /second }]
llm:
  gateways: default
  models:
    - { name: allowed, provider: gemini, params: { hostOverride: "127.0.0.1:${provider.port}", apiKey: AIza-llm } }
    - { name: "*", provider: openai, params: { baseUrl: "${provider.url}/v1", model: m-1 } }
    - { name: nova, provider: bedrock, params: { awsRegion: r, apiKey: k, baseUrl: "${provider.url}" } }
`
  )
})

afterAll(async () => {
  await gate.stop()
  await provider.stop()
})

/** The status of the answer, and what the provider was asked, if it was. */
const post = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const before = provider.asked.length
  const response = await fetch(`${gate.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer some", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })
  await response.text()
  const asked = provider.asked.slice(before)
  assert.isAtMost(asked.length, 1)
  return { status: response.status, asked: asked[0] }
}
const chat = (model: string, content = "hello") => ({ model, messages: [{ role: "user", content }] })

describe("a model that a path names beside the one that was allowed", () => {
  const written = "/v1beta/models/allowed"
  it.each([
    ["/v1beta/models/other:embedContent", `${written}:embedContent`],
    ["/v1beta/models/other:embedContent/", `${written}:embedContent`],
    ["/v1beta/models//other:predict", `${written}:predict`]
  ])("is exchanged where it is passed on: %s", async (path, asked) => {
    assert.strictEqual((await post(`/google${path}`, { model: "allowed" })).asked?.path, asked)
  })

  it.each([
    ["/google", "/v1beta/models//other:generateContent"],
    ["/google", "/v1beta/models/other:generateContent/"],
    ["", "/v1beta/models//other:generateContent"],
    ["", "/v1beta/models/other:generateContent/"],
    ["", "/v1beta/models/other:embedContent"]
  ])("is the one that is asked for, however it is spelled: %s%s", async (route, path) => {
    const { status, asked } = await post(route + path, { model: "allowed" })
    if (route === "") assert.strictEqual(asked?.headers["x-goog-api-key"], undefined)
    else assert.deepStrictEqual([status, asked], [403, undefined])
  })

  it("does not reach the provider in a spelling that nobody here reads", async () => {
    assert.strictEqual(
      (await post("/v1beta/models/other%20:generateContent", { model: "allowed" })).asked?.path,
      `${written}:generateContent`
    )
    for (const route of ["", "/google"])
      assert.deepStrictEqual(await post(`${route}/v1beta/models/other%20:embedContent`, { model: "allowed" }), {
        status: 400,
        asked: undefined
      })
  })
})

describe("a model in a body that is passed on unread", () => {
  const form = (model: string) => `--B\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n--B--\r\n`
  const forms = { "content-type": "multipart/form-data; boundary=B" }
  it.each([
    ["named", { model: "allowed" }, {}, 200],
    ["named in a form", form("allowed"), forms, 200],
    ["another one", { model: "other" }, {}, 403],
    ["named twice", '{"model":"other","model":"allowed"}', {}, 403],
    ["another one in a form", form("other"), forms, 403],
    ["where nobody looks", "model=other", { "content-type": "application/x-www-form-urlencoded" }, 403]
  ])("%s", async (_, body, headers, status) => {
    assert.strictEqual((await post("/pinned/v1/images", body, headers)).status, status)
  })

  it("is not written there when the path names it", async () => {
    assert.strictEqual((await post("/model/nova/converse", { messages: [] })).asked?.body, '{"messages":[]}')
  })
})

describe("a key of the client's own", () => {
  it.each(["key=client", "k%65y=client", "a=1&access_token=client"])(
    "does not reach a provider that has another, in %s",
    async (query) => {
      const { asked } = await post(`/v1beta/models/allowed:generateContent?${query}`, {}, { "x-api-key": "client" })
      assert.strictEqual(asked?.headers["x-goog-api-key"], "AIza-llm")
      assert.notInclude(JSON.stringify(asked), "client")
    }
  )

  it("is what a provider without one is called with", async () => {
    const { asked } = await post("/groups?key=client", chat("gemini-x"), { authorization: "Bearer AIza-client" })
    assert.include(asked?.path, "key=client")
    assert.strictEqual(asked?.headers["x-goog-api-key"], "AIza-client")
  })
})

describe("a provider in good health", () => {
  it("is not left alone because of a request that no provider could serve", async () => {
    assert.strictEqual((await post("/groups", chat(".."))).status, 400)
    assert.strictEqual(
      (await post("/groups", chat("gemini-x"))).asked?.path,
      "/first/v1beta/models/gemini-x:generateContent"
    )
  })
})

describe("names that clients make up", () => {
  it("make a bounded number of series, of bounded names", async () => {
    const long = "x".repeat(10_000)
    await post("/v1/chat/completions", chat(long))
    for (let i = 0; i < 520; i++) await post("/v1/chat/completions", chat(`made-up-${i}`))
    const scraped = await gate.scrape()
    assert.notInclude(scraped, long)
    const counts = scraped
      .split("\n")
      .filter((line) => line.startsWith("headgate_gen_ai_server_request_duration_count"))
    assert.isAtMost(counts.filter((line) => line.includes("made-up")).length, 500)
    assert.isAtLeast(await gate.metric("gen_ai_server_request_duration_count", { gen_ai_request_model: "other" }), 20)
  })
})
