/** A conversation as a Bedrock Converse request. The model is in the URL. */
import type {
  CachePoint,
  ConverseMessage,
  ConverseRequest,
  ConverseText,
  ConverseTool,
  ConverseToolChoice
} from "../../formats/converse.ts"
import { defined, isObject, jsonText, objectAt, parseJson } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import type { HeaderLookup } from "../../formats/stream.ts"
import type { Exchange, Quirks } from "../codec.ts"
import { type Conversation, isBlank, partsOf, type TextPart, textPart, textsOf } from "../conversation.ts"
import { thinkingBudget } from "../reasoning.ts"
import { ToolNames } from "../tool-names.ts"
import { setCachePoints } from "./cache-points.ts"
import { type ContentContext, encodeContent, mark } from "./content.ts"
import { Documents } from "./documents.ts"

/** OpenAI clients may leave the limit out; Bedrock's own default differs by model. */
const defaultMaxTokens = 4096
/** What Bedrock takes in one request. */
const maxCachePoints = 4

/** Declared when the history has tool calls and the request no tools, which Bedrock refuses otherwise. */
const placeholderTool: ConverseTool = {
  toolSpec: {
    name: "headgate_placeholder_do_not_call",
    description: null,
    inputSchema: { json: { type: "object" } }
  }
}

/** Values of the `anthropic-beta` header that Bedrock knows. */
export const bedrockBetas: ReadonlyArray<string> = [
  "computer-use-2025-01-24",
  "token-efficient-tools-2025-02-19",
  "interleaved-thinking-2025-05-14",
  "output-128k-2025-02-19",
  "dev-full-thinking-2025-05-14",
  "context-1m-2025-08-07",
  "context-management-2025-06-27",
  "effort-2025-11-24",
  "tool-search-tool-2025-10-19",
  "tool-examples-2025-10-29"
]

const encodeSystem = (
  { instructions, turns }: Conversation,
  joined: boolean,
  context: ContentContext
): Array<ConverseText | CachePoint> => {
  const parts: Array<TextPart> = []
  const add = (content: string | ReadonlyArray<TextPart>) => {
    for (const part of typeof content === "string" ? [textPart(content)] : content)
      if (!isBlank(part.text)) parts.push(part)
  }
  if (instructions !== undefined) add(instructions)
  for (const { role, content } of turns)
    if (role === "system" || role === "developer")
      add(typeof content === "string" ? content : content.flatMap((part) => (part.type === "text" ? [part] : [])))
  if (joined && parts.length > 0) return [{ text: textsOf(parts).join("\n") }]
  const blocks: Array<ConverseText | CachePoint> = []
  for (const { text, cache } of parts) {
    blocks.push({ text })
    mark(blocks, cache, context)
  }
  return blocks
}

const encodeTurns = ({ turns }: Conversation, merge: boolean, context: ContentContext): Array<ConverseMessage> => {
  const messages: Array<ConverseMessage> = []
  for (const { role, content, at } of turns) {
    if (role !== "user" && role !== "assistant") continue
    const blocks = encodeContent(partsOf(content), context, at)
    if (blocks.length === 0) continue
    const last = messages.at(-1)
    if (merge && last?.role === role) messages[messages.length - 1] = { role, content: [...last.content, ...blocks] }
    else messages.push({ role, content: blocks })
  }
  return messages
}

const encodeTools = ({ tools }: Conversation, context: ContentContext): Array<ConverseTool> => {
  const list: Array<ConverseTool> = []
  for (const { name, description, parameters, cache } of tools) {
    const json = parameters ?? { type: "object", properties: {} }
    list.push({ toolSpec: { name: context.names.safe(name), description: description ?? null, inputSchema: { json } } })
    mark(list, cache, context)
  }
  return list
}

const encodeToolChoice = (
  { toolChoice, reasoning }: Conversation,
  names: ToolNames
): ConverseToolChoice | undefined => {
  // Bedrock documents that thinking allows no other choice than this.
  if (reasoning.switch === "enabled") return { any: {} }
  switch (toolChoice?.type) {
    case "auto":
      return { auto: {} }
    case "required":
      return { any: {} }
    case "tool":
      return { tool: { name: names.safe(toolChoice.name) } }
    default:
      return undefined
  }
}

