/** What configuration changes in the bodies and headers of model requests, and what it is told where it cannot be applied. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, beforeAll } from "vitest"
import { graphsOf } from "../../../src/main/configuration/offline.ts"
import { completion, json, type Provider, startProvider } from "./provider.ts"
import { type Headgate, startHeadgate } from "./running.ts"

let upstream: Provider
let gate: Headgate

beforeAll(async () => {
  upstream = await startProvider((_, response) => {
    response.setHeader("x-upstream", "1")
    json(response, completion("fine", { prompt_tokens: 1, completion_tokens: 1 }))
  })
  gate = await startHeadgate(
    (port) => `
llm:
  port: ${port}
  providers:
    - name: shared
      provider: openai
      params: { baseUrl: "${upstream.url}/v1", apiKey: sk-shared }
      defaults: { defaults: { temperature: 0.1, top_p: 0.2 }, overrides: { user: shared } }
  models:
    - name: changed
      provider: { reference: shared }
      defaults: { temperature: 0.3 }
      overrides: { seed: 7 }
      transformation: { max_tokens: "llmRequest.max_tokens > 100 ? 100 : llmRequest.max_tokens", n: jwt.missing }
      finalTransformation: { metadata: '{"team": request.headers["x-team"]}' }
      requestHeaders: { set: { x-extra: "1" }, remove: [x-team] }
      responseHeaders: { remove: [x-upstream], add: { x-by: gateway } }
    - name: renamed
      provider: { reference: shared }
      params: { model: upstream-name }
      overrides: { model: override-name }
`
  )
})

afterAll(async () => {
  await gate.stop()
  await upstream.stop()
})

const send = async (body: object) => {
  const response = await fetch(`${gate.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-team": "a", authorization: "Bearer sk-client" },
    body: JSON.stringify(body)
  })
  await response.text()
  const asked = upstream.asked.at(-1)!
  return { response, asked, body: JSON.parse(asked.body) as Record<string, unknown> }
}

describe("the body of a model request", () => {
  it("is changed: defaults, overrides, computed fields, and the final ones", async () => {
    const { body, asked, response } = await send({ model: "changed", messages: [], max_tokens: 500, n: 2, top_p: 0.9 })
    assert.deepStrictEqual(body, {
      model: "changed",
      messages: [],
      max_tokens: 100,
      top_p: 0.9,
      user: "shared",
      seed: 7,
      temperature: 0.3,
      metadata: { team: "a" }
    })
    assert.strictEqual(asked.headers["x-extra"], "1")
    assert.strictEqual(asked.headers["authorization"], "Bearer sk-shared")
    assert.notProperty(asked.headers, "x-team")
    assert.isNull(response.headers.get("x-upstream"))
    assert.strictEqual(response.headers.get("x-by"), "gateway")
  })

  it("names the model that an override says", async () => {
    assert.strictEqual((await send({ model: "renamed", messages: [] })).body["model"], "override-name")
  })
})

describe("a configuration that cannot be applied", () => {
  const problemsOf = (llm: string) =>
    Effect.runPromise(
      Effect.match(graphsOf({ name: "config.yaml", text: `llm:\n${llm}`, env: {} }), {
        onSuccess: () => "",
        onFailure: ({ message }) => message
      })
    )
  const model = (rest: string) => `  models:\n    - name: m\n      provider: openai\n${rest}`
  const cases: Readonly<Record<string, readonly [llm: string, ...says: ReadonlyArray<string>]>> = {
    "an expression that is none": [
      model("      transformation:\n        seed: '1 +'\n"),
      "config.yaml:6:19",
      "invalid expression"
    ],
    "a managed guard": [
      `  guardrails:\n    request:\n      - openAIModeration: {}\n${model("")}`,
      "config.yaml:4:27: llm.guardrails.request[0]",
      "openAIModeration guard is not available yet"
    ],
    "a header condition": [
      model("      matches: [{ headers: [{ name: x, value: { regex: '(' } }] }]\n"),
      "config.yaml:5"
    ],
    "credentials of a cloud": [
      "  models: [{ name: m, provider: bedrock, params: { awsRegion: eu-1 } }]\n",
      "config.yaml:2:33: llm.models[0].provider",
      "the identity of aws is not available yet: give a key"
    ],
    "a catalogue": [
      `${model("")}config: { modelCatalog: [{ inline: '{"providers":{"p":{"models":{"m":{"rates":{"input":1}}}}}}' }] }\n`,
      "config.yaml:5"
    ],
    "a catalogue that is not there": [
      `${model("")}config: { modelCatalog: [{ file: /nowhere/catalog.json }] }\n`,
      "cannot read /nowhere/catalog.json"
    ]
  }
  for (const [name, [llm, ...says]] of Object.entries(cases))
    it(`says so: ${name}`, async () => {
      const message = await problemsOf(llm)
      for (const each of says) assert.include(message, each)
    })

  it.each([
    "provider: bedrock, params: { awsRegion: r, apiKey: k }",
    "provider: vertex, params: { vertexProject: p, apiKey: k }",
    "provider: azure, params: { azureResourceName: r, azureResourceType: foundry, apiKey: k }",
    "provider: copilot, params: { apiKey: k }"
  ])("a key takes the place of a cloud's identity: %s", async (model) => {
    assert.strictEqual(await problemsOf(`  models: [{ name: m, ${model} }]\n`), "")
  })
})
