/** What differs between two values of JSON: one line for each leaf that was added, taken away or changed. */

export interface Change {
  readonly path: string
  /** `undefined` where there was nothing. */
  readonly before: unknown
  /** `undefined` where there is nothing any more. */
  readonly after: unknown
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Lists are compared whole: in a trace they are the values of one header, or a few names. */
export const changes = (before: unknown, after: unknown, path = ""): ReadonlyArray<Change> => {
  if (isObject(before) || isObject(after)) {
    const old = isObject(before) ? before : {}
    const now = isObject(after) ? after : {}
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((key) =>
      changes(old[key], now[key], path === "" ? key : `${path}.${key}`)
    )
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }]
}
