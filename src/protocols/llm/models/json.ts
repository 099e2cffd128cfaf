/** JSON as a relay sees it: open objects whose unknown members must survive, looked into without ever throwing. */

/** A JSON object of unknown shape. Never mutated: changes are made on copies that share what did not change. */
export interface JsonObject {
  readonly [key: string]: unknown
}

/** An object that is no array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The parsed value, or `undefined` (which no JSON text means) when the text is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
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
