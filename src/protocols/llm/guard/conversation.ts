/**
 * A request as a plain list of who said what: what webhooks and managed guards are shown, and what tokens are counted on. The list can be
 * put back: entry by entry where it has kept its shape, so that nothing else of the body is touched, or in place of the conversation.
 */
import { isObject, type JsonObject, mapSame, withMember, withoutMembers } from "../formats/json.ts"
import { type ContentScope, defaultScopes } from "./assignment.ts"
import { changeMember, type TextPart, textPart } from "./parts.ts"
import { type Rest, restOf, withRest } from "./rest.ts"
import { type GuardedFormat, TextUnreadable } from "./texts.ts"

/** Tool traffic with text in it has the role `tool`, whatever the format calls it. */
export interface ChatMessage {
  readonly role: string
  readonly content: string
}

/** Gives the text in place of an entry's; the very same string for no change, `undefined` to take it out and leave its parts. */
type Change = (role: string, content: string) => string | undefined
/** A format's way through its conversation. */
type MapConversation = (body: JsonObject, change: Change) => JsonObject
/** A format's conversation made of plain messages. */
type Rebuild = (body: JsonObject, messages: ReadonlyArray<ChatMessage>) => JsonObject

/** Content that is a string or a list of parts, seen as one text. A changed text goes into the last text part, the others are dropped. */
const mapContent = (
  content: unknown,
  kind: TextPart,
  separator: string,
  change: (text: string) => string | undefined
): unknown => {
  if (typeof content === "string") return content === "" ? content : (change(content) ?? "")
  if (!Array.isArray(content)) return content
  const parts: ReadonlyArray<unknown> = content
  const before = parts.flatMap((part) => kind.read(part) ?? []).join(separator)
  if (before === "") return content
  const after = change(before)
  if (after === before) return content
  if (after === undefined) return parts.map((part) => (kind.read(part) === undefined ? part : kind.write(part, "")))
  const last = parts.findLastIndex((part) => kind.read(part) !== undefined)
  return parts.flatMap((part, i) =>
    kind.read(part) === undefined ? [part] : i === last ? [kind.write(part, after)] : []
  )
}

const roleOf = (message: JsonObject): string => (typeof message["role"] === "string" ? message["role"] : "")

const mapMessages = (body: JsonObject, key: string, change: (message: JsonObject) => JsonObject): JsonObject =>
  changeMember(body, key, (list) =>
    Array.isArray(list) ? mapSame(list, (item: unknown) => (isObject(item) ? change(item) : item)) : list
  )

/** Text parts of Gemini but for thoughts, which nobody said. */
const visibleText: TextPart = {
  ...textPart,
  read: (part) => (isObject(part) && part["thought"] === true ? undefined : textPart.read(part))
}

const completions: MapConversation = (body, change) =>
  mapMessages(body, "messages", (message) => {
    const role = roleOf(message) === "function" ? "tool" : roleOf(message)
    return changeMember(message, "content", (content) =>
      mapContent(content, textPart, " ", (text) => change(role, text))
    )
  })

const messages: MapConversation = (body, change) => {
  const toolResult = (block: JsonObject): JsonObject =>
    changeMember(block, "content", (content) => mapContent(content, textPart, " ", (text) => change("tool", text)))
  const prompted = changeMember(body, "system", (system) =>
    mapContent(system, textPart, "\n", (text) => change("system", text))
  )
  return mapMessages(prompted, "messages", (message) =>
    changeMember(message, "content", (content) => {
      const answered = Array.isArray(content)
        ? mapSame(content, (block: unknown) =>
            isObject(block) && block["type"] === "tool_result" ? toolResult(block) : block
          )
        : content
      return mapContent(answered, textPart, " ", (text) => change(roleOf(message), text))
    })
  )
}

const responses: MapConversation = (body, change) => {
  const instructed = changeMember(body, "instructions", (text) =>
    typeof text === "string" && text !== "" ? (change("system", text) ?? "") : text
  )
  const content = (value: unknown, role: string): unknown =>
    mapContent(value, textPart, "\n", (text) => change(role, text))
  if (typeof instructed["input"] === "string") return changeMember(instructed, "input", (text) => content(text, "user"))
  return mapMessages(instructed, "input", (item) => {
    const type = item["type"]
    return typeof type === "string" && type.endsWith("_call_output")
      ? changeMember(item, "output", (output) => content(output, "tool"))
      : changeMember(item, "content", (value) => content(value, roleOf(item)))
  })
}

const generateContent: MapConversation = (body, change) => {
  const parts = (value: JsonObject, role: string): JsonObject =>
    changeMember(value, "parts", (list) => mapContent(list, visibleText, "\n", (text) => change(role, text)))
  let changed = body
  for (const name of ["systemInstruction", "system_instruction"])
    changed = changeMember(changed, name, (value) => (isObject(value) ? parts(value, "system") : value))
  return mapMessages(changed, "contents", (value) => parts(value, roleOf(value) === "model" ? "assistant" : "user"))
}

const isSystem = ({ role }: ChatMessage): boolean => role === "system" || role === "developer"
const notSystem = (message: ChatMessage): boolean => !isSystem(message)
/** Plain messages cannot answer a tool call: outside of its call, a tool's text is the user's. */
const speaker = (role: string): "assistant" | "user" =>
  role === "assistant" || role === "model" ? "assistant" : "user"

