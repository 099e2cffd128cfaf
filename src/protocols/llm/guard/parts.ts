/** Content parts with text in them, and changes of members that keep what does not change. */
import { isObject, type JsonObject, mapSame, withMember } from "../formats/json.ts"

/** How the text of one kind of content part is read and written. */
export interface TextPart {
  readonly read: (part: unknown) => string | undefined
  readonly write: (part: unknown, text: string) => unknown
}

/** Whatever has a text, of any type or of none: a string is a part as well. */
export const textPart: TextPart = {
  read: (part) =>
    typeof part === "string" ? part : isObject(part) && typeof part["text"] === "string" ? part["text"] : undefined,
  write: (part, text) => (isObject(part) ? withMember(part, "text", text) : text)
}

/** `object` with `change` applied to one member, if it is there; the same object when nothing changes. */
export const changeMember = (object: JsonObject, key: string, change: (value: unknown) => unknown): JsonObject => {
  if (!Object.hasOwn(object, key)) return object
  const before = object[key]
  const after = change(before)
  return after === before ? object : withMember(object, key, after)
}

/** The same for each object of a list in a member. */
export const changeItems = (object: JsonObject, key: string, change: (item: JsonObject) => JsonObject): JsonObject =>
  changeMember(object, key, (value) =>
    Array.isArray(value) ? mapSame(value, (item: unknown) => (isObject(item) ? change(item) : item)) : value
  )
