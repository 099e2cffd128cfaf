/**
 * The preference table: which of a provider's formats a client's format is answered from. What a provider speaks follows from its kind and
 * the model: the provider table says so.
 */
import { Result } from "effect"
import { type LlmError, requestRefused } from "./formats/error.ts"
import type { ClientFormat, UpstreamFormat } from "./formats/format.ts"

/** The first format that the provider speaks is taken. What is absent after the own format has no translation, on purpose. */
const preferences: { readonly [C in ClientFormat]: ReadonlyArray<UpstreamFormat> } = {
  completions: ["generateContent", "completions", "messages", "converse"],
  messages: ["messages", "completions", "responses", "converse"],
  responses: ["responses", "completions", "converse"],
  generateContent: ["generateContent"],
  embeddings: ["embeddings", "vertexPredict", "titan", "nova", "cohereInvoke"],
  rerank: ["rerank", "vertexRank", "bedrockRerank"],
  anthropicTokenCount: ["anthropicTokenCount", "bedrockCountTokens"],
  geminiCountTokens: ["geminiCountTokens"],
  realtime: ["realtime", "passthrough"],
  detect: ["detect"],
  passthrough: ["passthrough"]
}

/** How a request is answered. `local`: by the gateway itself, which counts the tokens. */
export type Plan =
  | { readonly kind: "native" | "translated"; readonly upstream: UpstreamFormat }
  | { readonly kind: "local" }

const local: Plan = { kind: "local" }

/**
 * Chooses among the formats of a provider. Fails with 400 `unsupported conversion: …` when it speaks none that this client's format can be
 * answered from.
 */
export const plan = (client: ClientFormat, spoken: ReadonlyArray<UpstreamFormat>): Result.Result<Plan, LlmError> => {
  // Whatever a provider speaks, these two are not translated.
  if (client === "detect" || client === "passthrough") return Result.succeed({ kind: "native", upstream: client })
  const upstream = preferences[client].find((format) => spoken.includes(format))
  if (upstream !== undefined)
    return Result.succeed({
      kind: upstream === client || upstream === "passthrough" ? "native" : "translated",
      upstream
    })
  return client === "anthropicTokenCount"
    ? Result.succeed(local)
    : Result.fail(requestRefused(`unsupported conversion: ${client} to ${spoken.join(", ") || "nothing"}`))
}