const encodeOutput = ({ format }: Conversation): ConverseRequest["outputConfig"] => {
  if (format === undefined) return undefined
  const [schema, name, description] =
    format.type === "object"
      ? [{ type: "object", additionalProperties: true }, undefined, undefined]
      : [format.schema, format.name, format.description]
  const jsonSchema = defined({ schema: jsonText(schema) ?? "{}", name, description })
  return { textFormat: { type: "json_schema", structure: { jsonSchema } } }
}

const passedBetas = (header: HeaderLookup | undefined, quirks: Quirks): ReadonlyArray<string> | undefined => {
  const allowed = quirks.anthropicBetas ?? bedrockBetas
  const passed = (header?.("anthropic-beta") ?? "")
    .split(",")
    .map((beta) => beta.trim())
    .filter((beta) => allowed.includes(beta))
  return passed.length > 0 ? passed : undefined
}

/** Thinking as the client asked for it: messages clients in the provider's own words, the others by effort or budget. */
const encodeThinking = ({ reasoning, body }: Conversation): unknown => {
  if (reasoning.switch !== undefined) return body["thinking"]
  const budget = reasoning.budget ?? thinkingBudget(reasoning.effort)
  return budget === undefined ? undefined : { type: "enabled", budget_tokens: budget }
}

const encodeExtras = (
  conversation: Conversation,
  { call, quirks, rules }: Exchange
): ConverseRequest["additionalModelRequestFields"] => {
  const thinking = encodeThinking(conversation)
  if (!rules.anthropicFields) return thinking === undefined ? undefined : { thinking }
  const { reasoning, topK, metadata, body } = conversation
  const output = objectAt(body, "output_config")
  const emptyOutput = output !== undefined && Object.keys(output).length === 0
  const fields = defined({
    thinking,
    top_k: reasoning.switch === "enabled" ? undefined : topK,
    output_config: reasoning.effort === undefined ? (emptyOutput ? {} : undefined) : { effort: reasoning.effort },
    anthropic_beta: passedBetas(call.header, quirks),
    metadata
  })
  return Object.keys(fields).length > 0 ? fields : undefined
}

const encodeMetadata = (header: HeaderLookup | undefined): ConverseRequest["requestMetadata"] => {
  const metadata = parseJson(header?.("x-bedrock-metadata") ?? "")
  if (!isObject(metadata)) return undefined
  const entries = Object.entries(metadata).flatMap(
    ([key, value]): Array<[string, string]> =>
      typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? [[key, String(value)]] : []
  )
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

const encodeInference = (conversation: Conversation): ConverseRequest["inferenceConfig"] => {
  const { stop, temperature, topP } = conversation
  // Thinking allows neither.
  const sampled = conversation.reasoning.switch !== "enabled"
  return defined({
    maxTokens: conversation.maxTokens ?? defaultMaxTokens,
    temperature: sampled ? temperature : undefined,
    topP: sampled ? topP : undefined,
    stopSequences: stop.length > 0 ? stop : undefined
  })
}

export const encodeRequest = (
  conversation: Conversation,
  exchange: Exchange,
  reader: RequestReader
): ConverseRequest => {
  const { rules, quirks, call } = exchange
  const names = new ToolNames()
  exchange.toolNames = names
  const context: ContentContext = {
    reader,
    rules,
    names,
    documents: new Documents(reader),
    cachePointsLeft: maxCachePoints,
    toolsInHistory: false
  }
  // Names are registered from the definitions on; cache points are counted from the system text on, tools last.
  for (const tool of conversation.tools) names.safe(tool.name)
  const choice = encodeToolChoice(conversation, names)
  const system = encodeSystem(conversation, rules.joinSystem, context)
  const messages = encodeTurns(conversation, rules.mergeTurns, context)
  const tools = encodeTools(conversation, context)
  const declared = tools.length > 0
  if (!declared && context.toolsInHistory) tools.push(placeholderTool)
  if (rules.configuredCaching && quirks.promptCaching !== undefined)
    setCachePoints({ system, messages, tools }, call.model, quirks.promptCaching)
  return defined({
    messages,
    system: system.length > 0 ? system : undefined,
    inferenceConfig: encodeInference(conversation),
    outputConfig: encodeOutput(conversation),
    toolConfig: tools.length > 0 ? defined({ tools, toolChoice: declared ? choice : undefined }) : undefined,
    guardrailConfig: quirks.guardrail && {
      guardrailIdentifier: quirks.guardrail.identifier,
      guardrailVersion: quirks.guardrail.version,
      trace: "enabled" as const
    },
    additionalModelRequestFields: encodeExtras(conversation, exchange),
    requestMetadata: encodeMetadata(call.header)
  })
}
