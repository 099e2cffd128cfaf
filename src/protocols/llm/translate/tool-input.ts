/** The input of a tool call between its two forms: JSON text (OpenAI) and a value (Anthropic, Bedrock, Gemini). */
import { isObject, jsonText, parseJson } from "../formats/json.ts"
import type { ToolInput } from "./conversation.ts"

/** JSON text as a value: nothing is `{}`, and what is no JSON stays the string that it is. */
export const inputValue = (text: string): unknown => {
  if (text === "") return {}
  const value = parseJson(text)
  return value === undefined ? text : value
}

/** The input as a value. */
export const valueFrom = (input: ToolInput): unknown => ("text" in input ? inputValue(input.text) : input.value)

/** The input as JSON text, as the client wrote it where it wrote text. */
export const textFrom = (input: ToolInput): string =>
  "text" in input ? (input.text === "" ? "{}" : input.text) : (jsonText(input.value) ?? "{}")

/** The input as an object, for providers that take no other; `undefined` = it is none. */
export const objectFrom = (input: ToolInput): unknown => {
  const value = valueFrom(input)
  return isObject(value) ? value : undefined
}
