/** An OpenAI responses request, read. What lives on the provider's servers (earlier responses, references, hosted tools) is not there to read. */
import { isObject, type JsonObject, objectAt, objectsAt, stringAt, wordAt } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import {
  type Conversation,
  type OutputFormat,
  type Part,
  type Role,
  type Tool,
  type ToolCallPart,
  type ToolChoice,
  type Turn,
  textPart
} from "../conversation.ts"
import { sourceOfFileData, sourceOfUrl } from "../media-source.ts"

const decodePart = (part: JsonObject, reader: RequestReader, at: string): Part | undefined => {
  switch (part["type"]) {
    case "input_text":
    case "output_text":
      return textPart(reader.string(part, "text", at) ?? "")
    case "refusal":
      return textPart(reader.string(part, "refusal", at) ?? "")
    case "input_image": {
      const url = reader.string(part, "image_url", at)
      const source =
        url === undefined ? { kind: "file" as const, id: stringAt(part, "file_id") ?? "" } : sourceOfUrl(url)
      return { type: "image", source, cache: false }
    }
    case "input_file": {
      const [data, url] = [reader.string(part, "file_data", at), reader.string(part, "file_url", at)]
      const name = reader.string(part, "filename", at)
      if (data !== undefined) return { type: "file", name, source: sourceOfFileData(data) }
      if (url !== undefined) return { type: "file", name, source: sourceOfUrl(url) }
      return { type: "file", name, source: { kind: "file", id: stringAt(part, "file_id") ?? "" } }
    }
    default:
      reader.refuse(`unsupported content: ${wordAt(part, "type")}`, at)
      return undefined
  }
}

const decodeParts = (item: JsonObject, key: string, reader: RequestReader, at: string): string | Array<Part> => {
  const content = item[key]
  if (typeof content === "string") return content
  const parts: Array<Part> = []
  reader.objects(item, key, at).forEach((part, index) => {
    const read = decodePart(part, reader, `${at}.${key}[${index}]`)
    if (read !== undefined) parts.push(read)
  })
  return parts
}

/** The text of a tool's output: its text parts, one a line. */
const decodeOutput = (item: JsonObject): string => {
  const { output } = item
  if (typeof output === "string") return output
  return objectsAt(item, "output")
    .flatMap((part) => stringAt(part, "text") ?? [])
    .join("\n")
}

/**
 * A message. The short form (no type, or plain text) says `system` and `developer` for the same thing; the typed form means what it says.
 * What the model said is one text, whatever its parts.
 */
const decodeMessage = (item: JsonObject, reader: RequestReader, at: string): Turn | undefined => {
  const role = item["role"]
  const content = decodeParts(item, "content", reader, at)
  const typed = item["type"] === "message" && typeof content !== "string"
  switch (role) {
    case "user":
      return { role, content, at }
    case "assistant": {
      if (typeof content === "string") return { role, content: [textPart(content)], at }
      const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []))
      return { role, content: [textPart(texts.join("\n"))], at }
    }
    case "system":
    case "developer": {
      const kept: Role = typed ? role : "developer"
      return { role: kept, content, at }
    }
    default:
      reader.required(item, "role", at)
      reader.refuse(`invalid field: ${at}.role: unknown role`, `${at}.role`)
      return undefined
  }
}

const decodeCall = (item: JsonObject, reader: RequestReader, at: string): ToolCallPart => {
  const custom = item["type"] === "custom_tool_call"
  reader.required(item, "call_id", at)
  reader.required(item, "name", at)
  return {
    type: "toolCall",
    id: reader.string(item, "call_id", at) ?? "",
    name: reader.string(item, "name", at) ?? "",
    input: { text: reader.string(item, custom ? "input" : "arguments", at) ?? "" },
    custom,
    cache: false
  }
}

