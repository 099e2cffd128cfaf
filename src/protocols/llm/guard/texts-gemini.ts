/** The texts of Gemini's generateContent. Clients may spell members in snake case, as protobuf's JSON allows. */
import { isObject, type JsonObject, withMember } from "../formats/json.ts"
import { type ContentScope, changeItems, changeMember, type TextPart, type TextWalk } from "./text-walk.ts"

/** Text parts but for thoughts, which are the model's own and not looked at. */
export const visibleText: TextPart = {
  read: (part) =>
    isObject(part) && part["thought"] !== true && typeof part["text"] === "string" ? part["text"] : undefined,
  write: (part, text) => (isObject(part) ? withMember(part, "text", text) : part)
}

type Member = readonly [names: ReadonlyArray<string>, member: string, scope: ContentScope]
const toolParts: ReadonlyArray<Member> = [
  [["functionCall", "function_call"], "args", "toolInput"],
  [["executableCode", "executable_code"], "code", "toolInput"],
  [["functionResponse", "function_response"], "response", "toolOutput"],
  [["codeExecutionResult", "code_execution_result"], "output", "toolOutput"]
]

const toolPart = (walk: TextWalk, part: unknown): unknown => {
  if (!isObject(part)) return part
  let changed = part
  for (const [names, member, scope] of toolParts)
    for (const name of names)
      changed = changeMember(changed, name, (value) =>
        isObject(value) ? changeMember(value, member, (inner) => walk.strings(inner, scope)) : value
      )
  return changed
}

const content = (walk: TextWalk, value: JsonObject, scope: ContentScope): JsonObject =>
  changeMember(value, "parts", (list) => walk.parts(list, scope, "\n", visibleText, (part) => toolPart(walk, part)))

export const geminiRequest = (walk: TextWalk, body: JsonObject): JsonObject => {
  let changed = body
  for (const name of ["systemInstruction", "system_instruction"])
    changed = changeMember(changed, name, (value) =>
      isObject(value) ? content(walk, value, "systemPrompt") : walk.text(value, "systemPrompt")
    )
  return changeItems(changed, "contents", (value) => content(walk, value, "messages"))
}

export const geminiResponse = (walk: TextWalk, body: JsonObject): JsonObject =>
  changeItems(body, "candidates", (candidate) =>
    changeMember(candidate, "content", (value) =>
      isObject(value) ? changeMember(value, "parts", (list) => walk.parts(list, "messages", "\n", visibleText)) : value
    )
  )
