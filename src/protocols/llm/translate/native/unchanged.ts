/** Changes to bodies that leave the very same object where there is nothing to change, so that its bytes can be forwarded as they came. */
import { isObject, type JsonObject } from "../../formats/json.ts"

/** Without the given members. */
export const without = (object: JsonObject, keys: ReadonlyArray<string>): JsonObject =>
  keys.some((key) => Object.hasOwn(object, key))
    ? Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
    : object

/** With one member changed by a function, where the object has that member. */
export const changed = (object: JsonObject, key: string, change: (value: unknown) => unknown): JsonObject => {
  if (!Object.hasOwn(object, key)) return object
  const before = object[key]
  const after = change(before)
  return after === before ? object : { ...object, [key]: after }
}

/** With every object of a list changed by a function; anything but a list stays. */
export const eachObject =
  (change: (object: JsonObject) => JsonObject) =>
  (value: unknown): unknown => {
    if (!Array.isArray(value)) return value
    const after = value.map((item: unknown) => (isObject(item) ? change(item) : item))
    return after.every((item, index) => item === value[index]) ? value : after
  }

/** With an object changed by a function; anything else stays. */
export const ifObject =
  (change: (object: JsonObject) => JsonObject) =>
  (value: unknown): unknown =>
    isObject(value) ? change(value) : value
