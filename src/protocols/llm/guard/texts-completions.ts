/** The texts of OpenAI chat completions. */
import { isObject, type JsonObject } from "../formats/json.ts"
import { type ContentScope, changeItems, changeMember, type TextWalk, textPart } from "./text-walk.ts"

const parts = textPart({ text: "text" })

const scopes: Readonly<Record<string, ContentScope>> = {
  system: "systemPrompt",
  developer: "systemPrompt",
  tool: "toolOutput",
  function: "toolOutput"
}

const scopeOf = (role: unknown): ContentScope =>
  typeof role === "string" && Object.hasOwn(scopes, role) ? scopes[role]! : "messages"

const content = (walk: TextWalk, value: unknown, scope: ContentScope): unknown =>
  Array.isArray(value) ? walk.parts(value, scope, " ", parts) : walk.text(value, scope)

/** Arguments are one raw string: a mask inside may break their JSON, as it would anywhere. */
const inner = (walk: TextWalk, call: JsonObject, key: string, member: string): JsonObject =>
  changeMember(call, key, (value) =>
    isObject(value) ? changeMember(value, member, (text) => walk.text(text, "toolInput")) : value
  )

export const completionsRequest = (walk: TextWalk, body: JsonObject): JsonObject =>
  changeItems(body, "messages", (message) => {
    const said = changeMember(message, "content", (value) => content(walk, value, scopeOf(message["role"])))
    const called = changeItems(said, "tool_calls", (call) =>
      inner(walk, inner(walk, call, "function", "arguments"), "custom", "input")
    )
    return inner(walk, called, "function_call", "arguments")
  })

export const completionsResponse = (walk: TextWalk, body: JsonObject): JsonObject =>
  changeItems(body, "choices", (choice) =>
    changeMember(choice, "message", (message) =>
      isObject(message) ? changeMember(message, "content", (value) => content(walk, value, "messages")) : message
    )
  )