const decodeResult = (item: JsonObject, reader: RequestReader, at: string): Part => {
  reader.required(item, "call_id", at)
  return {
    type: "toolResult",
    callId: reader.string(item, "call_id", at) ?? "",
    name: undefined,
    content: decodeOutput(item),
    isError: undefined,
    cache: false
  }
}

const decodeInput = (body: JsonObject, reader: RequestReader): ReadonlyArray<Turn> => {
  reader.required(body, "input")
  if (typeof body["input"] === "string") return [{ role: "user", content: [textPart(body["input"])], at: "input" }]
  const turns: Array<Turn> = []
  /** The calls of the assistant message that is being collected. */
  let calls: Array<Part> | undefined
  reader.objects(body, "input").forEach((item, index) => {
    const at = `input[${index}]`
    switch (item["type"]) {
      case undefined:
      case "message": {
        const turn = decodeMessage(item, reader, at)
        if (turn !== undefined) turns.push(turn)
        break
      }
      case "function_call":
      case "custom_tool_call":
        if (calls === undefined) {
          calls = []
          turns.push({ role: "assistant", content: calls, at })
        }
        calls.push(decodeCall(item, reader, at))
        return
      case "function_call_output":
      case "custom_tool_call_output":
        turns.push({ role: "user", content: [decodeResult(item, reader, at)], at })
        break
      default:
        return
    }
    calls = undefined
  })
  return turns
}

const decodeTools = (body: JsonObject, reader: RequestReader): ReadonlyArray<Tool> => {
  const tools: Array<Tool> = []
  reader.objects(body, "tools").forEach((tool, index) => {
    if (tool["type"] !== "function") return
    const at = `tools[${index}]`
    reader.required(tool, "name", at)
    tools.push({
      name: reader.string(tool, "name", at) ?? "",
      description: reader.string(tool, "description", at),
      parameters: tool["parameters"] ?? undefined,
      strict: reader.boolean(tool, "strict", at),
      cache: false
    })
  })
  return tools
}

const decodeToolChoice = (choice: unknown): ToolChoice | undefined => {
  if (choice === "auto" || choice === "required" || choice === "none") return { type: choice }
  if (!isObject(choice) || choice["type"] !== "function") return undefined
  const name = stringAt(choice, "name")
  return name === undefined ? undefined : { type: "tool", name }
}

const decodeFormat = (body: JsonObject, reader: RequestReader): OutputFormat | undefined => {
  const text = reader.object(body, "text")
  const format = text && reader.object(text, "format", "text")
  if (format?.["type"] === "json_object") return { type: "object" }
  if (format?.["type"] !== "json_schema") return undefined
  return {
    type: "schema",
    name: stringAt(format, "name"),
    description: stringAt(format, "description"),
    schema: format["schema"] ?? {},
    strict: reader.boolean(format, "strict", "text.format")
  }
}

export const decodeRequest = (body: JsonObject, reader: RequestReader): Conversation => {
  const reasoning = reader.object(body, "reasoning")
  const extensions = objectAt(body, "vendor_extensions")
  return {
    model: reader.string(body, "model") ?? "",
    stream: reader.boolean(body, "stream"),
    instructions: reader.string(body, "instructions"),
    turns: decodeInput(body, reader),
    tools: decodeTools(body, reader),
    toolChoice: decodeToolChoice(body["tool_choice"]),
    parallelToolCalls: reader.boolean(body, "parallel_tool_calls"),
    maxTokens: reader.number(body, "max_output_tokens"),
    temperature: reader.number(body, "temperature"),
    topP: reader.number(body, "top_p"),
    topK: undefined,
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    seed: undefined,
    candidates: undefined,
    stop: [],
    reasoning: {
      switch: undefined,
      budget: extensions && reader.number(extensions, "thinking_budget_tokens", "vendor_extensions"),
      effort: reasoning && reader.string(reasoning, "effort", "reasoning")
    },
    format: decodeFormat(body, reader),
    user: undefined,
    metadata: undefined,
    body
  }
}
