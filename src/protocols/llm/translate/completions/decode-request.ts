/** A chat completions request, read. */
import { isObject, type JsonObject, objectAt, stringAt, wordAt } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import {
  type Conversation,
  type OutputFormat,
  type Part,
  type Tool,
  type ToolCallPart,
  type ToolChoice,
  type Turn,
  textPart
} from "../conversation.ts"
import { sourceOfFileData, sourceOfUrl } from "../media-source.ts"

const decodePart = (part: JsonObject, reader: RequestReader, at: string): Part | undefined => {
  switch (part["type"]) {
    case "text":
      return textPart(reader.string(part, "text", at) ?? "")
    case "refusal":
      return textPart(reader.string(part, "refusal", at) ?? "")
    case "image_url": {
      reader.required(part, "image_url", at)
      const image = reader.object(part, "image_url", at)
      if (image === undefined) return undefined
      reader.required(image, "url", `${at}.image_url`)
      const url = reader.string(image, "url", `${at}.image_url`) ?? ""
      const mediaType = stringAt(image, "format") ?? stringAt(image, "mime_type") ?? stringAt(image, "content_type")
      return { type: "image", source: sourceOfUrl(url, mediaType), cache: false }
    }
    case "input_audio": {
      const audio = reader.object(part, "input_audio", at)
      return audio === undefined
        ? undefined
        : { type: "audio", format: stringAt(audio, "format") ?? "", data: stringAt(audio, "data") ?? "" }
    }
    case "file": {
      const file = reader.object(part, "file", at)
      if (file === undefined) return undefined
      const data = stringAt(file, "file_data")
      return {
        type: "file",
        name: stringAt(file, "filename"),
        source: data === undefined ? { kind: "file", id: stringAt(file, "file_id") ?? "" } : sourceOfFileData(data)
      }
    }
    default:
      reader.refuse(`unsupported content: ${wordAt(part, "type")}`, at)
      return undefined
  }
}

const decodeContent = (message: JsonObject, reader: RequestReader, at: string): string | ReadonlyArray<Part> => {
  const content = message["content"]
  if (typeof content === "string") return content
  const parts: Array<Part> = []
  reader.objects(message, "content", at).forEach((item, index) => {
    const part = decodePart(item, reader, `${at}.content[${index}]`)
    if (part !== undefined) parts.push(part)
  })
  return parts
}

const decodeToolCall = (call: JsonObject, reader: RequestReader, at: string): ToolCallPart => {
  const custom = call["type"] === "custom"
  const inner = reader.object(call, custom ? "custom" : "function", at)
  reader.required(call, "id", at)
  reader.required(call, custom ? "custom" : "function", at)
  return {
    type: "toolCall",
    id: reader.string(call, "id", at),
    name: (inner && reader.string(inner, "name", at)) ?? "",
    input: { text: (inner && reader.string(inner, custom ? "input" : "arguments", at)) ?? "" },
    custom,
    cache: false
  }
}

const decodeAssistant = (message: JsonObject, reader: RequestReader, at: string): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  const signature = reader.string(message, "reasoning_signature", at)
  const reasoning = reader.string(message, "reasoning_content", at)
  if (reasoning !== undefined || signature !== undefined)
    parts.push({ type: "reasoning", text: reasoning ?? "", signature })
  const content = decodeContent(message, reader, at)
  if (typeof content === "string") parts.push(textPart(content))
  else parts.push(...content)
  const refusal = reader.string(message, "refusal", at)
  if (refusal !== undefined) parts.push(textPart(refusal))
  reader.objects(message, "tool_calls", at).forEach((call, index) => {
    parts.push(decodeToolCall(call, reader, `${at}.tool_calls[${index}]`))
  })
  const legacy = reader.object(message, "function_call", at)
  if (legacy !== undefined)
    parts.push({
      type: "toolCall",
      id: undefined,
      name: stringAt(legacy, "name") ?? "",
      input: { text: stringAt(legacy, "arguments") ?? "" },
      custom: false,
      cache: false
    })
  return parts
}

