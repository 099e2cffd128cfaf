/** Parsed JSON as a gateway sees it: open objects whose unknown members must survive, looked into and copied by functions that are total. */

import type { JsonObject } from "../../../../spec/content.ts"

/** Never mutated once it has left the function that built it: copies share what did not change. */
export type { JsonObject }

/** An object that is no array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A member that is a string, else `undefined`. */
export const stringAt = (object: JsonObject, key: string): string | undefined => {
  const value = object[key]
  return typeof value === "string" ? value : undefined
}

/** A member that is a string, for a text about it; conversion of anything else could run into members named like methods. */
export const wordAt = (object: JsonObject, key: string): string => stringAt(object, key) ?? "of unknown kind"

/** A member that is a finite number, else `undefined`. */
export const numberAt = (object: JsonObject, key: string): number | undefined => {
  const value = object[key]
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

/** A member that is an object, else `undefined`. */
export const objectAt = (object: JsonObject, key: string): JsonObject | undefined => {
  const value = object[key]
  return isObject(value) ? value : undefined
}

const nothing: ReadonlyArray<never> = []

/** The elements of a member that is an array, else none. */
export const listAt = (object: JsonObject, key: string): ReadonlyArray<unknown> => {
  const value = object[key]
  return Array.isArray(value) ? value : nothing
}

/** The objects among the elements of a member that is an array, else none. */
export const objectsAt = (object: JsonObject, key: string): ReadonlyArray<JsonObject> => {
  const list = listAt(object, key)
  return list.every(isObject) ? list : list.filter(isObject)
}

/** The parsed value, or `undefined` (which no JSON text means) when the text is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** JSON text of a value, or `undefined` where there is none: for `undefined`, and for nesting deeper than the stack. */
export const jsonText = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** What is left of `T` when members that may be `undefined` become optional ones that may not. */
export type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** The object without its `undefined` members, so that a body can be written down as one literal. */
export const defined = <const T extends JsonObject>(object: T): Defined<T> => {
  const out: Record<string, unknown> = {}
  for (const key in object) if (object[key] !== undefined) out[key] = object[key]
  // The loop is what the type says.
  return out as Defined<T>
}

/** A member of `value` when that is an object, else `undefined`. Inherited names such as `constructor` are not members. */
export const member = (value: unknown, key: string): unknown =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** A member that is a string, else `undefined`. */
export const stringMember = (value: unknown, key: string): string | undefined => {
  const found = member(value, key)
  return typeof found === "string" ? found : undefined
}

/** The elements of `value` when that is an array, else none. */
export const elements = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** A copy of `object` with one member set; a computed key cannot reach the prototype, whatever its name. */
export const withMember = (object: JsonObject, key: string, value: unknown): JsonObject => ({ ...object, [key]: value })

/** A copy of `object` without the given members, or `object` itself when it has none of them. */
export const withoutMembers = (object: JsonObject, ...keys: ReadonlyArray<string>): JsonObject =>
  keys.some((key) => Object.hasOwn(object, key))
    ? Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
    : object

/** `Array.map` that returns the very same array when no element changed, so that callers can see by identity whether a body changed. */
export const mapSame = <A>(items: ReadonlyArray<A>, change: (item: A, index: number) => A): ReadonlyArray<A> => {
  let changed: Array<A> | undefined
  for (let i = 0; i < items.length; i++) {
    const before = items[i]!
    const after = change(before, i)
    if (changed !== undefined) changed.push(after)
    else if (after !== before) changed = [...items.slice(0, i), after]
  }
  return changed ?? items
}
