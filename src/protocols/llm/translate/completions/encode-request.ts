/** A conversation as a chat completions request. */
import type {
  CompletionsMessage,
  CompletionsPart,
  CompletionsRequest,
  CompletionsResponseFormat,
  CompletionsTextPart,
  CompletionsToolCall,
  CompletionsToolChoice
} from "../../formats/completions.ts"
import { dataUrl } from "../../formats/data-url.ts"
import { defined } from "../../formats/json.ts"
import type { Exchange } from "../codec.ts"
import {
  type Conversation,
  type ImagePart,
  type Part,
  partsOf,
  type TextPart,
  type Tool,
  type ToolResultPart,
  type Turn
} from "../conversation.ts"
import type { PairRules } from "../rules.ts"
import { textFrom } from "../tool-input.ts"

/** Models from gpt-5.6 on take cache breakpoints; others refuse the member. */
const takesBreakpoints = (model: string): boolean => {
  const version = /^gpt-(\d+)\.(\d+)/.exec(model)
  if (version === null) return false
  const [major, minor] = [Number(version[1]), Number(version[2])]
  return major > 5 || (major === 5 && minor >= 6)
}

/**
 * Later GPT models refuse tools beside reasoning on this API, so reasoning is switched off for them. GPT-5 up to 5.2 takes both; GPT-4 and
 * before take no effort at all.
 */
const refusesToolsWithReasoning = (model: string): boolean =>
  model.startsWith("gpt-") && !/^gpt-(?:[34]|5$|5-|5\.[12])/.test(model)

class Messages {
  readonly list: Array<CompletionsMessage> = []
  private readonly rules: PairRules
  private readonly breakpoints: boolean

  constructor(rules: PairRules, breakpoints: boolean) {
    this.rules = rules
    this.breakpoints = breakpoints
  }

  private text(part: TextPart): CompletionsTextPart {
    return this.breakpoints && part.cache
      ? { type: "text", text: part.text, prompt_cache_breakpoint: { mode: "explicit" } }
      : { type: "text", text: part.text }
  }

  private texts(parts: ReadonlyArray<Part>): Array<CompletionsTextPart> {
    return parts.flatMap((part) => (part.type === "text" ? [this.text(part)] : []))
  }

  private image(part: ImagePart): CompletionsPart | undefined {
    if (this.rules.images === "drop" || part.source.kind === "file") return undefined
    const { source } = part
    const url = source.kind === "url" ? source.url : dataUrl({ mediaType: source.mediaType ?? "", data: source.data })
    return { type: "image_url", image_url: { url } }
  }

  system(role: "system" | "developer", content: string | ReadonlyArray<Part>): void {
    if (typeof content === "string") this.list.push({ role, content })
    else {
      const texts = this.texts(content)
      if (texts.length > 0) this.list.push({ role, content: texts })
    }
  }

  private toolResult(part: ToolResultPart): void {
    let content: string | Array<CompletionsTextPart> =
      typeof part.content === "string" ? part.content : this.texts(part.content)
    if (part.cache && this.breakpoints) {
      // The mark of the result as a whole goes to its last text.
      const texts: Array<CompletionsTextPart> =
        typeof content === "string" ? [{ type: "text", text: content }] : content
      const last = texts.pop()
      texts.push({ type: "text", text: last?.text ?? "", prompt_cache_breakpoint: { mode: "explicit" } })
      content = texts
    }
    this.list.push({ role: "tool", tool_call_id: part.callId ?? "", content })
  }

  user(content: string | ReadonlyArray<Part>): void {
    const parts: Array<CompletionsPart> = []
    for (const part of partsOf(content)) {
      if (part.type === "toolResult") this.toolResult(part)
      else if (part.type === "text") parts.push(this.text(part))
      else if (part.type === "image") {
        const image = this.image(part)
        if (image !== undefined) parts.push(image)
      }
    }
    // Tool messages must follow the calls that they answer, so what the user said beside them comes after.
    if (parts.length > 0) this.list.push({ role: "user", content: parts })
  }

  assistant(content: string | ReadonlyArray<Part>): void {
    const texts: Array<CompletionsTextPart> = []
    const calls: Array<CompletionsToolCall> = []
    for (const part of partsOf(content)) {
      if (part.type === "text") texts.push(this.text(part))
      else if (part.type === "toolCall")
        calls.push({
          id: part.id ?? "",
          type: "function",
          // The input of a custom tool is text: as the arguments of a function it is the JSON string of that text.
          function: {
            name: part.name,
            arguments: part.custom ? JSON.stringify(rawText(part.input)) : textFrom(part.input)
          }
        })
    }
    if (texts.length === 0 && calls.length === 0) return
    this.list.push({
      role: "assistant",
      ...(texts.length > 0 && {
        content: this.rules.assistantText === "parts" ? texts : texts.map((part) => part.text).join("\n")
      }),
      ...(calls.length > 0 && { tool_calls: calls })
    })
  }

  turn(turn: Turn): void {
    if (turn.role === "user") this.user(turn.content)
    else if (turn.role === "assistant") this.assistant(turn.content)
    else this.system(turn.role, turn.content)
  }
}

const rawText = (input: { readonly text: string } | { readonly value: unknown }): string =>
  "text" in input ? input.text : textFrom(input)

const encodeTool = (tool: Tool) => ({
  type: "function" as const,
  function: defined({
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters ?? undefined,
    strict: tool.strict
  })
})

const encodeToolChoice = (choice: Conversation["toolChoice"]): CompletionsToolChoice | undefined => {
  if (choice === undefined || choice.type === "allowed") return undefined
  return choice.type === "tool" ? { type: "function", function: { name: choice.name } } : choice.type
}

const encodeFormat = (format: Conversation["format"]): CompletionsResponseFormat | undefined => {
  if (format === undefined) return undefined
  if (format.type === "object") return { type: "json_object" }
  const { name = "structured_output", description, schema, strict } = format
  return { type: "json_schema", json_schema: defined({ name, description, schema, strict }) }
}

const encodeEffort = ({ reasoning, model, tools }: Conversation, rules: PairRules): string | undefined => {
  if (rules.thinkingSwitch) {
    if (tools.length > 0 && refusesToolsWithReasoning(model)) return "none"
    return reasoning.switch === "adaptive" ? (reasoning.effort ?? "high") : undefined
  }
  return reasoning.effort === "none" ? undefined : reasoning.effort
}

export const encodeRequest = (conversation: Conversation, { rules }: Exchange): CompletionsRequest => {
  const { instructions, model, stream, tools, stop } = conversation
  const messages = new Messages(rules, takesBreakpoints(model))
  if (instructions !== undefined) messages.system(rules.instructions, instructions)
  for (const turn of conversation.turns) messages.turn(turn)
  return defined({
    model,
    messages: messages.list,
    stream,
    stream_options: stream === true ? { include_usage: true } : undefined,
    max_completion_tokens: conversation.maxTokens,
    temperature: conversation.temperature,
    top_p: conversation.topP,
    stop: stop.length > 0 ? stop : undefined,
    tools: tools.length > 0 ? tools.map(encodeTool) : undefined,
    tool_choice: encodeToolChoice(conversation.toolChoice),
    parallel_tool_calls: conversation.parallelToolCalls,
    reasoning_effort: encodeEffort(conversation, rules),
    response_format: encodeFormat(conversation.format),
    user: conversation.user
  })
}
