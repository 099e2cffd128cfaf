/** What lies between the formats of clients and those of one provider: made when a pair is first met, kept for the next request. */
import type { Result } from "effect"
import type { LlmError } from "../../src/protocols/llm/formats/error.ts"
import type { ClientFormat, UpstreamFormat } from "../../src/protocols/llm/formats/format.ts"
import { vertexClaudeId } from "../../src/protocols/llm/providers/model-family.ts"
import type { ProviderSettings } from "../../src/protocols/llm/providers/settings.ts"
import type { PromptCaching, Quirks } from "../../src/protocols/llm/translate/codec.ts"
import { type Translator, translator } from "../../src/protocols/llm/translate/translator.ts"

export type Translators = (
  client: ClientFormat,
  upstream: UpstreamFormat,
  model: string
) => Result.Result<Translator, LlmError>

/** What bodies owe to the kind of the provider. */
const quirksOf = (settings: ProviderSettings, promptCaching: PromptCaching | undefined): Quirks => {
  switch (settings.kind) {
    case "openai":
      return { maxCompletionTokens: true, moderation: settings.moderation }
    case "azure":
      return { maxCompletionTokens: true }
    case "copilot":
      return { maxCompletionTokens: true, bareEmbeddings: true }
    case "bedrock":
      return { region: settings.region, guardrail: settings.guardrail, promptCaching }
    default:
      return {}
  }
}

/** The formats are few, so that what is kept is. */
export const makeTranslators = (settings: ProviderSettings, promptCaching: PromptCaching | undefined): Translators => {
  const quirks = quirksOf(settings, promptCaching)
  const cached = (quirks: Quirks): Translators => {
    const known = new Map<ClientFormat, Map<UpstreamFormat, Result.Result<Translator, LlmError>>>()
    return (client, upstream) => {
      let ofClient = known.get(client)
      if (ofClient === undefined) {
        ofClient = new Map()
        known.set(client, ofClient)
      }
      let found = ofClient.get(upstream)
      if (found === undefined) {
        found = translator(client, upstream, quirks)
        ofClient.set(upstream, found)
      }
      return found
    }
  }
  const usual = cached(quirks)
  if (settings.kind !== "vertex") return usual
  const claude = cached({ ...quirks, vertexClaude: true })
  return (client, upstream, model) => (vertexClaudeId(model) === undefined ? usual : claude)(client, upstream, model)
}
