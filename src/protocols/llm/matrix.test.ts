import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { ClientFormat, UpstreamFormat } from "./formats/format.ts"
import { bedrockEmbeddings, type Plan, type ProviderRow, plan, providerFormats } from "./matrix.ts"
import { translator } from "./translate/translator.ts"

const columns: ReadonlyArray<ClientFormat> = [
  "completions",
  "messages",
  "responses",
  "generateContent",
  "embeddings",
  "rerank",
  "anthropicTokenCount",
  "geminiCountTokens",
  "realtime"
]

/** N native, L local, - refused, else the format that is translated to (or, for `passthrough`, forwarded as). */
const table: { readonly [R in ProviderRow]: string } = {
  openai: "N completions N - N N L - N",
  azure: "N completions N - N N L - passthrough",
  azureClaude: "messages N - - N N N - passthrough",
  anthropic: "messages N - - - - N - -",
  gemini: "generateContent completions completions N N - L N -",
  vertexGemini: "generateContent completions completions N vertexPredict vertexRank L N -",
  vertexClaude: "messages N - - vertexPredict vertexRank N - -",
  vertexOther: "N completions completions - vertexPredict vertexRank L - -",
  bedrock: "converse converse converse - - bedrockRerank L - -",
  bedrockClaude: "converse converse converse - - bedrockRerank bedrockCountTokens - -",
  copilotClaude: "N N completions - - - L - -",
  copilotResponses: "- responses N - N N L - -",
  copilotCompletions: "N completions completions - N N L - -",
  copilotBoth: "N completions N - N N L - -"
}

const cell = (
  client: ClientFormat,
  planned: Result.Result<Plan, { readonly status: number; readonly message: string }>
) => {
  if (Result.isFailure(planned)) {
    assert.strictEqual(planned.failure.status, 400)
    assert.match(planned.failure.message, /^failed to process LLM request: unsupported conversion: /)
    return "-"
  }
  if (planned.success.kind === "local") return "L"
  return planned.success.upstream === client ? "N" : planned.success.upstream
}

describe("the preference table", () => {
  for (const [row, formats] of Object.entries(providerFormats))
    it(`${row}: every client format is answered as the table says, and can be`, () => {
      const cells = columns.map((client) => cell(client, plan(client, formats)))
      assert.strictEqual(cells.join(" "), table[row as ProviderRow])
      for (const client of columns) {
        const planned = plan(client, formats)
        if (Result.isFailure(planned) || planned.success.kind === "local") continue
        const made = translator(client, planned.success.upstream)
        assert.strictEqual(Result.isSuccess(made) && made.success.kind, planned.success.kind)
      }
    })

  it("what is opaque is forwarded by every provider", () => {
    for (const formats of Object.values(providerFormats))
      for (const client of ["detect", "passthrough"] as const)
        assert.strictEqual(cell(client, plan(client, formats)), "N")
  })

  it("a custom provider follows the same preferences among the formats that it declares", () => {
    const planned = (client: ClientFormat, ...formats: ReadonlyArray<UpstreamFormat>) =>
      cell(client, plan(client, formats))
    assert.strictEqual(planned("completions", "messages", "completions"), "N")
    assert.strictEqual(planned("completions", "completions", "generateContent"), "generateContent")
    assert.strictEqual(planned("completions", "messages"), "messages")
    assert.strictEqual(planned("completions", "responses"), "-")
    assert.strictEqual(planned("messages", "responses", "completions"), "completions")
    assert.strictEqual(planned("responses", "messages"), "-")
    assert.strictEqual(planned("responses", "completions"), "completions")
    assert.strictEqual(planned("generateContent", "completions", "messages"), "-")
    assert.strictEqual(planned("rerank", "completions"), "-")
    assert.strictEqual(planned("rerank", "rerank"), "N")
    assert.strictEqual(planned("anthropicTokenCount", "messages"), "L")
    assert.strictEqual(planned("realtime", "completions"), "-")
  })

  it("Bedrock embedding models are told apart by name", () => {
    assert.strictEqual(bedrockEmbeddings("amazon.titan-embed-text-v2:0"), "titan")
    assert.strictEqual(bedrockEmbeddings("amazon.nova-2-multimodal-embeddings-v1:0"), "nova")
    assert.strictEqual(bedrockEmbeddings("cohere.embed-v4:0"), "cohereInvoke")
    for (const upstream of ["titan", "nova", "cohereInvoke"] as const)
      assert.strictEqual(cell("embeddings", plan("embeddings", ["converse", upstream])), upstream)
  })

  it("a pair without a translation is refused by name", () => {
    const made = translator("responses", "messages")
    assert.isTrue(Result.isFailure(made))
    if (Result.isFailure(made))
      assert.strictEqual(
        made.failure.message,
        "failed to process LLM request: unsupported conversion: responses to messages"
      )
  })
})