const decodeMessage = (message: JsonObject, reader: RequestReader, at: string): Turn => {
  const role = message["role"]
  switch (role) {
    case "system":
    case "developer":
    case "user":
      return { role, content: decodeContent(message, reader, at), at }
    case "assistant":
      return { role, content: decodeAssistant(message, reader, at), at }
    case "tool":
    case "function": {
      if (role === "tool") reader.required(message, "tool_call_id", at)
      const result: Part = {
        type: "toolResult",
        callId: role === "tool" ? reader.string(message, "tool_call_id", at) : undefined,
        name: reader.string(message, "name", at),
        content: decodeContent(message, reader, at),
        isError: undefined,
        cache: false
      }
      return { role: "user", content: [result], at }
    }
    default:
      reader.required(message, "role", at)
      reader.refuse(`invalid field: ${at}.role: unknown role`, `${at}.role`)
      return { role: "user", content: "", at }
  }
}

const decodeTools = (body: JsonObject, reader: RequestReader): ReadonlyArray<Tool> => {
  const tools: Array<Tool> = []
  reader.objects(body, "tools").forEach((tool, index) => {
    if (tool["type"] !== "function") return
    const at = `tools[${index}]`
    reader.required(tool, "function", at)
    const definition = reader.object(tool, "function", at)
    if (definition === undefined) return
    reader.required(definition, "name", `${at}.function`)
    tools.push({
      name: reader.string(definition, "name", `${at}.function`) ?? "",
      description: reader.string(definition, "description", `${at}.function`),
      parameters: definition["parameters"] ?? undefined,
      strict: reader.boolean(definition, "strict", `${at}.function`),
      cache: false
    })
  })
  return tools
}

const decodeToolChoice = (body: JsonObject): ToolChoice | undefined => {
  const choice = body["tool_choice"]
  if (choice === "none" || choice === "required") return { type: choice }
  if (typeof choice === "string") return { type: "auto" }
  if (!isObject(choice)) return undefined
  const name = stringAt(objectAt(choice, "function") ?? {}, "name")
  if (name !== undefined) return { type: "tool", name }
  const allowed = objectAt(choice, "allowed_tools")
  if (allowed === undefined) return undefined
  const tools = Array.isArray(allowed["tools"]) ? allowed["tools"].filter(isObject) : []
  const names = tools.flatMap((tool) => stringAt(objectAt(tool, "function") ?? {}, "name") ?? [])
  return { type: "allowed", required: allowed["mode"] === "required", names }
}

const decodeFormat = (body: JsonObject, reader: RequestReader): OutputFormat | undefined => {
  const format = reader.object(body, "response_format")
  if (format === undefined || format["type"] === "text") return undefined
  if (format["type"] === "json_object") return { type: "object" }
  if (format["type"] === "json_schema") {
    const inner = reader.object(format, "json_schema", "response_format")
    reader.required(format, "json_schema", "response_format")
    return inner === undefined
      ? undefined
      : {
          type: "schema",
          name: stringAt(inner, "name"),
          description: stringAt(inner, "description"),
          schema: inner["schema"] ?? {},
          strict: reader.boolean(inner, "strict", "response_format.json_schema")
        }
  }
  reader.refuse("invalid field: response_format.type", "response_format.type")
  return undefined
}

export const decodeRequest = (body: JsonObject, reader: RequestReader): Conversation => {
  reader.required(body, "messages")
  return {
    model: reader.string(body, "model") ?? "",
    stream: reader.boolean(body, "stream"),
    instructions: undefined,
    turns: reader
      .objects(body, "messages")
      .map((message, index) => decodeMessage(message, reader, `messages[${index}]`)),
    tools: decodeTools(body, reader),
    toolChoice: decodeToolChoice(body),
    parallelToolCalls: reader.boolean(body, "parallel_tool_calls"),
    maxTokens: reader.number(body, "max_completion_tokens") ?? reader.number(body, "max_tokens"),
    temperature: reader.number(body, "temperature"),
    topP: reader.number(body, "top_p"),
    topK: reader.number(body, "top_k"),
    frequencyPenalty: reader.number(body, "frequency_penalty"),
    presencePenalty: reader.number(body, "presence_penalty"),
    seed: reader.number(body, "seed"),
    candidates: reader.number(body, "n"),
    stop: reader.strings(body, "stop"),
    reasoning: { switch: undefined, budget: undefined, effort: reader.string(body, "reasoning_effort") },
    format: decodeFormat(body, reader),
    user: reader.string(body, "user"),
    metadata: undefined,
    body
  }
}
