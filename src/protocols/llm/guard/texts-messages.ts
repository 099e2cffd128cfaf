/** The texts of Anthropic messages. */
import { isObject, type JsonObject } from "../formats/json.ts"
import { type ContentScope, changeItems, changeMember, type TextWalk, textPart } from "./text-walk.ts"

const parts = textPart({ text: "text" })

/** Results of tools that Anthropic runs itself, besides the client's `tool_result`. Search results are the web's, not scanned. */
const toolResults = new Set([
  "tool_result",
  "mcp_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "web_fetch_tool_result",
  "advisor_tool_result"
])
const toolUses = new Set(["tool_use", "server_tool_use", "mcp_tool_use"])

const text = (walk: TextWalk, object: JsonObject, key: string, scope: ContentScope): JsonObject =>
  changeMember(object, key, (value) => walk.text(value, scope))

/** Content that is a string or a list of blocks; only their text, or all that is text in them. */
const plain = (walk: TextWalk, value: unknown, scope: ContentScope, separator: string): unknown =>
  Array.isArray(value) ? walk.parts(value, scope, separator, parts) : walk.text(value, scope)

const blocks = (walk: TextWalk, value: unknown, scope: ContentScope, separator: string): unknown =>
  Array.isArray(value)
    ? walk.parts(value, scope, separator, parts, (block) => (isObject(block) ? nonText(walk, block) : block))
    : walk.text(value, scope)

/** Blocks that are not plain text. Images, thinking and search results of the web are not looked at. */
const nonText = (walk: TextWalk, block: JsonObject): JsonObject => {
  const type = block["type"]
  if (typeof type !== "string") return block
  if (toolResults.has(type)) return changeMember(block, "content", (value) => walk.strings(value, "toolOutput"))
  if (toolUses.has(type)) return changeMember(block, "input", (value) => walk.strings(value, "toolInput"))
  switch (type) {
    case "document":
      return document(walk, block)
    case "search_result":
      return changeMember(text(walk, block, "title", "messages"), "content", (value) =>
        plain(walk, value, "messages", " ")
      )
    case "compaction":
      return text(walk, block, "content", "messages")
    case "mid_conv_system":
      return changeMember(text(walk, block, "text", "systemPrompt"), "content", (value) =>
        plain(walk, value, "systemPrompt", "\n")
      )
    default:
      return block
  }
}

/** A document is read when its source is text; base64 and URLs are not. */
const document = (walk: TextWalk, block: JsonObject): JsonObject => {
  const titled = text(walk, text(walk, block, "title", "messages"), "context", "messages")
  return changeMember(titled, "source", (source) => {
    if (!isObject(source)) return source
    if (source["type"] === "text") return text(walk, source, "data", "messages")
    return source["type"] === "content"
      ? changeMember(source, "content", (value) => plain(walk, value, "messages", " "))
      : source
  })
}

export const messagesRequest = (walk: TextWalk, body: JsonObject): JsonObject =>
  changeItems(
    changeMember(body, "system", (value) => blocks(walk, value, "systemPrompt", "\n")),
    "messages",
    (message) =>
      changeMember(message, "content", (value) =>
        message["role"] === "system" ? blocks(walk, value, "systemPrompt", "\n") : blocks(walk, value, "messages", " ")
      )
  )

export const messagesResponse = (walk: TextWalk, body: JsonObject): JsonObject =>
  changeItems(body, "content", (block) => (block["type"] === "text" ? text(walk, block, "text", "messages") : block))
