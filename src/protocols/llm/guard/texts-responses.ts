/** The texts of OpenAI responses. */
import { type JsonObject, withMember } from "../formats/json.ts"
import { type ContentScope, changeItems, changeMember, type TextWalk, textPart } from "./text-walk.ts"

const parts = textPart({ input_text: "text", output_text: "text", text: "text", refusal: "refusal" })

type Member = readonly [name: string, scope: ContentScope]
const input = (name: string): Member => [name, "toolInput"]
const output = (name: string): Member => [name, "toolOutput"]

/** The members of tool items that hold text, however deep. Items that are not here (reasoning, images, references) are not looked at. */
const toolItems: Readonly<Record<string, ReadonlyArray<Member>>> = {
  function_call: [input("arguments")],
  custom_tool_call: [input("input")],
  mcp_call: [input("arguments"), output("output"), output("error")],
  mcp_list_tools: [output("tools"), output("error")],
  mcp_approval_request: [input("arguments")],
  mcp_approval_response: [input("reason")],
  program: [input("code")],
  program_result: [output("result")],
  file_search_call: [input("queries"), output("results")],
  code_interpreter_call: [input("code"), output("outputs")],
  shell_call: [input("action")],
  local_shell_call: [input("action")],
  computer_call: [input("action")],
  web_search_call: [input("action")],
  apply_patch_call: [input("operation")],
  tool_search_call: [input("arguments")],
  tool_search_output: [output("tools")]
}
/** Outputs that clients send back: `function_call_output` and its siblings. */
const callOutput: ReadonlyArray<Member> = [output("output")]

const membersOf = (type: unknown): ReadonlyArray<Member> | undefined => {
  if (typeof type !== "string") return undefined
  if (Object.hasOwn(toolItems, type)) return toolItems[type]
  return type.endsWith("_call_output") ? callOutput : undefined
}

const content = (walk: TextWalk, value: unknown, scope: ContentScope): unknown =>
  Array.isArray(value) ? walk.parts(value, scope, "\n", parts) : walk.text(value, scope)

const item = (walk: TextWalk, entry: JsonObject): JsonObject => {
  const members = membersOf(entry["type"])
  if (members !== undefined)
    return members.reduce(
      (changed, [name, scope]) => changeMember(changed, name, (value) => walk.strings(value, scope)),
      entry
    )
  const role = entry["role"]
  if (typeof role !== "string") return entry
  const scope = role === "system" || role === "developer" ? "systemPrompt" : role === "tool" ? "toolOutput" : "messages"
  return changeMember(entry, "content", (value) => content(walk, value, scope))
}

export const responsesRequest = (walk: TextWalk, body: JsonObject): JsonObject => {
  const instructed = changeMember(body, "instructions", (value) => walk.text(value, "systemPrompt"))
  return typeof instructed["input"] === "string"
    ? changeMember(instructed, "input", (value) => walk.text(value, "messages"))
    : changeItems(instructed, "input", (entry) => item(walk, entry))
}

/** Positions in a text are wrong once it is another text. */
const withoutPositions = (part: JsonObject): JsonObject => {
  const cleared = Object.hasOwn(part, "annotations") ? withMember(part, "annotations", []) : part
  return Object.hasOwn(cleared, "logprobs") ? withMember(cleared, "logprobs", []) : cleared
}

export const responsesResponse = (walk: TextWalk, body: JsonObject): JsonObject =>
  changeItems(body, "output", (entry) =>
    changeItems(entry, "content", (part) => {
      if (part["type"] !== "output_text") return part
      const changed = changeMember(part, "text", (value) => walk.text(value, "messages"))
      return changed === part ? part : withoutPositions(changed)
    })
  )
