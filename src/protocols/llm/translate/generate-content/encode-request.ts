/** A conversation as a Gemini generateContent request. The model is in the URL. */
import type { GeminiRequest } from "../../formats/generate-content.ts"
import { defined, isObject, type JsonObject, objectAt, stringAt } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import { type Conversation, isBlank, textsOf } from "../conversation.ts"
import { thinkingBudget } from "../reasoning.ts"
import { encodeContents } from "./contents.ts"
import { normalizeSchema } from "./schema.ts"

const schemaOf = (schema: unknown, at: string, reader: RequestReader): JsonObject => {
  const normalized = normalizeSchema(schema)
  if (normalized === undefined) reader.refuse("schema is too large", at)
  return normalized ?? {}
}

const encodeTools = ({ tools }: Conversation, reader: RequestReader): GeminiRequest["tools"] =>
  tools.length === 0
    ? undefined
    : [
        {
          functionDeclarations: tools.map(({ name, description, parameters }, index) =>
            defined({
              name,
              description,
              parameters:
                parameters === undefined
                  ? undefined
                  : schemaOf(parameters, `tools[${index}].function.parameters`, reader)
            })
          )
        }
      ]

const encodeToolConfig = ({ toolChoice }: Conversation): GeminiRequest["toolConfig"] => {
  switch (toolChoice?.type) {
    case undefined:
      return undefined
    case "none":
      return { functionCallingConfig: { mode: "NONE" } }
    case "required":
      return { functionCallingConfig: { mode: "ANY" } }
    case "auto":
      return { functionCallingConfig: { mode: "AUTO" } }
    case "tool":
      return { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [toolChoice.name] } }
    case "allowed":
      // Names can be given to a mode that forces a call, and to no other.
      return toolChoice.required
        ? { functionCallingConfig: { mode: "ANY", allowedFunctionNames: toolChoice.names } }
        : { functionCallingConfig: { mode: "AUTO" } }
  }
}

const levels: ReadonlyMap<string, string> = new Map([
  ["minimal", "minimal"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "high"],
  ["max", "high"]
])

/** The client's own words for this provider win; Gemini 3 takes a level, its predecessors a budget. */
const encodeThinking = ({ body, model, reasoning }: Conversation): JsonObject | undefined => {
  const own = objectAt(body, "thinking_config") ?? objectAt(body, "thinkingConfig")
  if (own !== undefined) return own
  if (model.includes("gemini-3")) {
    const thinkingLevel = reasoning.effort === undefined ? undefined : levels.get(reasoning.effort)
    return thinkingLevel === undefined ? undefined : { thinkingLevel, includeThoughts: true }
  }
  const budget = thinkingBudget(reasoning.effort)
  return budget === undefined ? undefined : { thinkingBudget: budget, includeThoughts: true }
}

const encodeGenerationConfig = (conversation: Conversation, reader: RequestReader): JsonObject | undefined => {
  const { stop, format } = conversation
  const config = defined({
    temperature: conversation.temperature,
    topP: conversation.topP,
    topK: conversation.topK,
    frequencyPenalty: conversation.frequencyPenalty,
    presencePenalty: conversation.presencePenalty,
    maxOutputTokens: conversation.maxTokens,
    stopSequences: stop.length > 0 ? stop : undefined,
    candidateCount: conversation.candidates,
    seed: conversation.seed,
    responseMimeType: format === undefined ? undefined : "application/json",
    responseSchema:
      format?.type === "schema" ? schemaOf(format.schema, "response_format.json_schema.schema", reader) : undefined,
    thinkingConfig: encodeThinking(conversation)
  })
  return Object.keys(config).length > 0 ? config : undefined
}

const encodeSystem = ({ turns }: Conversation): GeminiRequest["systemInstruction"] => {
  const texts = turns
    .flatMap(({ role, content }) => (role === "system" || role === "developer" ? textsOf(content) : []))
    .filter((text) => !isBlank(text))
  return texts.length > 0 ? { parts: [{ text: texts.join("\n") }] } : undefined
}

export const encodeRequest = (conversation: Conversation, _exchange: unknown, reader: RequestReader): GeminiRequest => {
  const { body } = conversation
  const cachedContent = stringAt(body, "cachedContent") ?? stringAt(body, "cached_content")
  const safety = body["safetySettings"] ?? body["safety_settings"]
  const wellFormed = Array.isArray(safety) && safety.every(isObject)
  // Cached content brings its own instructions and tools, and the API refuses others beside it.
  const open = cachedContent === undefined
  return defined({
    contents: encodeContents(conversation, reader),
    systemInstruction: open ? encodeSystem(conversation) : undefined,
    tools: open ? encodeTools(conversation, reader) : undefined,
    toolConfig: open ? encodeToolConfig(conversation) : undefined,
    generationConfig: encodeGenerationConfig(conversation, reader),
    safetySettings: wellFormed ? safety : undefined,
    labels: objectAt(body, "labels"),
    cachedContent
  })
}
