/** A conversation as an Anthropic messages request. */
import { defined } from "../../formats/json.ts"
import type {
  MessagesRequest,
  MessagesRequestBlock,
  MessagesTextBlock,
  MessagesToolChoice
} from "../../formats/messages.ts"
import {
  type Conversation,
  isBlank,
  type Part,
  partsOf,
  type Tool,
  type ToolResultPart,
  type Turn,
  textsOf
} from "../conversation.ts"
import { thinkingBudget } from "../reasoning.ts"
import { valueFrom } from "../tool-input.ts"

/** The API demands a limit; this one stands where the client set none. */
const defaultMaxTokens = 4096
/** The API refuses a smaller thinking budget. */
const minBudget = 1024

const textBlocks = (content: string | ReadonlyArray<Part>): Array<MessagesTextBlock> =>
  textsOf(content).flatMap((text) => (isBlank(text) ? [] : [{ type: "text" as const, text }]))

const toolResult = (part: ToolResultPart): ReadonlyArray<MessagesRequestBlock> => {
  // The deprecated function message answers no call by id.
  if (part.callId === undefined) return textBlocks(part.content)
  const content = typeof part.content === "string" ? part.content : textBlocks(part.content)
  return [{ type: "tool_result", tool_use_id: part.callId, content }]
}

const blocks = (part: Part): ReadonlyArray<MessagesRequestBlock> => {
  switch (part.type) {
    case "text":
      return isBlank(part.text) ? [] : [{ type: "text", text: part.text }]
    case "image": {
      const { source } = part
      if (source.kind === "inline")
        return [{ type: "image", source: { type: "base64", media_type: source.mediaType ?? "", data: source.data } }]
      return source.kind === "url" ? [{ type: "image", source: { type: "url", url: source.url } }] : []
    }
    case "toolCall":
      return part.id === undefined
        ? []
        : [{ type: "tool_use", id: part.id, name: part.name, input: valueFrom(part.input) }]
    case "toolResult":
      return toolResult(part)
    default:
      return []
  }
}

const encodeTurns = (turns: ReadonlyArray<Turn>): MessagesRequest["messages"] => {
  const messages: Array<MessagesRequest["messages"][number]> = []
  for (const { role, content } of turns) {
    if (role !== "user" && role !== "assistant") continue
    const list = partsOf(content).flatMap(blocks)
    if (list.length > 0) messages.push({ role, content: list })
  }
  return messages
}

const encodeTool = (tool: Tool) =>
  defined({
    name: tool.name,
    description: tool.description,
    // A function without parameters takes none, and the API wants that said.
    input_schema: tool.parameters ?? { type: "object", properties: {} }
  })

const encodeToolChoice = ({ toolChoice, parallelToolCalls, tools }: Conversation): MessagesToolChoice | undefined => {
  const serial = parallelToolCalls === undefined ? undefined : !parallelToolCalls
  if (toolChoice === undefined || toolChoice.type === "allowed")
    return serial === undefined || tools.length === 0 ? undefined : { type: "auto", disable_parallel_tool_use: serial }
  switch (toolChoice.type) {
    case "none":
      return { type: "none" }
    case "tool":
      return defined({ type: "tool" as const, name: toolChoice.name, disable_parallel_tool_use: serial })
    default:
      return defined({
        type: toolChoice.type === "auto" ? ("auto" as const) : ("any" as const),
        disable_parallel_tool_use: serial
      })
  }
}

const encodeThinking = (effort: string | undefined, maxTokens: number): MessagesRequest["thinking"] => {
  const budget = thinkingBudget(effort)
  return budget === undefined || budget < minBudget || maxTokens <= minBudget
    ? undefined
    : { type: "enabled", budget_tokens: Math.min(budget, maxTokens - 1) }
}

const encodeOutput = (format: Conversation["format"]): MessagesRequest["output_config"] => {
  if (format === undefined) return undefined
  const schema = format.type === "object" ? { type: "object", additionalProperties: true } : format.schema
  return { format: { type: "json_schema", schema } }
}

export const encodeRequest = (conversation: Conversation): MessagesRequest => {
  const { turns, tools, stop, user } = conversation
  const maxTokens = conversation.maxTokens ?? defaultMaxTokens
  const system = turns
    .flatMap(({ role, content }) => (role === "system" || role === "developer" ? textsOf(content) : []))
    .filter((text) => !isBlank(text))
  return defined({
    model: conversation.model,
    max_tokens: maxTokens,
    system: system.length > 0 ? system.join("\n") : undefined,
    messages: encodeTurns(turns),
    tools: tools.length > 0 ? tools.map(encodeTool) : undefined,
    tool_choice: encodeToolChoice(conversation),
    metadata: user === undefined ? undefined : { user_id: user },
    thinking: encodeThinking(conversation.reasoning.effort, maxTokens),
    output_config: encodeOutput(conversation.format),
    stop_sequences: stop.length > 0 ? stop : undefined,
    temperature: conversation.temperature,
    top_p: conversation.topP,
    stream: conversation.stream
  })
}
