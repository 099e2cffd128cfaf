import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { analyzeTextCall, detectJailbreakCall, readAnalyzeText, readDetectJailbreak } from "./azure-content-safety.ts"
import { guardrailCall, readGuardrail } from "./bedrock-guardrails.ts"
import { modelArmorCall, readModelArmor } from "./google-model-armor.ts"
import { moderationCall, readModeration } from "./openai-moderation.ts"

const text = (json: unknown) => JSON.stringify(json)

describe("OpenAI moderation", () => {
  it("sends all texts and rejects when one is flagged", () => {
    assert.deepStrictEqual(moderationCall(["a", "b"]), {
      host: "api.openai.com",
      path: "/v1/moderations",
      body: '{"input":["a","b"],"model":"omni-moderation-latest"}'
    })
    assert.strictEqual(readModeration(200, text({ results: [{ flagged: false }, { flagged: true }] })).type, "reject")
    assert.strictEqual(readModeration(200, text({ results: [{ flagged: false }] })).type, "pass")
    assert.strictEqual(readModeration(429, text({ results: [] })).type, "failed")
  })
})

describe("Bedrock guardrails", () => {
  const guardrail = { guardrailIdentifier: "g/1", guardrailVersion: "DRAFT", region: "eu-west-1" }
  it("names the side that the texts come from; nothing to look at is no call", () => {
    assert.deepStrictEqual(guardrailCall(guardrail, "response", ["a"]), {
      host: "bedrock-runtime.eu-west-1.amazonaws.com",
      path: "/guardrail/g%2F1/version/DRAFT/apply",
      body: '{"source":"OUTPUT","content":[{"text":{"text":"a"}}]}'
    })
    assert.isUndefined(guardrailCall(guardrail, "request", []))
  })

  const reply = (action: string, actions: ReadonlyArray<string>, outputs: ReadonlyArray<string>) =>
    text({
      action,
      assessments: [
        { sensitiveInformationPolicy: { piiEntities: actions.map((action) => ({ action, type: "NAME" })) } }
      ],
      outputs: outputs.map((text) => ({ text }))
    })
  it.each([
    ["nothing found", reply("NONE", [], []), 1, { type: "pass" }],
    [
      "anonymised only",
      reply("GUARDRAIL_INTERVENED", ["ANONYMIZED"], ["{NAME}"]),
      1,
      { type: "mask", texts: ["{NAME}"] }
    ],
    [
      "anonymised and blocked",
      reply("GUARDRAIL_INTERVENED", ["ANONYMIZED", "BLOCKED"], ["{NAME}"]),
      1,
      { type: "reject" }
    ],
    ["not one output for each text", reply("GUARDRAIL_INTERVENED", ["ANONYMIZED"], ["{NAME}"]), 2, { type: "reject" }],
    ["blocked", reply("GUARDRAIL_INTERVENED", ["BLOCKED"], ["sorry"]), 1, { type: "reject" }],
    ["no verdict", "{}", 1, { type: "failed" }]
  ] as const)("%s", (_, body, sent, expected) => {
    assert.deepStrictEqual<unknown>(readGuardrail(200, body, sent), expected)
    assert.strictEqual(readGuardrail(500, body, sent).type, "failed")
  })
})

describe("Model Armor", () => {
  it("asks for prompts and answers at different methods", () => {
    const template = { templateId: "t", projectId: "p" }
    assert.deepStrictEqual(modelArmorCall(template, "request", ["a", "b"]), {
      host: "modelarmor.us-central1.rep.googleapis.com",
      path: "/v1/projects/p/locations/us-central1/templates/t:sanitizeUserPrompt",
      body: '{"user_prompt_data":{"text":"a\\nb"}}'
    })
    assert.include(
      modelArmorCall({ ...template, location: "eu" }, "response", []).path,
      "/locations/eu/templates/t:sanitizeModelResponse"
    )
  })

  it.each([
    [{ filterResults: { rai: { raiFilterResult: { matchState: "MATCH_FOUND" } } } }, "reject"],
    [{ filterResults: [{ sdpFilterResult: { inspectResult: { matchState: "MATCH_FOUND" } } }] }, "reject"],
    [{ filterResults: { csam: { csamFilterResult: { matchState: "NO_MATCH_FOUND" } } } }, "pass"],
    [{}, "pass"],
    [undefined, "failed"]
  ] as const)("%j", (sanitizationResult, type) => {
    assert.strictEqual(readModelArmor(200, text({ sanitizationResult })).type, type)
  })
})

describe("Azure content safety", () => {
  it("sends what is configured and nothing else", () => {
    assert.deepStrictEqual(
      analyzeTextCall(
        "https://x.cognitiveservices.azure.com/",
        { blocklistNames: ["b"], haltOnBlocklistHit: true },
        "t"
      ),
      {
        host: "x.cognitiveservices.azure.com",
        path: "/contentsafety/text:analyze?api-version=2024-09-01",
        body: '{"text":"t","blocklistNames":["b"],"haltOnBlocklistHit":true}'
      }
    )
    assert.strictEqual(analyzeTextCall("x", {}, "t").body, '{"text":"t"}')
    assert.strictEqual(
      detectJailbreakCall("x", {}, "t").path,
      "/contentsafety/text:detectJailbreak?api-version=2024-02-15-preview"
    )
  })

  it.each([
    [{ categoriesAnalysis: [{ severity: 1 }] }, {}, "pass"],
    [{ categoriesAnalysis: [{ severity: 2 }] }, {}, "reject"],
    [{ categoriesAnalysis: [{ severity: 2 }] }, { severityThreshold: 4 }, "pass"],
    [{ categoriesAnalysis: [], blocklistsMatch: [{}] }, {}, "reject"],
    [{}, {}, "failed"]
  ] as const)("%j with %j", (reply, options, type) => {
    assert.strictEqual(readAnalyzeText(options, 200, text(reply)).type, type)
  })

  it("reads jailbreaks", () => {
    assert.strictEqual(readDetectJailbreak(200, text({ jailbreakAnalysis: { detected: true } })).type, "reject")
    assert.strictEqual(readDetectJailbreak(200, text({ jailbreakAnalysis: { detected: false } })).type, "pass")
    assert.strictEqual(readDetectJailbreak(200, "{}").type, "failed")
  })
})

it.prop(
  "no answer makes a reader throw, and no unsuccessful one is an opinion",
  { json: Schema.Json, status: Schema.Literals([199, 200, 299, 300, 503]) },
  ({ json, status }) => {
    for (const reply of [
      json,
      {
        results: json,
        action: json,
        outputs: json,
        assessments: json,
        sanitizationResult: json,
        categoriesAnalysis: json,
        jailbreakAnalysis: json
      }
    ]) {
      const body = text(reply)
      for (const verdict of [
        readModeration(status, body),
        readGuardrail(status, body, 1),
        readModelArmor(status, body),
        readAnalyzeText({}, status, body),
        readDetectJailbreak(status, body)
      ])
        if (status < 200 || status > 299) assert.strictEqual(verdict.type, "failed")
    }
  }
)
