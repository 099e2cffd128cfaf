/** What guards read of OpenAI responses. Definitions of tools and the shape of the answer are instructions, like the system prompt. */
import type { Assignments } from "../assignment.ts"
import { errorRows, type Rows, schema, under } from "./shared.ts"

const annotation: Rows = {
  type: "choice",
  url: "address",
  file_id: "id",
  container_id: "id",
  filename: "name"
}

const part: Rows = {
  type: "choice",
  image_url: "address",
  detail: "choice",
  file_id: "id",
  file_data: "data",
  file_url: "address",
  filename: "name",
  "input_audio.data": "data",
  "input_audio.format": "choice",
  ...under("annotations[]", annotation),
  ...under("logprobs[]", { token: "token", "top_logprobs[].token": "token" })
}

const toolCalls =
  "type=function_call|custom_tool_call|mcp_call|mcp_approval_request|mcp_approval_response|program|file_search_call|code_interpreter_call|image_generation_call|shell_call|local_shell_call|computer_call|web_search_call|apply_patch_call|tool_search_call"
const toolOutputs = "type=*_call_output|mcp_list_tools|program_result|tool_search_output"

/** What both lists of items have, and the events that carry one item. `of` writes the case of an item. */
const items = (path: string, all: string, of: (condition: string) => string): Rows => ({
  [`${path}${of("role=system|developer")}`]: "systemPrompt",
  [`${path}${of("role=tool")}`]: "toolOutput",
  [`${path}${of(toolCalls)}`]: "toolInput",
  [`${path}${of(toolOutputs)}`]: "toolOutput",
  [`${path}${of("type=mcp_call")}.output`]: "toolOutput",
  [`${path}${of("type=mcp_call")}.error`]: "toolOutput",
  [`${path}${of("type=file_search_call")}.results`]: "toolOutput",
  [`${path}${of("type=code_interpreter_call")}.outputs`]: "toolOutput",
  [`${path}${of("type=image_generation_call")}.result`]: "data",
  [`${path}${of("type=reasoning|compaction")}.encrypted_content`]: "data",
  ...under(`${path}${all}`, {
    id: "id",
    call_id: "id",
    approval_request_id: "id",
    container_id: "id",
    type: "choice",
    role: "choice",
    status: "choice",
    phase: "choice",
    execution: "choice",
    name: "name",
    namespace: "name",
    server_label: "name",
    "action.type": "choice",
    "operation.type": "choice",
    "caller.type": "choice",
    "summary[].type": "choice",
    ...under("content[]", part),
    ...under("output[]", part),
    ...under("output", { type: "choice", image_url: "address", file_id: "id" }),
    "results[].file_id": "id",
    "results[].filename": "name",
    "outputs[].type": "choice",
    "outputs[].url": "address",
    "tools[].name": "name",
    ...under("tools[].input_schema", schema)
  })
})

const inList = (path: string): Rows => items(path, "[]", (condition) => `[${condition}]`)

const ofItems = (path: string) => ({
  parts: { [`${path}[].content`]: "\n", [`${path}[${toolOutputs}].output`]: "\n" },
  values: [`${path}[${toolCalls}]`, `${path}[type=mcp_list_tools|tool_search_output].tools`],
  signed: [`${path}[type=reasoning]`]
})

const inInput = ofItems("input")
const inOutput = ofItems("output")

const request: Assignments = {
  rows: {
    model: "name",
    instructions: "systemPrompt",
    ...inList("instructions"),
    ...inList("input"),
    // A part may stand in the list of items by itself.
    ...under("input[]", part),
    tools: "systemPrompt",
    "tools[].type": "choice",
    "tools[].name": "name",
    "tools[].server_label": "name",
    "tools[].server_url": "address",
    "tools[].connector_id": "id",
    "tools[].authorization": "id",
    "tools[].headers.*": "id",
    "tools[].vector_store_ids": "id",
    "tools[].allowed_tools": "name",
    "tools[].require_approval": "choice",
    "tools[].search_context_size": "choice",
    "tools[].user_location.type": "choice",
    "tools[].container": "id",
    "tools[].container.type": "choice",
    "tools[].container.file_ids": "id",
    "tools[].format.type": "choice",
    ...under("tools[].parameters", schema),
    tool_choice: "choice",
    "tool_choice.type": "choice",
    "tool_choice.name": "name",
    "tool_choice.mode": "choice",
    "tool_choice.server_label": "name",
    "text.format": "systemPrompt",
    "text.format.type": "choice",
    "text.format.name": "name",
    ...under("text.format.schema", schema),
    "text.verbosity": "choice",
    "reasoning.effort": "choice",
    "reasoning.summary": "choice",
    "reasoning.generate_summary": "choice",
    truncation: "choice",
    include: "choice",
    previous_response_id: "id",
    conversation: "id",
    "conversation.id": "id",
    "prompt.id": "id",
    "prompt.version": "id",
    ...under("prompt.variables.*", { type: "choice", image_url: "address", file_id: "id", file_data: "data" }),
    user: "id",
    safety_identifier: "id",
    prompt_cache_key: "id",
    prompt_cache_retention: "choice",
    service_tier: "choice",
    "context_management[].type": "choice"
  },
  parts: { instructions: "\n", input: "\n", ...inInput.parts },
  values: ["tools", "text", ...inInput.values],
  signed: inInput.signed
}

const answer: Rows = {
  id: "id",
  object: "choice",
  status: "choice",
  model: "name",
  background: "choice",
  previous_response_id: "id",
  "conversation.id": "id",
  "incomplete_details.reason": "choice",
  "error.code": "choice",
  service_tier: "choice",
  truncation: "choice",
  user: "id",
  safety_identifier: "id",
  prompt_cache_key: "id",
  prompt_cache_retention: "choice",
  tool_choice: "choice",
  instructions: "echo",
  tools: "echo",
  metadata: "echo",
  prompt: "echo",
  text: "echo",
  reasoning: "echo",
  ...inList("output")
}

const event: Rows = {
  ...errorRows,
  item_id: "id",
  call_id: "id",
  response_id: "id",
  obfuscation: "id",
  "{type=response.audio.delta}.delta": "data",
  "{type=response.image_generation_call.partial_image}.partial_image_b64": "data",
  ...under("response", answer),
  ...items("item", "", (condition) => `{${condition}}`),
  ...under("part", part),
  ...under("annotation", annotation),
  ...under("logprobs[]", { token: "token", "top_logprobs[].token": "token" })
}

export const responses = {
  request,
  answer: {
    rows: answer,
    parts: { ...inOutput.parts, "output[].content": undefined },
    values: inOutput.values,
    signed: inOutput.signed,
    positions: { "output[].content[]": ["annotations", "logprobs"] }
  },
  event: { rows: event },
  error: { rows: errorRows }
} satisfies Readonly<Record<string, Assignments>>
