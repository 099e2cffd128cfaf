import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { ClientFormat, UpstreamFormat } from "./formats/format.ts"
import { type Plan, plan } from "./matrix.ts"
import { compileProvider, NoSuchEndpoint } from "./providers/provider.ts"
import type { ProviderSettings } from "./providers/settings.ts"
import { wireFormatOf } from "./providers/wire-format.ts"
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

interface Row {
  readonly settings: ProviderSettings
  readonly model: string
  /** N native, L local, - refused, else the format that is translated to. */
  readonly cells: string
}

const azure = (resourceType: "openAI" | "foundry") => ({ kind: "azure", resourceName: "r", resourceType }) as const
const vertex = { kind: "vertex", project: "p" } as const
const bedrock = { kind: "bedrock", region: "r" } as const
const copilot = { kind: "copilot" } as const

const table: ReadonlyArray<Row> = [
  { settings: { kind: "openai" }, model: "gpt-4o", cells: "N completions N - N N L - N" },
  { settings: azure("openAI"), model: "gpt-4o", cells: "N completions N - N - L - -" },
  { settings: azure("foundry"), model: "gpt-4o", cells: "N completions N - N N L - -" },
  { settings: azure("foundry"), model: "claude-opus-4-8", cells: "messages N - - - - N - -" },
  { settings: { kind: "anthropic" }, model: "claude-opus-4-8", cells: "messages N - - - - N - -" },
  {
    settings: { kind: "gemini" },
    model: "gemini-2.5-pro",
    cells: "generateContent completions completions N N - L N -"
  },
  {
    settings: vertex,
    model: "gemini-2.5-pro",
    cells: "generateContent completions completions N vertexPredict vertexRank L N -"
  },
  { settings: vertex, model: "claude-opus-4-8", cells: "messages N - - vertexPredict vertexRank N - -" },
  { settings: vertex, model: "llama-4", cells: "N completions completions - vertexPredict vertexRank L - -" },
  {
    settings: bedrock,
    model: "amazon.titan-embed-text-v2:0",
    cells: "converse converse converse - titan bedrockRerank L - -"
  },
  {
    settings: bedrock,
    model: "amazon.nova-2-multimodal-embeddings-v1:0",
    cells: "converse converse converse - nova bedrockRerank L - -"
  },
  {
    settings: bedrock,
    model: "cohere.embed-v4:0",
    cells: "converse converse converse - cohereInvoke bedrockRerank L - -"
  },
  {
    settings: bedrock,
    model: "eu.anthropic.claude-x",
    cells: "converse converse converse - titan bedrockRerank bedrockCountTokens - -"
  },
  { settings: copilot, model: "claude-opus", cells: "N N completions - - - L - -" },
  { settings: copilot, model: "gpt-5", cells: "- responses N - N N L - -" },
  { settings: copilot, model: "gpt-4o", cells: "N completions completions - N N L - -" },
  { settings: copilot, model: "gpt-5.4", cells: "N completions N - N N L - -" }
]

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
  for (const { settings, model, cells } of table)
    it(`${JSON.stringify(settings)} with ${model}: every client format is answered as the table says, and can be`, () => {
      const provider = compileProvider(settings)
      const formats = provider.formats(model)
      assert.strictEqual(columns.map((client) => cell(client, plan(client, formats))).join(" "), cells)
      for (const client of columns) {
        const planned = plan(client, formats)
        if (Result.isFailure(planned) || planned.success.kind === "local") continue
        const { upstream, kind } = planned.success
        const made = translator(client, upstream)
        assert.strictEqual(Result.isSuccess(made) && made.success.kind, kind)
        const call = { model, streaming: false, translated: kind === "translated", clientPath: "/", clientQuery: "" }
        assert.notInstanceOf(provider.target({ ...call, format: wireFormatOf(upstream) }), NoSuchEndpoint)
      }
    })

  it("what is opaque is forwarded by every provider", () => {
    for (const { settings, model } of table)
      for (const client of ["detect", "passthrough"] as const)
        assert.strictEqual(cell(client, plan(client, compileProvider(settings).formats(model))), "N")
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
