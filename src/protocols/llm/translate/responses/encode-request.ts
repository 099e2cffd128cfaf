/** A conversation as an OpenAI responses request. Made from messages alone, whose thinking, documents and citations it refuses rather than lose. */
import type { CacheBreakpoint } from "../../formats/completions.ts"
import { dataUrl } from "../../formats/data-url.ts"
import { defined, type JsonObject } from "../../formats/json.ts"
import type { RequestReader } from "../../formats/reader.ts"
import type {
  ResponsesInputItem,
  ResponsesInputPart,
  ResponsesInputText,
  ResponsesRequest
} from "../../formats/responses.ts"
import type { Call, Exchange } from "../codec.ts"
import {
  type Conversation,
  type ImagePart,
  type Part,
  partsOf,
  type TextPart,
  type ToolResultPart,
  type Turn
} from "../conversation.ts"
import { textFrom } from "../tool-input.ts"

const breakpoint: CacheBreakpoint = { mode: "explicit" }

const inputText = (text: string, marked: boolean): ResponsesInputText =>
  marked ? { type: "input_text", text, prompt_cache_breakpoint: breakpoint } : { type: "input_text", text }

const inputImage = ({ source }: ImagePart): ResponsesInputPart => {
  if (source.kind === "file") return { type: "input_image", file_id: source.id, detail: "auto" }
  const url = source.kind === "url" ? source.url : dataUrl({ mediaType: source.mediaType ?? "", data: source.data })
  return { type: "input_image", image_url: url, detail: "auto" }
}

class Input {
  readonly items: Array<ResponsesInputItem> = []
  private readonly reader: RequestReader
  private readonly call: Call

  constructor(reader: RequestReader, call: Call) {
    this.reader = reader
    this.call = call
  }

  private unsupported(part: Part, at: string): void {
    const kind = part.type === "other" ? part.kind : part.type === "reasoning" ? "thinking" : part.type
    this.reader.refuse(`unsupported content: ${kind}`, at)
  }

  private checked(part: TextPart, at: string): TextPart {
    if (part.cited) this.reader.refuse("unsupported content: citations", `${at}.citations`)
    return part
  }

  system(parts: ReadonlyArray<Part>): void {
    const content = parts.flatMap((part) => (part.type === "text" ? [inputText(part.text, part.cache)] : []))
    if (content.length > 0) this.items.push({ type: "message", role: "system", content })
  }

  private result(part: ToolResultPart, at: string): void {
    const parts = partsOf(part.content)
    const odd = parts.find((inner) => inner.type !== "text")
    if (odd !== undefined) {
      this.unsupported(odd, `${at}.content`)
      return
    }
    const texts = parts.flatMap((inner) => (inner.type === "text" ? [inner] : []))
    const marked = part.cache || texts.some((text) => text.cache)
    this.items.push({
      type: "function_call_output",
      call_id: part.callId ?? "",
      // The mark of the result as a whole stands on its last text.
      output: marked
        ? texts.map((text, index) => inputText(text.text, text.cache || (part.cache && index === texts.length - 1)))
        : texts.map((text) => text.text).join("\n"),
      status: part.isError === true ? "incomplete" : "completed"
    })
  }

  user(turn: Turn): void {
    let content: Array<ResponsesInputPart> = []
    const flush = () => {
      if (content.length > 0) this.items.push({ type: "message", role: "user", content })
      content = []
    }
    partsOf(turn.content).forEach((part, index) => {
      const at = `${turn.at}.content[${index}]`
      if (part.type === "text") content.push(inputText(this.checked(part, at).text, part.cache))
      else if (part.type === "image") content.push(inputImage(part))
      else if (part.type === "toolResult") {
        flush()
        this.result(part, at)
      } else this.unsupported(part, at)
    })
    flush()
  }

  assistant(turn: Turn): void {
    partsOf(turn.content).forEach((part, index) => {
      const at = `${turn.at}.content[${index}]`
      if (part.type === "text")
        this.items.push({
          type: "message",
          id: `msg_${this.call.randomHex(16)}`,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: this.checked(part, at).text, annotations: [] }]
        })
      else if (part.type === "toolCall")
        this.items.push({
          type: "function_call",
          id: `fc_${this.call.randomHex(16)}`,
          call_id: part.id ?? "",
          name: part.name,
          arguments: textFrom(part.input),
          status: "completed"
        })
      else this.unsupported(part, at)
    })
  }
}

/** System text without marks is instructions; with a mark it is an item, because instructions cannot bear one. */
const encodeInstructions = ({ instructions }: Conversation, input: Input): string | undefined => {
  if (instructions === undefined || typeof instructions === "string") return instructions
  if (instructions.some((part) => part.cache)) {
    input.system(instructions)
    return undefined
  }
  const text = instructions.map((part) => part.text).join("\n")
  return text === "" ? undefined : text
}

const encodeReasoning = ({ reasoning }: Conversation, reader: RequestReader): ResponsesRequest["reasoning"] => {
  if (reasoning.switch === "adaptive" || reasoning.switch === "enabled") return { effort: reasoning.effort ?? "high" }
  if (reasoning.effort !== undefined)
    reader.refuse("unsupported effort without thinking: output_config.effort", "output_config.effort")
  return undefined
}

const encodeFormat = ({ format }: Conversation): ResponsesRequest["text"] =>
  format?.type === "schema"
    ? { format: { type: "json_schema", name: format.name ?? "structured_output", schema: format.schema } }
    : undefined

const sorted = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))

const encodeToolChoice = ({ toolChoice }: Conversation): ResponsesRequest["tool_choice"] => {
  if (toolChoice === undefined || toolChoice.type === "allowed") return undefined
  return toolChoice.type === "tool" ? { type: "function", name: toolChoice.name } : toolChoice.type
}

export const encodeRequest = (
  conversation: Conversation,
  { call }: Exchange,
  reader: RequestReader
): ResponsesRequest => {
  const { tools, metadata } = conversation
  const input = new Input(reader, call)
  const instructions = encodeInstructions(conversation, input)
  for (const turn of conversation.turns) {
    if (turn.role === "user") input.user(turn)
    else if (turn.role === "assistant") input.assistant(turn)
    else input.system(partsOf(turn.content))
  }
  return defined({
    model: conversation.model,
    instructions,
    input: input.items,
    max_output_tokens: conversation.maxTokens,
    metadata: metadata && sorted(metadata),
    tools:
      tools.length > 0
        ? tools.map(({ name, description, parameters }) =>
            defined({ type: "function" as const, name, description, parameters: parameters ?? {} })
          )
        : undefined,
    tool_choice: encodeToolChoice(conversation),
    parallel_tool_calls: conversation.parallelToolCalls,
    reasoning: encodeReasoning(conversation, reader),
    text: encodeFormat(conversation),
    temperature: conversation.temperature,
    top_p: conversation.topP,
    stream: conversation.stream
  })
}
