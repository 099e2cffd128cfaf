/** Gemini bodies in one spelling: the API takes its members in snake case, too, and everything that reads a body here knows the other alone. */
import type { JsonObject } from "../../formats/json.ts"
import { changed, eachObject, ifObject, without } from "./unchanged.ts"

type Names = ReadonlyMap<string, string>

const camel = (...names: ReadonlyArray<string>): Names =>
  new Map(names.map((name) => [name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), name]))

const bodyNames = camel("system_instruction", "generation_config", "safety_settings", "tool_config", "cached_content")
const partNames = camel(
  "inline_data",
  "file_data",
  "function_call",
  "function_response",
  "executable_code",
  "code_execution_result",
  "thought_signature",
  "video_metadata"
)
const mediaNames = camel("mime_type", "file_uri", "display_name")
const configNames = camel(
  "max_output_tokens",
  "top_p",
  "top_k",
  "stop_sequences",
  "candidate_count",
  "frequency_penalty",
  "presence_penalty",
  "response_mime_type",
  "response_schema",
  "response_json_schema",
  "response_modalities",
  "response_logprobs",
  "thinking_config",
  "speech_config",
  "image_config",
  "media_resolution"
)
const thinkingNames = camel("thinking_budget", "thinking_level", "include_thoughts")
const toolNames = camel(
  "function_declarations",
  "google_search",
  "google_search_retrieval",
  "code_execution",
  "url_context"
)
const toolConfigNames = camel("function_calling_config", "retrieval_config")
const callingNames = camel("allowed_function_names")

/** The camel-case name wins over its alias. */
const renamed = (object: JsonObject, names: Names): JsonObject => {
  let out = object
  for (const [name, alias] of names)
    if (Object.hasOwn(object, alias)) {
      const rest = without(out, [alias])
      out = Object.hasOwn(object, name) ? rest : { ...rest, [name]: object[alias] }
    }
  return out
}

const media = ifObject((object) => renamed(object, mediaNames))

const part = (object: JsonObject): JsonObject =>
  changed(changed(renamed(object, partNames), "inlineData", media), "fileData", media)

const content = (object: JsonObject): JsonObject => changed(object, "parts", eachObject(part))

const generationConfig = (object: JsonObject): JsonObject =>
  changed(
    renamed(object, configNames),
    "thinkingConfig",
    ifObject((thinking) => renamed(thinking, thinkingNames))
  )

const toolConfig = (object: JsonObject): JsonObject =>
  changed(
    renamed(object, toolConfigNames),
    "functionCallingConfig",
    ifObject((calling) => renamed(calling, callingNames))
  )

const changes: ReadonlyArray<readonly [member: string, change: (value: unknown) => unknown]> = [
  ["contents", eachObject(content)],
  ["systemInstruction", ifObject(content)],
  ["generationConfig", ifObject(generationConfig)],
  ["tools", eachObject((tool) => renamed(tool, toolNames))],
  ["toolConfig", ifObject(toolConfig)]
]

/** The same body in camel case. What is not the API's own (arguments, schemas, unknown members) keeps its spelling. */
export const withCamelNames = (body: JsonObject): JsonObject => {
  let out = renamed(body, bodyNames)
  for (const [member, change] of changes) out = changed(out, member, change)
  return out
}
