/** What guards read of Anthropic messages. Definitions of tools are instructions, like the system prompt. */
import type { Assignments } from "../assignment.ts"
import { cached, errorRows, type Rows, schema, under, underEach } from "./shared.ts"

/** A source's text (`type: text`) has no row: it is read. */
const source: Rows = {
  type: "choice",
  media_type: "choice",
  url: "address",
  file_id: "id",
  "{type=base64}.data": "data",
  "content[].type": "choice",
  "content[type=image].source.data": "data",
  "content[type=image].source.media_type": "choice",
  "content[type=image].source.url": "address"
}

const citations: Rows = {
  type: "choice",
  url: "address",
  file_id: "id",
  encrypted_index: "data"
}

const media: Rows = {
  type: "choice",
  ...cached,
  ...under("source", source),
  // Only a search result names its source here, and not always by an address.
  source: "address",
  file_id: "id",
  ...under("citations[]", citations)
}

const toolResults =
  "[type=tool_result|mcp_tool_result|code_execution_tool_result|bash_code_execution_tool_result|text_editor_code_execution_tool_result|tool_search_tool_result|web_fetch_tool_result|web_search_tool_result|advisor_tool_result]"
const toolUses = "[type=tool_use|server_tool_use|mcp_tool_use]"

const blocks: Rows = {
  ...under("[]", media),
  "[type=image].source.data": "data",
  "[].id": "id",
  "[].tool_use_id": "id",
  "[type=thinking].signature": "data",
  "[type=redacted_thinking].data": "data",
  "[type=compaction].encrypted_content": "data",
  "[type=search_result].content[].type": "choice",
  "[type=mid_conv_system]": "systemPrompt",
  "[type=mid_conv_system].content[].type": "choice",
  [toolResults]: "toolOutput",
  ...under(`${toolResults}.content`, {
    type: "choice",
    url: "address",
    error_code: "choice",
    encrypted_stdout: "data",
    ...under("[]", media),
    "[type=image].source.data": "data",
    "[].url": "address",
    "[].encrypted_content": "data",
    "[].tool_name": "name",
    ...under("content.source", source),
    "content.type": "choice",
    "tool_references[].type": "choice",
    "tool_references[].tool_name": "name",
    "content[].type": "choice",
    "content[].file_id": "id"
  }),
  [toolUses]: "toolInput",
  [`${toolUses}.name`]: "name",
  [`${toolUses}.server_name`]: "name",
  [`${toolUses}.caller.type`]: "choice",
  [`${toolUses}.caller.tool_id`]: "id"
}

/** The lists of parts of blocks, and what holds for them, wherever blocks are. */
const ofBlocks = (path: string) => ({
  parts: {
    [`${path}[].source.content`]: " ",
    [`${path}[type=search_result].content`]: " ",
    [`${path}[type=mid_conv_system].content`]: "\n",
    [`${path}${toolResults}.content`]: " "
  },
  values: [`${path}${toolUses}`],
  signed: [`${path}[type=thinking]`]
})

const inMessages = ofBlocks("messages[].content")
const inAnswer = ofBlocks("content")

const request: Assignments = {
  rows: {
    model: "name",
    anthropic_version: "choice",
    anthropic_beta: "choice",
    system: "systemPrompt",
    ...under("system[]", media),
    "messages[].role": "choice",
    "messages.role": "choice",
    "messages[role=system]": "systemPrompt",
    ...under("messages[].content", blocks),
    ...cached,
    tools: "systemPrompt",
    "tools[].name": "name",
    "tools[].type": "choice",
    "tools[].mcp_server_name": "name",
    "tools[].allowed_callers": "choice",
    ...under("tools[]", cached),
    ...under("tools[].input_schema", schema),
    "tool_choice.type": "choice",
    "tool_choice.name": "name",
    "metadata.user_id": "id",
    "thinking.type": "choice",
    "thinking.display": "choice",
    "output_config.effort": "choice",
    ...underEach(["output_config.format", "output_format"], {
      "": "systemPrompt",
      type: "choice",
      ...under("schema", schema)
    }),
    service_tier: "choice",
    speed: "choice",
    inference_geo: "choice",
    container: "id",
    "container.id": "id",
    "container.skills[].skill_id": "id",
    "container.skills[].type": "choice",
    "container.skills[].version": "id",
    "mcp_servers[].name": "name",
    "mcp_servers[].type": "choice",
    "mcp_servers[].url": "address",
    "mcp_servers[].authorization_token": "id",
    "mcp_servers[].tool_configuration.allowed_tools": "name",
    "context_management.edits[].type": "choice",
    "context_management.edits[].trigger.type": "choice",
    "context_management.edits[].keep": "choice",
    "context_management.edits[].keep.type": "choice",
    "context_management.edits[].clear_at_least.type": "choice",
    "context_management.edits[].exclude_tools": "name"
  },
  parts: { system: "\n", "messages[].content": " ", "messages[role=system].content": "\n", ...inMessages.parts },
  values: ["tools", "output_config", "output_format", ...inMessages.values],
  signed: inMessages.signed
}

const message: Rows = {
  id: "id",
  type: "choice",
  role: "choice",
  model: "name",
  stop_reason: "choice",
  "container.id": "id",
  "usage.service_tier": "choice",
  "usage.inference_geo": "choice",
  "context_management.applied_edits[].type": "choice",
  ...under("content", blocks)
}

const event: Rows = {
  ...errorRows,
  ...under("message", message),
  // A block that begins stands alone; the rows of one in a list hold for it.
  ...Object.fromEntries(
    Object.entries(blocks).map(([path, assignment]) => {
      const alone = path.startsWith("[].") ? path.slice(2) : path.replace(/^\[([^\]]+)\]/, "{$1}")
      return [`content_block${alone === "[]" ? "" : alone}`, assignment]
    })
  ),
  "delta.type": "choice",
  "delta.signature": "data",
  "delta.stop_reason": "choice",
  "delta.container.id": "id",
  "delta.encrypted_content": "data",
  ...under("delta.citation", citations)
}

export const messages = {
  request,
  answer: {
    rows: message,
    parts: { content: undefined, ...inAnswer.parts },
    values: inAnswer.values,
    signed: inAnswer.signed
  },
  event: { rows: event },
  error: { rows: errorRows }
} satisfies Readonly<Record<string, Assignments>>
