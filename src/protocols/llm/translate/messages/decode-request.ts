/** An Anthropic messages request, read. */
import { isObject, type JsonObject, objectAt, stringAt, wordAt } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import {
  type Conversation,
  type MediaSource,
  type OutputFormat,
  type Part,
  type ReasoningRequest,
  type TextPart,
  type Tool,
  type ToolChoice,
  type Turn,
  textPart
} from "../conversation.ts"

const isMarked = (block: JsonObject): boolean => isObject(block["cache_control"])

const decodeText = (block: JsonObject, reader: RequestReader, at: string): TextPart =>
  textPart(
    reader.string(block, "text", at) ?? "",
    isMarked(block),
    Array.isArray(block["citations"]) && block["citations"].length > 0
  )

const decodeSource = (block: JsonObject): MediaSource | undefined => {
  const source = objectAt(block, "source") ?? {}
  switch (source["type"]) {
    case "base64":
      return { kind: "inline", mediaType: stringAt(source, "media_type") ?? "", data: stringAt(source, "data") ?? "" }
    case "url":
      return { kind: "url", url: stringAt(source, "url") ?? "", mediaType: undefined }
    case "file":
      return { kind: "file", id: stringAt(source, "file_id") ?? "" }
    default:
      return undefined
  }
}

const decodeBlock = (block: JsonObject, reader: RequestReader, at: string): Part => {
  switch (block["type"]) {
    case "text":
      return decodeText(block, reader, at)
    case "image": {
      const source = decodeSource(block)
      return source === undefined ? { type: "other", kind: "image" } : { type: "image", source, cache: isMarked(block) }
    }
    case "tool_use":
      reader.required(block, "id", at)
      reader.required(block, "name", at)
      return {
        type: "toolCall",
        id: reader.string(block, "id", at) ?? "",
        name: reader.string(block, "name", at) ?? "",
        input: { value: block["input"] ?? {} },
        custom: false,
        cache: isMarked(block)
      }
    case "tool_result":
      reader.required(block, "tool_use_id", at)
      return {
        type: "toolResult",
        callId: reader.string(block, "tool_use_id", at) ?? "",
        name: undefined,
        content: decodeContent(block, reader, at),
        isError: reader.boolean(block, "is_error", at),
        cache: isMarked(block)
      }
    case "thinking":
      return {
        type: "reasoning",
        text: reader.string(block, "thinking", at) ?? "",
        signature: reader.string(block, "signature", at)
      }
    default:
      return { type: "other", kind: wordAt(block, "type") }
  }
}

const decodeContent = (holder: JsonObject, reader: RequestReader, at: string): string | ReadonlyArray<Part> => {
  const content = holder["content"]
  return typeof content === "string"
    ? content
    : reader.objects(holder, "content", at).map((block, index) => decodeBlock(block, reader, `${at}.content[${index}]`))
}

const decodeMessage = (message: JsonObject, reader: RequestReader, at: string): Turn => {
  const role = message["role"]
  reader.required(message, "content", at)
  const content = decodeContent(message, reader, at)
  if (role === "user" || role === "assistant") return { role, content, at }
  if (role === "system") return { role, content: typeof content === "string" ? [textPart(content)] : content, at }
  reader.required(message, "role", at)
  reader.refuse(`invalid field: ${at}.role: unknown role`, `${at}.role`)
  return { role: "user", content, at }
}

const decodeSystem = (body: JsonObject, reader: RequestReader): string | ReadonlyArray<TextPart> | undefined => {
  const { system } = body
  if (system === undefined || system === null) return undefined
  if (typeof system === "string") return system
  return reader.objects(body, "system").map((block, index) => decodeText(block, reader, `system[${index}]`))
}

/** Tools with a `type` other than `custom` run on the provider's servers and exist nowhere else. */
const decodeTools = (body: JsonObject, reader: RequestReader): ReadonlyArray<Tool> => {
  const tools: Array<Tool> = []
  reader.objects(body, "tools").forEach((tool, index) => {
    if (tool["type"] !== undefined && tool["type"] !== null && tool["type"] !== "custom") return
    const at = `tools[${index}]`
    reader.required(tool, "name", at)
    tools.push({
      name: reader.string(tool, "name", at) ?? "",
      description: reader.string(tool, "description", at),
      parameters: tool["input_schema"] ?? undefined,
      strict: undefined,
      cache: isMarked(tool)
    })
  })
  return tools
}

const decodeToolChoice = (choice: JsonObject | undefined, reader: RequestReader): ToolChoice | undefined => {
  switch (choice?.["type"]) {
    case undefined:
      return undefined
    case "auto":
      return { type: "auto" }
    case "any":
      return { type: "required" }
    case "none":
      return { type: "none" }
    case "tool":
      return { type: "tool", name: (choice && reader.string(choice, "name", "tool_choice")) ?? "" }
    default:
      reader.refuse("invalid field: tool_choice.type", "tool_choice.type")
      return undefined
  }
}

const decodeReasoning = (body: JsonObject, output: JsonObject | undefined, reader: RequestReader): ReasoningRequest => {
  const thinking = reader.object(body, "thinking")
  const type = thinking?.["type"]
  const known = type === "enabled" || type === "adaptive" || type === "disabled"
  if (thinking !== undefined && !known) reader.refuse("invalid field: thinking.type", "thinking.type")
  return {
    switch: known ? type : undefined,
    budget: thinking && reader.number(thinking, "budget_tokens", "thinking"),
    effort: output && reader.string(output, "effort", "output_config")
  }
}

/** `output_format` is the name that the member had before it moved into `output_config`. */
const decodeFormat = (body: JsonObject, output: JsonObject | undefined): OutputFormat | undefined => {
  const format = (output && objectAt(output, "format")) ?? objectAt(body, "output_format")
  return format?.["type"] === "json_schema"
    ? { type: "schema", name: undefined, description: undefined, schema: format["schema"] ?? {}, strict: undefined }
    : undefined
}

export const decodeRequest = (body: JsonObject, reader: RequestReader): Conversation => {
  reader.required(body, "messages")
  reader.required(body, "max_tokens")
  const output = reader.object(body, "output_config")
  const choice = reader.object(body, "tool_choice")
  const serial = choice && reader.boolean(choice, "disable_parallel_tool_use", "tool_choice")
  const metadata = reader.object(body, "metadata")
  return {
    model: reader.string(body, "model") ?? "",
    stream: reader.boolean(body, "stream"),
    instructions: decodeSystem(body, reader),
    turns: reader
      .objects(body, "messages")
      .map((message, index) => decodeMessage(message, reader, `messages[${index}]`)),
    tools: decodeTools(body, reader),
    toolChoice: decodeToolChoice(choice, reader),
    parallelToolCalls: serial === undefined ? undefined : !serial,
    maxTokens: reader.number(body, "max_tokens"),
    temperature: reader.number(body, "temperature"),
    topP: reader.number(body, "top_p"),
    topK: reader.number(body, "top_k"),
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    seed: undefined,
    candidates: undefined,
    stop: reader.strings(body, "stop_sequences"),
    reasoning: decodeReasoning(body, output, reader),
    format: decodeFormat(body, output),
    user: metadata && stringAt(metadata, "user_id"),
    metadata,
    body
  }
}