const rebuildCompletions: Rebuild = (body, messages) =>
  withMember(
    body,
    "messages",
    messages.map(({ role, content }) => ({ role: isSystem({ role, content }) ? role : speaker(role), content }))
  )

const rebuildMessages: Rebuild = (body, messages) => {
  const system = messages.filter(isSystem).map(({ content }) => ({ type: "text", text: content }))
  const rest = messages.filter(notSystem).map(({ role, content }) => ({ role: speaker(role), content }))
  const base = system.length > 0 ? withMember(body, "system", system) : withoutMembers(body, "system")
  return withMember(base, "messages", rest)
}

const rebuildResponses: Rebuild = (body, messages) => {
  const first = Object.hasOwn(body, "instructions") ? messages.findIndex(isSystem) : -1
  const base =
    first === -1 ? withoutMembers(body, "instructions") : withMember(body, "instructions", messages[first]!.content)
  const input = messages
    .filter((_, i) => i !== first)
    .map(({ role, content }) => ({
      type: "message",
      role: isSystem({ role, content }) ? role : speaker(role),
      content
    }))
  return withMember(base, "input", input)
}

const rebuildGenerateContent: Rebuild = (body, messages) => {
  const system = messages.filter(isSystem).map(({ content }) => ({ text: content }))
  const contents = messages.filter(notSystem).map(({ role, content }) => ({
    role: speaker(role) === "assistant" ? "model" : "user",
    parts: [{ text: content }]
  }))
  const base = withoutMembers(body, "systemInstruction", "system_instruction")
  return withMember(
    system.length > 0 ? withMember(base, "systemInstruction", { parts: system }) : base,
    "contents",
    contents
  )
}

const formats: Readonly<Record<GuardedFormat, { readonly map: MapConversation; readonly rebuild: Rebuild }>> = {
  completions: { map: completions, rebuild: rebuildCompletions },
  messages: { map: messages, rebuild: rebuildMessages },
  responses: { map: responses, rebuild: rebuildResponses },
  generateContent: { map: generateContent, rebuild: rebuildGenerateContent }
}

/** The conversation, system prompt first. Entries without text are not in it. */
export const conversationOf = (format: GuardedFormat, body: JsonObject): ReadonlyArray<ChatMessage> => {
  const messages: Array<ChatMessage> = []
  formats[format].map(body, (role, content) => {
    messages.push({ role, content })
    return content
  })
  return messages
}

/** The body without what `conversationOf` shows of it. */
const blanked = (format: GuardedFormat, body: JsonObject): JsonObject => formats[format].map(body, () => undefined)

const roleOfRest = ({ scope }: Rest): string => (scope === "systemPrompt" ? "system" : "user")

/**
 * All that a guard over lists of messages has to see: the conversation, and before it, so that the last message is the last one, whatever
 * else of the scopes is in the body.
 */
export const shownConversation = (
  format: GuardedFormat,
  body: JsonObject,
  scopes: ReadonlySet<ContentScope> = defaultScopes
): ReadonlyArray<ChatMessage> | TextUnreadable => {
  const rest = restOf(format, "request", blanked(format, body), scopes)
  if (rest instanceof TextUnreadable) return rest
  return [...rest.map((entry) => ({ role: roleOfRest(entry), content: entry.text })), ...conversationOf(format, body)]
}

/** The body with `messages` in place of what was shown; `undefined` where what is no conversation comes back in another form. */
export const withShown = (
  format: GuardedFormat,
  body: JsonObject,
  messages: ReadonlyArray<ChatMessage>,
  scopes: ReadonlySet<ContentScope> = defaultScopes
): JsonObject | undefined => {
  const blank = blanked(format, body)
  const rest = restOf(format, "request", blank, scopes)
  if (rest instanceof TextUnreadable) return undefined
  const shown = conversationOf(format, body).length + rest.length
  const aligned = shown === messages.length && rest.every((entry, i) => messages[i]!.role === roleOfRest(entry))
  if (!aligned) {
    // Another list replaces the conversation; the rest stays as it was judged, and where it was.
    const left = [...rest]
    const conversation = messages.filter(({ role, content }) => {
      const at = left.findIndex((entry) => entry.text === content && roleOfRest(entry) === role)
      if (at !== -1) left.splice(at, 1)
      return at === -1
    })
    return withConversation(format, body, conversation)
  }
  const after = rest.map(({ scope }, i) => ({ scope, text: messages[i]!.content }))
  const changed = withRest(format, "request", body, blank, scopes, after)
  return changed && withConversation(format, changed, messages.slice(rest.length))
}

/**
 * The body with `messages` as its conversation. As many entries with the same roles as `conversationOf` gave: only texts that differ are
 * written, tool calls, images and unknown members stay. Anything else replaces the whole conversation by plain messages.
 */
export const withConversation = (
  format: GuardedFormat,
  body: JsonObject,
  messages: ReadonlyArray<ChatMessage>
): JsonObject => {
  const { map, rebuild } = formats[format]
  const before = conversationOf(format, body)
  const aligned = before.length === messages.length && before.every(({ role }, i) => role === messages[i]!.role)
  if (!aligned) return rebuild(body, messages)
  let entry = 0
  return map(body, () => messages[entry++]!.content)
}
