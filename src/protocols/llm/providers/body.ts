/**
 * What a provider wants in or out of the body beyond its format: the last touch on the translated body before it is sent. Bodies that
 * need nothing come back as the same object.
 */
import { isObject, type JsonObject, mapSame, withMember, withoutMembers } from "../models/json.ts"
import { vertexClaude } from "./model-family.ts"
import type { ProviderSettings } from "./settings.ts"
import type { WireFormat } from "./wire-format.ts"

/** The version of Anthropic's API that Vertex AI takes in the body instead of a header. */
const vertexAnthropicVersion = "vertex-2023-10-16"

/**
 * `clientFormat`: what the client spoke, before translation. OpenAI's moderation option is not added for Anthropic clients that were
 * translated to responses: its result would have no place in their answer.
 */
export const providerBody = (
  settings: ProviderSettings,
  clientFormat: string,
  format: WireFormat,
  model: string,
  body: JsonObject
): JsonObject => {
  if (format === "generateContent") return withoutMembers(body, "model")
  switch (settings.kind) {
    case "openai": {
      const moderated =
        settings.moderation !== undefined &&
        (format === "completions" || (format === "responses" && clientFormat !== "messages"))
      return moderated ? withMember(body, "moderation", settings.moderation) : body
    }
    case "vertex":
      return vertexClaude(model) === undefined ? body : vertexClaudeBody(format, body)
    case "bedrock":
      return format === "converse" && settings.guardrail !== undefined
        ? withMember(body, "guardrailConfig", {
            guardrailIdentifier: settings.guardrail.identifier,
            guardrailVersion: settings.guardrail.version,
            trace: "enabled"
          })
        : body
    default:
      return body
  }
}

/** The model is in the path, except for counting; the newer fields of Anthropic's own API are refused. */
const vertexClaudeBody = (format: WireFormat, body: JsonObject): JsonObject => {
  const removed = format === "anthropicTokenCount" ? ["output_format"] : ["model", "output_format"]
  const rest = mapMembers(withoutMembers(body, ...removed), 0)
  return withMember(rest, "anthropic_version", vertexAnthropicVersion)
}

/** `cache_control` stands at most inside a block of a tool result of a message; nothing below this depth is one. */
const deepest = 16

const withoutCacheScope = (value: unknown, depth: number): unknown => {
  if (depth > deepest) return value
  if (Array.isArray(value)) return mapSame(value, (item: unknown) => withoutCacheScope(item, depth + 1))
  return isObject(value) ? mapMembers(value, depth) : value
}

const mapMembers = (object: JsonObject, depth: number): JsonObject => {
  let changed = object
  for (const [key, value] of Object.entries(object)) {
    const isMark = key === "cache_control" && isObject(value)
    const after = isMark ? withoutMembers(value, "scope") : withoutCacheScope(value, depth + 1)
    if (after !== value) changed = withMember(changed, key, after)
  }
  return changed
}

/**
 * A chat completions request as the newer `gpt-` models of OpenAI, Azure and Copilot want it: `max_tokens` is called
 * `max_completion_tokens` there. One that the client sent itself counts.
 */
export const renamedMaxTokens = (kind: ProviderSettings["kind"], model: string, body: JsonObject): JsonObject => {
  const renames = (kind === "openai" || kind === "azure" || kind === "copilot") && model.startsWith("gpt-")
  if (!renames || !Object.hasOwn(body, "max_tokens")) return body
  const rest = withoutMembers(body, "max_tokens")
  return Object.hasOwn(rest, "max_completion_tokens")
    ? rest
    : withMember(rest, "max_completion_tokens", body["max_tokens"])
}
