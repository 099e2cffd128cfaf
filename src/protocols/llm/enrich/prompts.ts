/** Prompt enrichment: messages that configuration puts before and after what the client says, in the client's format. */
import { elements, isObject, type JsonObject, withMember } from "../formats/json.ts"

/** Roles are compared in lower case; cluster resources write them in capitals. */
export interface PromptMessage {
  readonly role: string
  readonly content: string
}

/** Messages before and after the client's own. */
export interface Prompts {
  readonly prepend: ReadonlyArray<PromptMessage>
  readonly append: ReadonlyArray<PromptMessage>
}

/** Adds the prompts to one request. The same body when there is nothing to add. */
export type AddPrompts = (body: JsonObject) => JsonObject

const isSystem = ({ role }: PromptMessage): boolean => role === "system"
const notSystem = (message: PromptMessage): boolean => !isSystem(message)

/** Prepared entries around the existing ones. */
const around = (before: ReadonlyArray<unknown>, existing: ReadonlyArray<unknown>, after: ReadonlyArray<unknown>) => [
  ...before,
  ...existing,
  ...after
]

const completions = ({ prepend, append }: Prompts): AddPrompts => {
  return (body) => withMember(body, "messages", around(prepend, elements(body["messages"]), append))
}

/** Existing system text as a list of blocks, whichever way the client wrote it. */
const systemBlocks = (system: unknown): ReadonlyArray<unknown> =>
  typeof system === "string" ? (system === "" ? [] : [{ type: "text", text: system }]) : elements(system)

const messages = ({ prepend, append }: Prompts): AddPrompts => {
  const blocks = (list: ReadonlyArray<PromptMessage>) =>
    list.filter(isSystem).map(({ content }) => ({ type: "text", text: content }))
  const [systemBefore, systemAfter] = [blocks(prepend), blocks(append)]
  const [before, after] = [prepend.filter(notSystem), append.filter(notSystem)]
  return (body) => {
    const prompted =
      systemBefore.length + systemAfter.length === 0
        ? body
        : withMember(body, "system", around(systemBefore, systemBlocks(body["system"]), systemAfter))
    return before.length + after.length === 0
      ? prompted
      : withMember(prompted, "messages", around(before, elements(prompted["messages"]), after))
  }
}

const responses = ({ prepend, append }: Prompts): AddPrompts => {
  const items = (list: ReadonlyArray<PromptMessage>) =>
    list.map(({ role, content }) => ({ type: "message", role, content }))
  const [before, after] = [items(prepend), items(append)]
  return (body) => {
    const input = body["input"]
    const existing = typeof input === "string" ? [{ type: "message", role: "user", content: input }] : elements(input)
    return withMember(body, "input", around(before, existing, after))
  }
}

const generateContent = ({ prepend, append }: Prompts): AddPrompts => {
  const parts = (list: ReadonlyArray<PromptMessage>) => list.filter(isSystem).map(({ content }) => ({ text: content }))
  const contents = (list: ReadonlyArray<PromptMessage>) =>
    list
      .filter(notSystem)
      .map(({ role, content }) => ({ role: role === "assistant" ? "model" : role, parts: [{ text: content }] }))
  const [systemBefore, systemAfter] = [parts(prepend), parts(append)]
  const [before, after] = [contents(prepend), contents(append)]
  return (body) => {
    let changed = body
    if (systemBefore.length + systemAfter.length > 0) {
      // The member that the client used keeps its name: protobuf's JSON refuses both spellings at once.
      const key = Object.hasOwn(body, "system_instruction") ? "system_instruction" : "systemInstruction"
      const system = body[key]
      const instruction: JsonObject = isObject(system) ? system : {}
      changed = withMember(
        changed,
        key,
        withMember(instruction, "parts", around(systemBefore, elements(instruction["parts"]), systemAfter))
      )
    }
    return before.length + after.length === 0
      ? changed
      : withMember(changed, "contents", around(before, elements(changed["contents"]), after))
  }
}

const formats = { completions, messages, responses, generateContent } as const

const unchanged: AddPrompts = (body) => body

/** Prepares the prompts for one client format. Formats without a conversation (embeddings, rerank, unread ones) are left alone. */
export const compilePrompts = ({ prepend, append }: Prompts, format: string): AddPrompts => {
  if (prepend.length + append.length === 0 || !Object.hasOwn(formats, format)) return unchanged
  const lower = (list: ReadonlyArray<PromptMessage>) =>
    list.map(({ role, content }) => ({ role: role.toLowerCase(), content }))
  return formats[format as keyof typeof formats]({ prepend: lower(prepend), append: lower(append) })
}
