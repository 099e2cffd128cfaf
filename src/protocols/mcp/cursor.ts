/** Page cursors of merged lists: the cursor of every target that has more, as one opaque string. */
import { Buffer } from "node:buffer"

/** `undefined` when no target has more. */
export const encodeCursor = (cursors: ReadonlyMap<string, string>): string | undefined =>
  cursors.size === 0
    ? undefined
    : Buffer.from(JSON.stringify(Object.fromEntries(cursors)), "utf8").toString("base64url")

/** Cursor by target name; `undefined` for what `encodeCursor` never made. */
export const decodeCursor = (cursor: string): ReadonlyMap<string, string> | undefined => {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"))
  } catch {
    return undefined
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  const cursors = new Map<string, string>()
  for (const [target, own] of Object.entries(value)) {
    if (typeof own !== "string") return undefined
    cursors.set(target, own)
  }
  return cursors.size === 0 ? undefined : cursors
}
