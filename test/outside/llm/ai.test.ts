/** Models on a route of one's own: providers in groups, with what the route, the backend and the provider say of them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import { afterAll, beforeAll } from "vitest"
import { graphsOf } from "../../../src/main/configuration/offline.ts"
import { completion, json, type Provider, startProvider } from "./provider.ts"
import { type Headgate, startHeadgate } from "./running.ts"

const usage = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 }
let provider: Provider
let broken: Provider
let gate: Headgate
let failing = true

beforeAll(async () => {
  provider = await startProvider(({ path, body }, response) => {
    if (path.includes("/messages"))
      return json(response, {
        id: "m",
        type: "message",
        role: "assistant",
        model: "claude-x",
        content: [{ type: "text", text: "from claude" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 }
      })
    const model = body === "" ? "none" : (JSON.parse(body) as { readonly model: string }).model
    return json(response, completion("fine", usage, model))
  })
  broken = await startProvider((_, response) =>
    failing ? json(response, { error: { message: "no" } }, 500) : json(response, completion("well again", usage))
  )
  const at = (to: Provider) => `hostOverride: "127.0.0.1:${to.port}"`
  gate = await startHeadgate(
    (port) => `
gateways: { default: { port: ${port} } }
backends:
  - name: shared
    ai:
      name: p
      provider: { openAI: { model: gpt-5 } }
      ${at(provider)}
      pathPrefix: /v1
    policies:
      backendAuth: { key: sk-shared }
      ai: { overrides: { user: backend }, modelAliases: { "gpt-*": gpt-5-mini } }
routes:
  - name: shared
    matches: [{ path: { pathPrefix: /shared } }]
    policies:
      ai:
        defaults: { temperature: 0.5 }
        overrides: { user: route }
        prompts: { prepend: [{ role: system, content: be kind }] }
        promptGuard: { request: [{ regex: { action: reject, rules: [{ pattern: secret }] } }] }
    backends: [{ backend: /shared }]
  - name: plain
    matches: [{ path: { pathPrefix: /plain } }]
    backends: [{ backend: /shared }]
  - name: claude
    matches: [{ path: { pathPrefix: /claude } }]
    policies:
      ai:
        routes: { /v1/models: models, /v1/files: passthrough, /chat: completions, "*": detect }
    backends:
      - ai:
          name: c
          provider: { anthropic: {} }
          ${at(provider)}
          pathPrefix: /v1
          policies: { backendAuth: { key: sk-claude }, requestHeaderModifier: { set: { x-of: provider } } }
        policies: { requestHeaderModifier: { set: { x-of: reference } } }
  - name: elsewhere
    matches: [{ path: { pathPrefix: /elsewhere } }]
    policies: { ai: { routes: { /v1/chat/completions: completions, "*": completions } } }
    backends: [{ ai: { name: e, provider: { openAI: {} }, ${at(provider)} } }]
  - name: groups
    matches: [{ path: { pathPrefix: /groups } }]
    backends:
      - ai:
          groups:
            - providers:
                - name: first
                  provider: { openAI: {} }
                  ${at(broken)}
                  pathPrefix: /v1
                  policies: { health: { eviction: { duration: 1h } } }
            - providers:
                - { name: second, provider: { openAI: {} }, ${at(provider)}, pathPrefix: /v1 }
`
  )
})

afterAll(async () => {
  await gate.stop()
  await provider.stop()
  await broken.stop()
})

const post = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${gate.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })
  return { status: response.status, text: await response.text() }
}
const sent = () => {
  const { path, headers, body } = provider.asked.at(-1)!
  return { path, headers, json: JSON.parse(body) as Record<string, unknown> }
}
const hello = { model: "any", messages: [{ role: "user", content: "hello" }] }

describe("an ai backend", () => {
  it("serves an OpenAI client on whatever path, with the provider's model and key, and accounts it", async () => {
    const client = new OpenAI({ baseURL: `${gate.url}/plain`, apiKey: "sk-client", maxRetries: 0 })
    const answer = await client.chat.completions.create({ model: "mine", messages: [{ role: "user", content: "x" }] })
    assert.strictEqual(answer.choices[0]?.message.content, "fine")
    const { path, headers, json } = sent()
    assert.strictEqual(path, "/v1/chat/completions")
    assert.strictEqual(headers.authorization, "Bearer sk-shared")
    assert.deepInclude(json, { model: "gpt-5-mini", user: "backend" })
    const line = await gate.logged((line) => line["gen_ai.request.model"] === "mine")
    assert.deepInclude(line, { "gen_ai.response.model": "gpt-5-mini", "gen_ai.usage.output_tokens": 3 })
  })

  it("joins what the route says with what the backend says, field by field", async () => {
    await post("/shared", hello)
    const { json } = sent()
    // The route's policies of the backend are the more specific ones; where they are silent, the backend's count.
    assert.deepInclude(json, { model: "gpt-5-mini", user: "route", temperature: 0.5 })
    assert.deepStrictEqual(json["messages"], [{ role: "system", content: "be kind" }, ...hello.messages])
  })

  it("guards the prompts of a route", async () => {
    const { status, text } = await post("/shared", { ...hello, messages: [{ role: "user", content: "a secret" }] })
    assert.deepStrictEqual([status, text], [403, "request rejected due to inappropriate content"])
  })

  it("translates, and lets the provider's own policies win", async () => {
    const { text } = await post("/claude/chat", { ...hello, model: "claude-x" })
    assert.strictEqual(JSON.parse(text).choices[0].message.content, "from claude")
    const { path, headers } = sent()
    assert.strictEqual(path, "/v1/messages")
    assert.strictEqual(headers["x-api-key"], "sk-claude")
    assert.strictEqual(headers["x-of"], "provider")
  })

  it("knows paths by their ends: a list of models there is none, other things are passed on", async () => {
    const models = await fetch(`${gate.url}/claude/v1/models`)
    assert.strictEqual(models.status, 501)
    assert.deepStrictEqual(await models.json(), { error: "Route 'Models' not implemented" })
    assert.strictEqual((await fetch(`${gate.url}/claude/v1/files`)).status, 200)
    assert.deepInclude(provider.asked.at(-1), { method: "GET", path: "/v1/claude/v1/files", body: "" })
    const odd = '{"model" : "x",  "n":1}'
    await post("/claude/v1/images", odd)
    assert.strictEqual(provider.asked.at(-1)?.body, odd)
  })

  it("asks a provider elsewhere at the client's path only where that says what is spoken", async () => {
    await post("/elsewhere/v1/chat/completions", hello)
    assert.strictEqual(sent().path, "/elsewhere/v1/chat/completions")
    // Else a guard would read a chat, and the provider something else.
    await post("/elsewhere/v1/responses", hello)
    assert.strictEqual(sent().path, "/v1/chat/completions")
  })

  it("refuses what it cannot read", async () => {
    assert.deepInclude(await post("/plain", "nonsense"), {
      status: 400,
      text: "failed to process LLM request: body is not a JSON object"
    })
    assert.deepInclude(await post("/groups", { messages: [] }), {
      status: 400,
      text: "failed to process LLM request: missing field: model not specified"
    })
    const refused = await fetch(`${gate.url}/plain`)
    assert.deepStrictEqual([refused.status, refused.headers.get("allow")], [405, "POST"])
  })

  it("turns to the next group while the first one is not healthy", async () => {
    assert.strictEqual((await post("/groups", hello)).status, 500)
    assert.strictEqual(broken.asked.length, 1)
    failing = false
    for (let i = 0; i < 3; i++) assert.strictEqual((await post("/groups", hello)).status, 200)
    assert.strictEqual(broken.asked.length, 1)
  })
})

describe("a configuration of an ai backend that cannot be applied", () => {
  const problemsOf = (route: string) =>
    Effect.runPromise(
      Effect.match(
        graphsOf({
          name: "config.yaml",
          text: `gateways: { default: { port: 3000 } }\nroutes:\n- ${route}`,
          env: {}
        }),
        { onSuccess: () => "", onFailure: ({ message }) => message }
      )
    )
  const provider = (rest: string) => `{ ai: { name: p, provider: { openAI: {} }, ${rest} } }`

  it.each([
    [
      `{ policies: { ai: { transformations: { seed: "1 +" } } }, backends: [${provider("")}] }`,
      "routes[0].policies.ai.transformations.seed: invalid expression"
    ],
    [
      `{ backends: [${provider('policies: { ai: { transformations: { seed: "1 +" } } }')}] }`,
      "routes[0].backends[0].ai.policies.ai.transformations.seed: invalid expression"
    ],
    [
      `{ backends: [${provider("policies: { authorization: { rules: ['true'] } }")}] }`,
      "routes[0].backends[0].ai.policies.authorization: policy authorization is not available yet"
    ],
    [
      `{ backends: [${provider('policies: { health: { unhealthyExpression: "1 +" } }')}] }`,
      "routes[0].backends[0].ai.policies.health.unhealthyExpression: invalid expression"
    ],
    [
      "{ backends: [{ ai: { name: p, provider: { bedrock: { region: r } } } }] }",
      "routes[0].backends[0].ai.provider: the identity of aws is not available yet"
    ],
    [
      `{ policies: { ai: { routes: { /rt: realtime } } }, backends: [${provider("")}] }`,
      "realtime is not available yet"
    ],
    [
      `{ policies: { ai: { defaults: { a: 1 } } }, backends: [{ host: "a:1" }] }`,
      "routes[0].policies.ai: policy ai is not available yet"
    ]
  ])("%s", async (route, problem) => {
    assert.include(await problemsOf(route), problem)
  })
})
