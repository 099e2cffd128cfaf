/** What guards read of OpenAI chat completions. Definitions of tools and the shape of the answer are instructions, like the system prompt. */
import type { Assignments } from "../assignment.ts"
import { cached, errorRows, type Rows, schema, under, underEach } from "./shared.ts"

const part: Rows = {
  type: "choice",
  ...cached,
  image_url: "address",
  "image_url.url": "address",
  "image_url.detail": "choice",
  "video_url.url": "address",
  "audio_url.url": "address",
  document_url: "address",
  "input_audio.data": "data",
  "input_audio.format": "choice",
  "file.file_data": "data",
  "file.file_id": "id",
  "file.filename": "name"
}

const calls: Rows = {
  tool_calls: "toolInput",
  "tool_calls[].id": "id",
  "tool_calls[].type": "choice",
  "tool_calls[].function.name": "name",
  "tool_calls[].custom.name": "name",
  "tool_calls[].extra_content.google.thought_signature": "data",
  function_call: "toolInput",
  "function_call.name": "name"
}

const reasoning: Rows = {
  "reasoning_details[].type": "choice",
  "reasoning_details[].id": "id",
  "reasoning_details[].format": "choice",
  "reasoning_details[].data": "data",
  "reasoning_details[].signature": "data"
}

const said: Rows = {
  role: "choice",
  "audio.id": "id",
  "audio.data": "data",
  "annotations[].type": "choice",
  "annotations[].url_citation.url": "address",
  ...under("images[]", part),
  ...reasoning,
  ...calls
}

const request: Assignments = {
  rows: {
    model: "name",
    "messages[role=system|developer]": "systemPrompt",
    "messages[role=tool|function]": "toolOutput",
    ...under("messages[]", said),
    "messages.role": "choice",
    "messages[].name": "name",
    "messages[].tool_call_id": "id",
    ...cached,
    ...under("messages[].content[]", part),
    ...under("prediction.content[]", part),
    "prediction.type": "choice",
    tools: "systemPrompt",
    "tools[].type": "choice",
    "tools[].function.name": "name",
    "tools[].custom.name": "name",
    "tools[].custom.format.type": "choice",
    ...under("tools[]", cached),
    ...under("tools[].function.parameters", schema),
    functions: "systemPrompt",
    "functions[].name": "name",
    ...under("functions[].parameters", schema),
    tool_choice: "choice",
    "tool_choice.type": "choice",
    "tool_choice.function.name": "name",
    "tool_choice.custom.name": "name",
    function_call: "choice",
    "function_call.name": "name",
    response_format: "systemPrompt",
    "response_format.type": "choice",
    "response_format.json_schema.name": "name",
    ...under("response_format.json_schema.schema", schema),
    user: "id",
    safety_identifier: "id",
    prompt_cache_key: "id",
    prompt_cache_retention: "choice",
    service_tier: "choice",
    reasoning_effort: "choice",
    "reasoning.effort": "choice",
    verbosity: "choice",
    modalities: "choice",
    "audio.voice": "name",
    "audio.format": "choice",
    "web_search_options.search_context_size": "choice",
    "web_search_options.user_location.type": "choice"
  },
  parts: { "messages[].content": " ", "prediction.content": " " },
  values: ["messages[].tool_calls", "tools", "functions", "response_format"]
}

const envelope: Rows = {
  id: "id",
  object: "choice",
  model: "name",
  provider: "name",
  system_fingerprint: "id",
  service_tier: "choice",
  obfuscation: "id",
  "choices[].finish_reason": "choice",
  "choices[].native_finish_reason": "choice",
  ...underEach(["choices[].logprobs.content[]", "choices[].logprobs.refusal[]"], {
    token: "token",
    "top_logprobs[].token": "token"
  })
}

const answer = (message: "message" | "delta"): Assignments => ({
  rows: {
    ...envelope,
    ...under(`choices[].${message}`, said),
    ...under(`choices[].${message}.content[]`, part),
    ...(message === "delta" ? errorRows : {})
  },
  parts: { [`choices[].${message}.content`]: " " },
  values: [`choices[].${message}.tool_calls`],
  positions: { "choices[]": ["logprobs"] }
})

export const completions = {
  request,
  answer: answer("message"),
  event: answer("delta"),
  error: { rows: errorRows }
}
